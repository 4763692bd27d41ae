import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { tryRunInTransaction } from '../../src/stores/postgres/index.ts';
import { useStage } from '../commit/postgres-stage.ts';
import { byLength } from '../support/long.ts';
import type { Errand, Step } from './postgres-transaction-worker.ts';

const SCRIPT = fileURLToPath(new URL('postgres-transaction-worker.ts', import.meta.url));
const ISOLATIONS = ['read committed', 'repeatable read', 'serializable'] as const;
const RANDOM_KILLS = byLength(10, 12, 60);
const KEYS = 25;

const stage = useStage({ durable: true });
const children = new Set<ChildProcess>();
afterAll(() => {
  for (const child of children) child.kill('SIGKILL');
});

interface Worker {
  /** The next line; undefined when it has ended. */
  said(): Promise<string | undefined>;
  kill(): Promise<void>;
}

function start(errand: Omit<Errand, 'url'>): Worker {
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', SCRIPT, JSON.stringify({ ...errand, url: stage.url })], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.add(child);
  const exited = once(child, 'exit');
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    said: async () => (await lines.next()).value,
    async kill() {
      child.kill('SIGKILL');
      await exited;
      children.delete(child);
    },
  };
}

/** What another caller gets, who comes at once. */
const take = (key: string, isolation: (typeof ISOLATIONS)[number]) =>
  tryRunInTransaction({ pool: stage.pool, operation: 'orders/take', key, isolation, waitMs: 20_000 }, async (tx) => {
    await tx.query("INSERT INTO orders (key, value) VALUES ($1, 'by the next')", [key]);
    return 'by the next';
  });

/** One row, one record, and they say the same. */
async function agree(key: string, value: unknown): Promise<void> {
  expect(await stage.rows(key)).toEqual([value]);
  const standing = await stage.records(key);
  expect(standing).toEqual([expect.objectContaining({ state: 'completed' })]);
  expect(JSON.parse(String(standing[0]?.body))).toMatchObject({ outcome: { kind: 'value', value: { json: value } } });
}

describe('runInTransaction: the caller is killed', () => {
  const steps: [Step, 'gone' | 'either' | 'stands'][] = [
    ['begin', 'gone'],
    ['own-row', 'gone'],
    ['business-row', 'gone'],
    ['outcome', 'gone'],
    ['commit-sent', 'either'],
    ['committed', 'stands'],
  ];
  for (const [step, becomes] of steps) {
    it(`I1 I10 after ${step}: record and row agree, and the next caller goes on at once`, async () => {
      for (const isolation of ISOLATIONS) {
        const { key } = stage.fresh();
        const worker = start({ isolation, step, keys: [key] });
        expect([await worker.said(), await worker.said()]).toEqual(['ready', 'there']);
        await worker.kill();
        const result = await take(key, isolation);
        expect(result).toMatchObject({ kind: 'completed', replayed: becomes === 'either' ? expect.any(Boolean) : becomes === 'stands' });
        await agree(key, result.kind === 'completed' && result.value);
      }
    });
  }

  it('I6 I10 while it hangs after its row others are in flight, and with its death they go on', async () => {
    const { key } = stage.fresh();
    const worker = start({ isolation: 'read committed', step: 'business-row', keys: [key] });
    expect([await worker.said(), await worker.said()]).toEqual(['ready', 'there']);
    const call = { pool: stage.pool, operation: 'orders/take', key, waitMs: 50 };
    expect(await tryRunInTransaction(call, () => 1)).toMatchObject({ kind: 'in-flight' });
    await worker.kill();
    expect(await take(key, 'read committed')).toMatchObject({ kind: 'completed', replayed: false });
    await agree(key, 'by the next');
  });

  it(`I1 I3 killed at random, ${RANDOM_KILLS} times among ${KEYS} keys each: nothing that was answered is lost, nothing is there twice`, async () => {
    let answered = 0;
    for (let round = 0; round < RANDOM_KILLS; round++) {
      const isolation = ISOLATIONS[round % ISOLATIONS.length] ?? 'serializable';
      const keys = Array.from({ length: KEYS }, () => stage.fresh().key);
      const worker = start({ isolation, step: 'never', keys });
      await worker.said();
      const done = new Map<string, string>();
      let begun = (): void => {};
      const first = new Promise<void>((resolve) => {
        begun = resolve;
      });
      const hearing = (async () => {
        for (let line = await worker.said(); line !== undefined; line = await worker.said()) {
          const value = line.replace('done ', '');
          done.set(value.replace(/ by .*/, ''), value);
          begun();
        }
      })();
      await first;
      await sleep(Math.random() * 100);
      await worker.kill();
      await hearing;
      for (const key of keys) {
        const result = await take(key, isolation);
        expect(result.kind).toBe('completed');
        const value = result.kind === 'completed' ? result.value : undefined;
        if (done.has(key)) expect(value).toBe(done.get(key));
        await agree(key, value);
      }
      answered += done.size;
    }
    console.log(`${RANDOM_KILLS} kills: ${answered} of ${RANDOM_KILLS * KEYS} keys had been answered before`);
  }, 180_000);
});
