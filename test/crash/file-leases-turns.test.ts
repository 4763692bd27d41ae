import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startWorker, type WorkerProcess } from '../../scripts/demo/calls.ts';
import { fileLeases } from '../../src/leases/file/index.ts';
import { hostMs, type Noted, type Turns } from './file-leases-task.ts';

const LONG = process.env.RERUNSAFE_LONG === '1';
const PROCESSES = 8;
const TURNS = LONG ? 600 : 200;
const LEASE_MS = 300;
const SCRIPT = new URL('file-leases-worker.ts', import.meta.url).href;
/** Processes are killed here, no power is cut: what matters is in memory. A real disk would make it ten times as slow. */
const FOLDER = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();

interface Held {
  readonly pid: number;
  readonly token: number;
  readonly fromMs: number;
  readonly endMs: number;
}

let root: string;
beforeAll(async () => {
  root = await mkdtemp(join(FOLDER, 'rerunsafe-turns-'));
});
afterAll(() => rm(root, { recursive: true, force: true }));

async function historyOf(path: string): Promise<Noted[]> {
  return (await readFile(path, 'utf8')).split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Noted]));
}

describe(`${PROCESSES} processes that take ${TURNS} turns each, and are killed and stopped at random`, () => {
  it(
    'I4 I5 I6 hold one after the other, tokens in that order, and no write of a stale holder lands',
    async () => {
      const leases = { directory: join(root, 'leases') };
      await fileLeases(leases).setUp();
      const turns: Omit<Turns, 'count'> = {
        name: 'turns',
        leaseMs: LEASE_MS,
        lateEvery: 50,
        counter: join(root, 'counter'),
        history: join(root, 'history'),
      };
      await writeFile(turns.history, '');
      const endedAtMs = new Map<number, number>();
      const places: { worker: WorkerProcess; left: number; running: Promise<unknown>; done: boolean; killed: boolean }[] = [];
      const begin = async (n: number, left: number): Promise<void> => {
        const worker = await startWorker(SCRIPT, { LEASES: JSON.stringify(leases) });
        const place = { worker, left, done: false, killed: false, running: Promise.resolve() as Promise<unknown> };
        place.running = worker.call('turns', { ...turns, count: left }).then(
          () => {
            place.done = true;
          },
          (error: Error) => (place.killed ? undefined : error),
        );
        places[n] = place;
      };
      const kill = async (n: number): Promise<boolean> => {
        const place = places[n];
        if (place === undefined || place.done) return false;
        const { pid } = place.worker;
        place.killed = true;
        endedAtMs.set(pid, hostMs());
        await place.worker.kill();
        const taken = (await historyOf(turns.history)).filter((line) => line.pid === pid && line.what === 'in').length;
        if (place.left > taken) await begin(n, place.left - taken);
        else place.done = true;
        return true;
      };

      let kills = 0;
      try {
        await Promise.all(Array.from({ length: PROCESSES }, (_, n) => begin(n, TURNS)));
        while (places.some(({ done }) => !done)) {
          const failed = (await Promise.all(places.map(({ running }) => Promise.race([running, pause(1)])))).find((one) => one instanceof Error);
          if (failed !== undefined) throw failed;
          await pause(100 + Math.random() * 400);
          const n = Math.floor(Math.random() * PROCESSES);
          if (Math.random() < 0.25) {
            places[n]?.worker.pause();
            await pause(LEASE_MS * Math.random() * 1.5);
            places[n]?.worker.resume();
          } else if (await kill(n)) kills += 1;
        }
      } finally {
        await Promise.all(places.map(({ worker }) => worker.kill()));
      }

      const history = await historyOf(turns.history);
      const count = (what: Noted['what']): number => history.filter((line) => line.what === what).length;
      const outOf = new Map(history.filter(({ what }) => what === 'out').map(({ token, atMs }) => [token, atMs]));
      const held: Held[] = history.flatMap((line) => {
        if (line.what !== 'in') return [];
        const endMs = Math.min(outOf.get(line.token) ?? Number.POSITIVE_INFINITY, line.untilMs, endedAtMs.get(line.pid) ?? Number.POSITIVE_INFINITY);
        return [{ pid: line.pid, token: line.token, fromMs: line.atMs, endMs }];
      });
      const stale = { tried: count('refused') + count('landed late'), landed: count('landed late') };
      console.info(`file leases: ${held.length} acquisitions, ${kills} kills, ${stale.tried} stale writes tried, ${stale.landed} landed`);

      expect(held.length).toBeGreaterThanOrEqual(PROCESSES * TURNS);
      expect(new Set(held.map(({ token }) => token)).size).toBe(held.length);
      const byToken = held.toSorted((a, b) => a.token - b.token);
      const overlaps = byToken.flatMap((next, n) => {
        const before = byToken[n - 1];
        return before !== undefined && next.fromMs < before.endMs ? [`${JSON.stringify(before)} and ${JSON.stringify(next)}`] : [];
      });
      expect(overlaps).toEqual([]);
      expect(byToken.map(({ fromMs }) => fromMs)).toEqual(byToken.map(({ fromMs }) => fromMs).sort((a, b) => a - b));

      expect(stale.landed).toBe(0);
      expect(stale.tried).toBeGreaterThan(0);
      expect(kills).toBeGreaterThan(0);
      // Each write adds one to what the one before it wrote. A holder may be killed between its write and its note of it.
      const wrote = history.flatMap((line) => (line.what === 'wrote' ? [line] : []));
      const ns = wrote.map(({ n }) => n);
      expect(new Set(ns).size).toBe(ns.length);
      expect(wrote.toSorted((a, b) => a.token - b.token).map(({ n }) => n)).toEqual(ns.toSorted((a, b) => a - b));
      const { n: last } = JSON.parse(await readFile(turns.counter, 'utf8')) as { n: number };
      expect(last).toBeGreaterThanOrEqual(Math.max(...ns));
      expect(last - ns.length).toBeGreaterThanOrEqual(0);
      expect(last - ns.length).toBeLessThanOrEqual(kills);
    },
    LONG ? 600_000 : 120_000,
  );
});
