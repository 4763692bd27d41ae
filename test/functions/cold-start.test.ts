/**
 * The sample app in a fresh process, as the worker loads it: how long until everything is registered, and which SDKs are loaded when.
 *
 * @module
 */
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ROOT, run, TSC } from '../../scripts/run.ts';
import { setUpAzure } from '../../scripts/support/sample-storage.ts';
import { type Azurite, startAzurite } from '../support/azurite.ts';

interface Started {
  readonly functions: readonly string[];
  /** From the first file of the app to the last function registered, the library of the platform included. */
  readonly registeredMs: number;
  readonly modules: number;
  /** SDKs loaded so far, after each step. */
  readonly sdks: Readonly<Record<'registered' | 'refused' | 'replied' | 'took lease', readonly string[]>>;
  /** Files of the package that were loaded as ES modules and as CommonJS. */
  readonly copies: { readonly esm: number; readonly cjs: number };
  readonly statuses: readonly number[];
}

/** A request without a key needs no store; a payment needs records; the timer needs a lease. */
const START = `
  import { createRequire, registerHooks } from 'node:module';
  import { readdirSync } from 'node:fs';
  import { join } from 'node:path';
  import { pathToFileURL } from 'node:url';
  import { installFunctionsCore } from '${join(ROOT, 'scripts/support/functions-host.ts')}';
  const [folder, system, steps] = process.argv.slice(1);
  const host = installFunctionsCore();
  const loaded = new Set();
  registerHooks({ load(url, context, next) { loaded.add(url); return next(url, context); } });
  const sdks = () => [...new Set([...loaded].map((url) => /node_modules.((?:@azure|@aws-sdk|@smithy|@azure-rest).[a-z-]+)/.exec(url)?.[1]))]
    .filter((name) => name !== undefined && !name.startsWith('@azure/functions')).sort();
  const require = createRequire(join(folder, 'x.js'));
  const files = readdirSync(folder).filter((file) => file.endsWith('.js')).sort();
  const began = performance.now();
  for (const file of files) {
    if (system === 'cjs') require(join(folder, file));
    else await import(pathToFileURL(join(folder, file)).href);
  }
  const registeredMs = performance.now() - began;
  const modules = loaded.size;
  const of = (part) => [...loaded].filter((url) => url.includes('/dist/' + part + '/')).length;
  const said = { functions: [...host.functions.keys()].sort(), registeredMs, modules, copies: { esm: of('esm'), cjs: of('cjs') }, sdks: { registered: sdks() }, statuses: [] };
  if (steps === 'all') {
    const pay = async (headers, body) => {
      const { status } = await host.http('payments', { headers: { 'x-ms-client-principal-id': 'someone', ...headers }, body });
      said.statuses.push(status);
    };
    await pay({}, '{}');
    said.sdks.refused = sdks();
    await pay({ 'idempotency-key': '"k"' }, '{}');
    said.sdks.replied = sdks();
    const next = new Date().toISOString();
    await host.invoke('nightly', { json: JSON.stringify({ ScheduleStatus: { Last: next, Next: next, LastUpdated: next }, IsPastDue: false }) }).catch(() => {});
    said.sdks['took lease'] = sdks();
  }
  process.stdout.write(JSON.stringify(said), () => process.exit());
`;

type System = 'esm' | 'cjs';
const ROUNDS = 5;
/** Many times what it takes alone: the machine may be busy. That no SDK is loaded is what keeps it short, and is checked for itself. */
const LIMIT_MS = 3_000;

let azurite: Azurite;
let temporary: string;
const folders: Record<System, string> = { esm: join(ROOT, 'functions/dist/azure'), cjs: '' };

beforeAll(async () => {
  azurite = await startAzurite();
  await setUpAzure(azurite.connectionString);
  temporary = await mkdtemp(join(tmpdir(), 'rerunsafe-cjs-app-'));
  folders.cjs = await commonJsApp(temporary);
}, 120_000);
afterAll(async () => {
  await azurite?.stop();
  if (temporary !== undefined) await rm(temporary, { recursive: true, force: true });
});

/** The same functions in a project that is CommonJS, with the package and the SDKs installed. */
async function commonJsApp(at: string): Promise<string> {
  await cp(join(ROOT, 'functions/azure'), join(at, 'azure'), { recursive: true });
  await cp(join(ROOT, 'functions/provider.ts'), join(at, 'provider.ts'));
  await mkdir(join(at, 'node_modules'));
  await symlink(ROOT, join(at, 'node_modules/rerunsafe'));
  for (const scope of ['@azure', '@types']) await symlink(join(ROOT, 'node_modules', scope), join(at, 'node_modules', scope));
  await writeFile(join(at, 'package.json'), '{ "type": "commonjs" }');
  const compilerOptions = {
    target: 'es2023',
    module: 'commonjs',
    moduleResolution: 'bundler',
    types: ['node'],
    strict: true,
    skipLibCheck: true,
    rewriteRelativeImportExtensions: true,
  };
  await writeFile(
    join(at, 'tsconfig.json'),
    JSON.stringify({ compilerOptions: { ...compilerOptions, rootDir: '.', outDir: 'out' }, include: ['azure'] }),
  );
  const { ok, output } = await run(TSC, ['-p', at]);
  if (!ok) throw new Error(`The CommonJS app does not compile.\n${output}`);
  return join(at, 'out/azure');
}

async function start(system: System, steps: 'register' | 'all'): Promise<Started> {
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', START, folders[system], system, steps], {
    cwd: ROOT,
    // Without settings there is nothing that registration could reach.
    env: { PATH: process.env.PATH, ...(steps === 'all' && { AzureWebJobsStorage: azurite.connectionString, PAYMENTS_URL: 'http://127.0.0.1:9' }) },
  });
  return JSON.parse(stdout) as Started;
}

const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

describe.each<System>(['esm', 'cjs'])('a cold start of the sample app (%s)', (system) => {
  it('I12 registers all functions with no SDK loaded, quickly', async () => {
    const starts: Started[] = [];
    for (let round = 0; round < ROUNDS; round++) starts.push(await start(system, 'register'));
    for (const { functions, sdks } of starts) {
      expect(functions).toEqual(['nightly', 'orders', 'payments', 'purge']);
      expect(sdks.registered).toEqual([]);
    }
    const registeredMs = median(starts.map((one) => one.registeredMs));
    console.log(`${system}: 4 functions registered in ${registeredMs.toFixed(0)} ms (median of ${ROUNDS}), ${starts[0]?.modules} modules`);
    expect(registeredMs).toBeLessThan(LIMIT_MS);
  });

  it('I12 loads the package in one module system only: the one of the app', async () => {
    const { copies } = await start(system, 'register');
    expect(copies[system]).toBeGreaterThan(0);
    expect(copies[system === 'esm' ? 'cjs' : 'esm']).toBe(0);
  });

  it('I12 loads an SDK at the first call that needs it, and no other', async () => {
    const { sdks, statuses } = await start(system, 'all');
    // No key, so no store: 400. With a key the record is claimed; the payment itself is not one: 400 by the handler.
    expect(statuses).toEqual([400, 400]);
    expect(sdks.refused).toEqual([]);
    expect(sdks.replied).toContain('@azure/data-tables');
    expect(sdks.replied).not.toContain('@azure/storage-blob');
    expect(sdks['took lease']).toContain('@azure/storage-blob');
    for (const never of ['@azure/identity', '@azure/storage-queue']) expect(sdks['took lease']).not.toContain(never);
  });
});
