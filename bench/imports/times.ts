/**
 * How long an import takes, in fresh processes in turns.
 *
 * @module
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { inRounds, type Told } from '../measure/rounds.ts';
import { told } from '../measure/spread.ts';
import type { Figure, Table } from '../section.ts';
import { bundle } from './bundle.ts';
import { ENTRIES, PEERS, ROOT } from './entries.ts';
import { importFresh, loadedBy } from './fresh.ts';

const POWERTOOLS = '@aws-lambda-powertools/idempotency';
const OTHERS = [POWERTOOLS, `${POWERTOOLS}/dynamodb`, '@node-idempotency/core', 'redlock', 'redis-semaphore'];
const TOGETHER = 'rerunsafe + rerunsafe/aws-lambda';
const WITH_SDK = 'rerunsafe/aws-lambda + rerunsafe/dynamodb + @aws-sdk/client-dynamodb';
const POWERTOOLS_WITH_SDK = `${POWERTOOLS} + ${POWERTOOLS}/dynamodb`;
const EMPTY = 'an empty module';
const NODES = "Node's own modules that rerunsafe loads, alone";
const NODES_LAMBDA = "Node's own modules that rerunsafe/aws-lambda loads, alone";
const BUNDLED = `${TOGETHER}, in one file`;
const BUNDLED_POWERTOOLS = `${POWERTOOLS}, in one file`;

/** For `rerunsafe` and an adapter, and the others; and what both would be in one file, as bundlers make it. */
export async function times(share: number): Promise<{ tables: readonly Table[]; figures: readonly Figure[] }> {
  // Under the root, so that what stays outside a bundle is found from there.
  const cache = join(ROOT, '.cache');
  await mkdir(cache, { recursive: true });
  const folder = await mkdtemp(join(cache, 'bench-imports-'));
  try {
    const write = async (name: string, code: string | Uint8Array): Promise<string> => {
      const path = join(folder, name);
      await writeFile(path, code);
      return path;
    };
    const everything = (...paths: string[]): string => paths.map((path, n) => `export * as all${n} from '${path}';`).join('\n');
    const [core, lambda] = await Promise.all([loadedBy('rerunsafe'), loadedBy('rerunsafe/aws-lambda')]);
    const paths: Readonly<Record<string, readonly string[]>> = {
      ...Object.fromEntries([...ENTRIES, ...OTHERS].map((path) => [path, [path]])),
      [TOGETHER]: ['rerunsafe', 'rerunsafe/aws-lambda'],
      [WITH_SDK]: ['rerunsafe/aws-lambda', 'rerunsafe/dynamodb', '@aws-sdk/client-dynamodb'],
      [POWERTOOLS_WITH_SDK]: [POWERTOOLS, `${POWERTOOLS}/dynamodb`],
      [EMPTY]: [await write('empty.mjs', 'export {};\n')],
      [NODES]: [await write('nodes.mjs', core.builtin.map((path) => `import '${path}';\n`).join(''))],
      [NODES_LAMBDA]: [await write('nodes-lambda.mjs', lambda.builtin.map((path) => `import '${path}';\n`).join(''))],
      [BUNDLED]: [await write('rerunsafe.mjs', (await bundle(everything('rerunsafe', 'rerunsafe/aws-lambda'))).code)],
      [BUNDLED_POWERTOOLS]: [await write('powertools.mjs', (await bundle(everything(POWERTOOLS))).code)],
    };
    const whole = new Map<string, number[]>();
    const measured = async (name: string): Promise<number> => {
      const { importMs, processMs } = await importFresh(paths[name] ?? []);
      whole.set(name, [...(whole.get(name) ?? []), processMs]);
      return importMs;
    };
    const names = [...Object.keys(paths), 'nothing'];
    const rounds = Math.max(1, Math.round(41 * share));
    const measuredAll = await inRounds(Object.fromEntries(names.map((name) => [name, () => measured(name)])), { rounds, warmUp: rounds > 1 ? 1 : 0 });
    return { tables: [table(names, measuredAll, whole, rounds)], figures: figures(measuredAll) };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function table(names: readonly string[], measured: Told, whole: ReadonlyMap<string, readonly number[]>, rounds: number): Table {
  const middle = (name: string): number =>
    (whole.get(name) ?? []).toSorted((a, b) => a - b)[Math.floor((whole.get(name)?.length ?? 0) / 2)] ?? Number.NaN;
  return {
    title: `Import, each in a fresh process (${rounds} in turns, dist/esm as installed)`,
    columns: ['import of', 'ms, inside the process', "÷ Powertools' core", 'whole process, ms'],
    rows: names.map((name) =>
      name === 'nothing'
        ? [name, '', '', middle(name).toFixed(0)]
        : [name, told(measured.of(name), 1), told(measured.ratio(name, POWERTOOLS)), middle(name).toFixed(0)],
    ),
    note: `SDKs (${PEERS.length} optional peers) are loaded by none of ours, and by …/idempotency/dynamodb. In one file: esbuild, minified, SDKs outside. On Lambda the runtime has loaded most of Node's own modules before.`,
  };
}

function figures(measured: Told): Figure[] {
  const ratio = (name: string, subject: string, base: string, goal?: number): Figure => {
    const { median: value, low, high } = measured.ratio(subject, base);
    return { name, value, low, high, unit: '×', ...(goal === undefined ? {} : { goal }) };
  };
  return [
    ratio("import of rerunsafe + an adapter ÷ Powertools' core import", TOGETHER, POWERTOOLS, 0.15),
    ratio("import of rerunsafe ÷ Powertools' core import", 'rerunsafe', POWERTOOLS),
    ratio("import of rerunsafe + an adapter ÷ Powertools' core import, each in one file", BUNDLED, BUNDLED_POWERTOOLS),
    ratio("import of rerunsafe/dynamodb ÷ Powertools' store for DynamoDB (with its SDK)", 'rerunsafe/dynamodb', `${POWERTOOLS}/dynamodb`),
    ratio("import of an adapter, the store for DynamoDB and its SDK ÷ Powertools' core, store and SDK", WITH_SDK, POWERTOOLS_WITH_SDK),
    ratio("Node's own modules that rerunsafe loads, alone ÷ Powertools' core import", NODES, POWERTOOLS),
  ];
}
