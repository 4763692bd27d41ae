import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isRerunSafeError, runOnce, tryRunOnce } from '../../src/index.ts';
import { postgresStore } from '../../src/stores/postgres/index.ts';
import { atOnce } from '../../src/testing/suite.ts';
import { type PostgresServer, postgresAvailable, startPostgres } from '../support/postgres.ts';

const CALLERS = 500;
const CONNECTIONS = 10;
const LEVELS = ['read committed', 'repeatable read', 'serializable'] as const;

describe.runIf(await postgresAvailable())('many functions on few connections', () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres();
  }, 60_000);
  afterAll(() => server?.stop());

  it(`${CALLERS} functions at once on a pool of ${CONNECTIONS}: no deadlock, no connection lost, and each waits no longer than its turn`, async () => {
    const pool = (await server.database()).pool(CONNECTIONS);
    const store = postgresStore({ pool });
    await store.setUp();
    const tookMs: number[] = [];
    let mostWaiting = 0;
    const looking = setInterval(() => {
      mostWaiting = Math.max(mostWaiting, pool.waitingCount);
    }, 5);
    const call = async (key: number): Promise<string> => {
      const since = performance.now();
      const value = await runOnce({ store, operation: 'many', key, onInFlight: { waitMs: 20_000 } }, async (run) => {
        // The work asks the same pool while the record is claimed: nobody holds a connection meanwhile.
        await pool.query('SELECT $1::text', [run.key]);
        return `done ${key}`;
      });
      tookMs.push(performance.now() - since);
      return value;
    };
    const since = performance.now();
    const firsts = await atOnce(CALLERS, call);
    const firstsMs = performance.now() - since;
    const replays = await atOnce(CALLERS, call);
    const replaysMs = performance.now() - since - firstsMs;
    clearInterval(looking);
    expect(replays).toEqual(firsts);
    expect(new Set(firsts).size).toBe(CALLERS);
    expect([pool.waitingCount, pool.totalCount - pool.idleCount]).toEqual([0, 0]);
    expect(pool.totalCount).toBeLessThanOrEqual(CONNECTIONS);
    const first = tookMs.slice(0, CALLERS).sort((a, b) => a - b);
    const at = (share: number): string => `${Math.round(first[Math.min(CALLERS - 1, Math.floor(share * CALLERS))] as number)} ms`;
    console.log(
      `${CALLERS} functions on ${CONNECTIONS} connections: first runs ${Math.round(firstsMs)} ms in all (median ${at(0.5)}, 99% ${at(0.99)}, slowest ${at(1)}), ` +
        `replays ${Math.round(replaysMs)} ms in all, at most ${mostWaiting} waiting for a connection`,
    );
    expect(first.at(-1)).toBeLessThan(20_000);
  });

  it(`${CALLERS} functions at once for 25 keys: each key is run once, and everybody gets its value`, async () => {
    const pool = (await server.database()).pool(CONNECTIONS);
    const store = postgresStore({ pool });
    await store.setUp();
    const runs = new Map<number, number>();
    const since = performance.now();
    const values = await atOnce(CALLERS, (index) => {
      const key = index % 25;
      return runOnce({ store, operation: 'same', key, onInFlight: { waitMs: 20_000 } }, async () => {
        runs.set(key, (runs.get(key) ?? 0) + 1);
        return key;
      });
    });
    console.log(`${CALLERS} functions for 25 keys on ${CONNECTIONS} connections: ${Math.round(performance.now() - since)} ms in all`);
    expect(values).toEqual(Array.from({ length: CALLERS }, (_, index) => index % 25));
    expect([...runs.values()]).toEqual(Array.from({ length: 25 }, () => 1));
    expect([pool.waitingCount, pool.totalCount - pool.idleCount]).toEqual([0, 0]);
  });

  for (const level of LEVELS) {
    it(`I1 I2 of 64 racers on 16 connections one runs, under ${level}, ten times over`, async () => {
      const pool = (await server.database({ default_transaction_isolation: level })).pool(16);
      const store = postgresStore({ pool });
      await store.setUp();
      for (let round = 0; round < 10; round++) {
        let runs = 0;
        const results = await atOnce(64, () =>
          tryRunOnce({ store, operation: 'race', key: round }, async () => {
            runs += 1;
            return runs;
          }),
        );
        expect(runs).toBe(1);
        for (const result of results) expect(result.kind === 'in-flight' || (result.kind === 'completed' && result.value === 1)).toBe(true);
      }
      expect(pool.totalCount - pool.idleCount).toBe(0);
    });
  }

  it('a pool that is used up by others refuses all of them in time, and takes all of them again afterwards', async () => {
    const pool = (await server.database()).pool(2);
    const store = postgresStore({ pool, requestTimeoutMs: 500, lockTimeoutMs: 200 });
    await store.setUp();
    const hogs = [await pool.connect(), await pool.connect()];
    const since = performance.now();
    const refusals = await atOnce(100, (key) => runOnce({ store, operation: 'refused', key }, () => key).catch((error: unknown) => error));
    expect(refusals.every((refusal) => isRerunSafeError(refusal, 'STORE_UNAVAILABLE'))).toBe(true);
    expect(performance.now() - since).toBeLessThan(15_000);
    for (const hog of hogs) hog.release();
    expect(await atOnce(100, (key) => runOnce({ store, operation: 'refused', key }, () => key))).toEqual(
      Array.from({ length: 100 }, (_, key) => key),
    );
    expect([pool.waitingCount, pool.totalCount - pool.idleCount]).toEqual([0, 0]);
  });
});
