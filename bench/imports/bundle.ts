/**
 * Bundles, as functions are deployed: by esbuild, minified, SDKs left outside.
 *
 * @module
 */
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip as gzipped } from 'node:zlib';
import { build, type Plugin } from 'esbuild';
import { PEERS, ROOT } from './entries.ts';

const brotli = promisify(brotliCompress);
const gzip = promisify(gzipped);

export interface Bundle {
  readonly code: Uint8Array;
  readonly minified: number;
  /** Quality 11. */
  readonly brotli: number;
  /** Level 9. */
  readonly gzip: number;
  /** Bytes of each file in the output, by its path from the root of the project. */
  readonly files: Readonly<Record<string, number>>;
}

const leftOut = (filter: RegExp): Plugin => ({
  name: 'left-out',
  setup: ({ onResolve }) =>
    onResolve({ filter }, ({ path, kind }) => (kind === 'entry-point' ? undefined : { path, external: true, sideEffects: false })),
});

/** `late`: files, by how they are imported, that are left out, as if they were loaded when they are first needed. */
export function bundle(contents: string, late?: RegExp): Promise<Bundle> {
  const name = `${contents}\n${late?.source}`;
  const made = bundles.get(name) ?? make(contents, late);
  bundles.set(name, made);
  return made;
}

/** Compressed as well as that takes half a second. */
const bundles = new Map<string, Promise<Bundle>>();

async function make(contents: string, late: RegExp | undefined): Promise<Bundle> {
  const outside: Plugin[] = late === undefined ? [] : [leftOut(late)];
  const { outputFiles, metafile } = await build({
    stdin: { contents, resolveDir: ROOT, loader: 'js' },
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'node',
    target: 'node22',
    legalComments: 'none',
    external: [...PEERS, '@aws-sdk/*'],
    plugins: outside,
    // The paths of the project's own settings lead to the source; users get what is built.
    tsconfigRaw: '{}',
    absWorkingDir: ROOT,
    write: false,
    metafile: true,
  });
  const code = outputFiles[0]?.contents ?? new Uint8Array();
  const [output] = Object.values(metafile.outputs);
  return {
    code,
    minified: code.byteLength,
    brotli: (await brotli(code, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } })).length,
    gzip: (await gzip(code, { level: 9 })).length,
    files: Object.fromEntries(Object.entries(output?.inputs ?? {}).map(([path, { bytesInOutput }]) => [path, bytesInOutput])),
  };
}

const all = (...paths: readonly string[]): string => paths.map((path) => `export * from '${path}';`).join('\n');
const some = (given: Readonly<Record<string, string>>): string =>
  Object.entries(given)
    .map(([path, names]) => `export { ${names} } from '${path}';`)
    .join('\n');

const CORE = 'core alone';
export const LAMBDA = 'Lambda + DynamoDB: idempotent, dynamodbStore';
export const AZURE = 'Azure Functions + Table Storage: idempotent, tableStore';

/** As they are used: what of the entry points a function takes is what is in its bundle. */
export const USES: Readonly<Record<string, string>> = {
  [CORE]: some({ rerunsafe: 'runOnce' }),
  [LAMBDA]: some({ 'rerunsafe/aws-lambda': 'idempotent', 'rerunsafe/dynamodb': 'dynamodbStore' }),
  'Lambda + DynamoDB, HTTP: idempotentHttp, dynamodbStore': some({ 'rerunsafe/aws-lambda': 'idempotentHttp', 'rerunsafe/dynamodb': 'dynamodbStore' }),
  'Lambda + PostgreSQL: idempotent, postgresStore': some({ 'rerunsafe/aws-lambda': 'idempotent', 'rerunsafe/postgres': 'postgresStore' }),
  'Lambda + Redis: idempotent, redisStore': some({ 'rerunsafe/aws-lambda': 'idempotent', 'rerunsafe/redis': 'redisStore' }),
  [AZURE]: some({ 'rerunsafe/azure-functions': 'idempotent', 'rerunsafe/azure-tables': 'tableStore' }),
  'Azure Functions + Table Storage, HTTP: idempotentHttp, tableStore': some({
    'rerunsafe/azure-functions': 'idempotentHttp',
    'rerunsafe/azure-tables': 'tableStore',
  }),
  'Azure Functions + PostgreSQL: idempotent, postgresStore': some({
    'rerunsafe/azure-functions': 'idempotent',
    'rerunsafe/postgres': 'postgresStore',
  }),
  'script + SQLite: runOnce, sqliteStore': some({ rerunsafe: 'runOnce', 'rerunsafe/sqlite': 'sqliteStore' }),
  'everything of core': all('rerunsafe'),
  'everything of core, Lambda and DynamoDB': all('rerunsafe', 'rerunsafe/aws-lambda', 'rerunsafe/dynamodb'),
  'everything of core, Azure Functions and Table Storage': all('rerunsafe', 'rerunsafe/azure-functions', 'rerunsafe/azure-tables'),
};

/** The strongest peer, in the same way. */
export const POWERTOOLS_USE = some({
  '@aws-lambda-powertools/idempotency': 'makeIdempotent, IdempotencyConfig',
  '@aws-lambda-powertools/idempotency/dynamodb': 'DynamoDBPersistenceLayer',
});
