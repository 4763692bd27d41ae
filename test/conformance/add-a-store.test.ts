/**
 * "Add a store in an hour": the store that stands in CONTRIBUTING.md, taken from there.
 *
 * @module
 */
import { randomUUID } from 'node:crypto';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { ROOT } from '../../scripts/run.ts';
import type { RecordStore } from '../../src/core/ports.ts';
import { recordStoreConformance } from '../../src/testing/index.ts';
import { failures } from '../support/collect.ts';

const FOLDER = join(ROOT, '.cache', `add-a-store-${process.pid}`);
afterAll(() => rm(FOLDER, { recursive: true, force: true }));

const page = await readFile(join(ROOT, 'CONTRIBUTING.md'), 'utf8');
const [, block = ''] = /^ *```ts\n( *import \{ isRerunSafeError[\s\S]*?)^ *```$/m.exec(page) ?? [];

type Make = (client: unknown) => RecordStore;

/** `from` and `to`: a mistake. */
async function storeOfThePage(from = '', to = ''): Promise<Make> {
  if (!block.includes(from)) throw new Error(`the page does not say ${from}`);
  const core = pathToFileURL(join(ROOT, 'src/core/')).href;
  const file = join(FOLDER, `${randomUUID()}.ts`);
  await mkdir(FOLDER, { recursive: true });
  await writeFile(file, block.replace(from, () => to).replaceAll("'../../core/", `'${core}`));
  const { keyValueStore } = (await import(/* @vite-ignore */ pathToFileURL(file).href)) as { keyValueStore: Make };
  return keyValueStore;
}

/** The service: nothing of it is in the page. */
function service() {
  const rows = new Map<string, { readonly value: string; readonly tag: string }>();
  const turn = (): Promise<void> => Promise.resolve();
  return {
    async get(key: string) {
      await turn();
      return rows.get(key);
    },
    async put(key: string, value: string, over: string | undefined) {
      await turn();
      if (rows.get(key)?.tag !== over) return undefined;
      const tag = randomUUID();
      rows.set(key, { value, tag });
      return tag;
    },
    async remove(key: string, over: string) {
      await turn();
      return rows.get(key)?.tag === over && rows.delete(key);
    },
    async *keys() {
      yield* [...rows.keys()];
    },
  };
}

// The store of the page goes by the clock of its process.
let aheadMs = 0;
const realNow = Date.now;
vi.spyOn(Date, 'now').mockImplementation(() => realNow() + aheadMs);
const advance = (ms: number): void => {
  aheadMs += ms;
};

const concurrency = { racers: 10, rounds: 3, workers: 3, increments: 5 };
const keyValueStore = await storeOfThePage();
recordStoreConformance({
  name: 'the store of CONTRIBUTING.md',
  describe,
  it,
  concurrency,
  createStore: async () => ({ store: keyValueStore(service()), advance }),
});

describe('the store of CONTRIBUTING.md with a mistake', () => {
  it.each([
    ['a conflict without what stands there', 'current: await standing(id) } : { ok: true', 'current: undefined } : { ok: true'],
    ['a write without its condition', 'client.put(id, value, over)', 'client.put(id, value, (await client.get(id))?.tag)'],
    ['a record that is cut to fit', "return { ok: false, reason: 'too-large' }", 'record = { ...record, owner: record.owner }'],
  ])('%s is found out', async (_, from, to) => {
    const wrong = await storeOfThePage(from, to);
    const found = await failures((runner) =>
      recordStoreConformance({ ...runner, name: 'wrong', concurrency, createStore: async () => ({ store: wrong(service()), advance }) }),
    );
    expect(found.length).toBeGreaterThan(0);
  });
});
