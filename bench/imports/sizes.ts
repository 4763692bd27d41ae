/**
 * How large it is in a bundle, and what makes it so.
 *
 * @module
 */
import type { Figure, Table } from '../section.ts';
import { AZURE, type Bundle, bundle, LAMBDA, POWERTOOLS_USE, USES } from './bundle.ts';

export const measureUses = async (): Promise<Readonly<Record<string, Bundle>>> =>
  Object.fromEntries(await Promise.all(Object.entries(USES).map(async ([name, contents]) => [name, await bundle(contents)] as const)));

const ROOM = 1.02;

/** What limits.json keeps when today's sizes are to stand: bytes after brotli, and room for what a fix costs. */
export const limitsOf = (uses: Readonly<Record<string, Bundle>>): Readonly<Record<string, number>> =>
  Object.fromEntries(Object.entries(uses).map(([name, { brotli }]) => [name, Math.ceil(brotli * ROOM)]));

/** Goal for one adapter, one store, and the core that they need. */
const GOAL_BYTES = 12_000;

/** What a first run or a replay of plain JSON can do without, by the names of files as they are imported. */
const LATE: Readonly<Record<string, RegExp>> = {
  'devalue (values that are no plain JSON)': /^devalue$/,
  'canonicalize (the fingerprint of an input)': /^canonicalize$/,
  steps: /\/(step|step-writes|known-forms)\.js$/,
  'parts, pack, seal (large and sealed outcomes)': /\/(parts|pack|seal|beside)\.js$/,
  'clean-up and set-up of the store': /\/(clean-up|set-up|purge)\.js$/,
  'waiting, local replay, outbox': /\/(waits|local-replay|outbox)\.js$/,
  'what is told of a value that was not kept': /\/not-kept\.js$/,
  'checks of options': /\/(options|retention)\.js$/,
};

export async function sizes(): Promise<{ tables: readonly Table[]; figures: readonly Figure[] }> {
  const uses = await measureUses();
  const powertools = await bundle(POWERTOOLS_USE);
  const row = (name: string, { minified, brotli, gzip }: Bundle): string[] => [name, ...[minified, brotli, gzip].map(String)];
  const lambda = uses[LAMBDA] as Bundle;
  const figure = (pair: string, { brotli: value }: Bundle): Figure => ({
    name: `core + one adapter + one store, minified + compressed (brotli), without SDK: ${pair}`,
    value,
    unit: 'bytes',
    goal: GOAL_BYTES,
  });
  const ratio = lambda.brotli / powertools.brotli;
  return {
    tables: [
      {
        title: 'Size in a bundle, bytes (esbuild, minified, SDKs outside)',
        columns: ['what is used', 'minified', 'brotli 11', 'gzip 9'],
        rows: [
          ...Object.entries(uses).map(([name, measured]) => row(name, measured)),
          row('Powertools: makeIdempotent, DynamoDBPersistenceLayer', powertools),
        ],
      },
      contributors(lambda),
      await late(lambda),
    ],
    figures: [
      figure('Lambda + DynamoDB', lambda),
      figure('Azure Functions + Table Storage', uses[AZURE] as Bundle),
      { name: "the same for Lambda + DynamoDB ÷ Powertools'", value: ratio, unit: '×' },
    ],
  };
}

const MOST_ROWS = 20;

function contributors({ files, minified }: Bundle): Table {
  const sorted = Object.entries(files).sort(([, a], [, b]) => b - a);
  const rest = sorted.slice(MOST_ROWS);
  const told = (path: string, bytes: number): string[] => [path, String(bytes), `${((bytes / minified) * 100).toFixed(1)} %`];
  return {
    title: `What is in it: ${LAMBDA}`,
    columns: ['file', 'minified bytes', 'share'],
    rows: [
      ...sorted.slice(0, MOST_ROWS).map(([path, bytes]) => told(path, bytes)),
      told(
        `${rest.length} others`,
        rest.reduce((sum, [, bytes]) => sum + bytes, 0),
      ),
    ],
  };
}

async function late(whole: Bundle): Promise<Table> {
  const without = async (name: string, files: RegExp): Promise<string[]> => {
    const { minified, brotli } = await bundle(USES[LAMBDA] ?? '', files);
    return [name, String(whole.minified - minified), String(whole.brotli - brotli), String(brotli)];
  };
  const together = new RegExp(
    Object.values(LATE)
      .map(({ source }) => source)
      .join('|'),
  );
  return {
    title: `Loaded when first needed instead: what leaves the import of ${LAMBDA}`,
    columns: ['what', 'minified bytes less', 'brotli bytes less', 'brotli bytes left'],
    rows: [...(await Promise.all(Object.entries(LATE).map(([name, files]) => without(name, files)))), await without('all of these', together)],
    note: 'A file in a bundle is in it whether it is loaded early or late: this is what the first instruction waits for, not what is deployed.',
  };
}
