import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PermanentError, runOnce } from '../../src/index.ts';
import { commitWith, postgresStore, runInTransaction, tryRunInTransaction } from '../../src/stores/postgres/index.ts';
import type { FaultAction, FaultProxy } from '../support/faults.ts';
import { postgresFraming, startTcpFaultProxy } from '../support/tcp-proxy.ts';
import { takeOrder, useStage } from './postgres-stage.ts';

const stage = useStage();
const { fresh, rows, records } = stage;
let proxy: FaultProxy;
beforeAll(async () => {
  proxy = await startTcpFaultProxy(stage.server.port, postgresFraming);
}, 30_000);
afterAll(() => proxy?.stop());

const pools = new Set<pg.Pool>();
function proxied(config: pg.PoolConfig = {}): pg.Pool {
  const url = new URL(stage.url);
  url.port = String(proxy.port);
  const pool = stage.poolOf({ connectionString: url.href, max: 4, ...config });
  pools.add(pool);
  return pool;
}

/** Not a BEGIN of READ COMMITTED. */
const isCommit = ({ body }: { body: Buffer }): boolean => body.includes('COMMIT\0');
const spoil = (action: FaultAction, times = 1): void => {
  proxy.clear();
  proxy.inject({ match: isCommit, action, times });
};

describe('runInTransaction: a connection lost during COMMIT', () => {
  const lost: [FaultAction, string, number][] = [
    ['drop-answer', 'after it was committed', 1],
    ['half-answer', 'in the middle of the answer', 1],
    ['drop-request', 'before it was sent', 2],
  ];
  for (const isolation of ['read committed', 'repeatable read', 'serializable'] as const) {
    for (const [action, when, runs] of lost) {
      it(`I8 ${when}: it is found out, one row stands, and the caller gets its value (${isolation})`, async () => {
        const pool = proxied();
        const call = fresh({ pool, isolation });
        spoil(action);
        let ran = 0;
        const result = await tryRunInTransaction(call, async (tx) => {
          ran += 1;
          return takeOrder(call.key, `run ${ran}`)(tx);
        });
        expect(result).toEqual({ kind: 'completed', value: { value: `run ${runs}` }, replayed: false, saved: true, attempt: 1 });
        expect(ran).toBe(runs);
        expect(await rows(call.key)).toEqual([`run ${runs}`]);
        expect(await records(call.key)).toHaveLength(1);
      });
    }
  }

  it('I8 a COMMIT that reaches the server after the caller has given it up: the caller waits for its end, and never runs the work again', async () => {
    const pool = proxied({ query_timeout: 300 });
    const call = fresh({ pool });
    spoil({ delayMs: 1_500, at: 'request' });
    let ran = 0;
    const value = await runInTransaction({ ...call, waitMs: 200 }, async (tx) => {
      ran += 1;
      return takeOrder(call.key)(tx);
    });
    expect([value, ran]).toEqual([{ value: 'taken' }, 1]);
    expect(await rows(call.key)).toEqual(['taken']);
  });

  it('I10 a COMMIT that never gets through is tried maxTries times, and is STORE_UNAVAILABLE: nothing was written', async () => {
    const pool = proxied();
    const call = fresh({ pool, maxTries: 3 });
    spoil('drop-request', 1_000);
    let ran = 0;
    const hopeless = runInTransaction(call, async (tx) => {
      ran += 1;
      return takeOrder(call.key)(tx);
    });
    await expect(hopeless).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    proxy.clear();
    expect([ran, await rows(call.key), await records(call.key)]).toEqual([3, [], []]);
  });

  it("I8 answers that come after the driver's own limit are no answers: it is asked again on another connection", async () => {
    const pool = proxied({ query_timeout: 300 });
    const call = fresh({ pool });
    proxy.clear();
    proxy.inject({ match: ({ body }) => body.includes('INSERT INTO "rerunsafe"'), action: { delayMs: 1_000 } });
    expect(await runInTransaction(call, takeOrder(call.key))).toEqual({ value: 'taken' });
    expect(await rows(call.key)).toEqual(['taken']);
  });

  it('I8 over a record that stood there before, too', async () => {
    const pool = proxied();
    const call = fresh({ pool });
    await runOnce({ operation: call.operation, key: call.key, store: postgresStore({ pool: stage.pool }) }, () => {
      throw new Error('released');
    }).catch(() => {});
    spoil('drop-answer');
    expect(await tryRunInTransaction(call, takeOrder(call.key))).toMatchObject({ kind: 'completed', replayed: false, attempt: 2 });
    expect(await rows(call.key)).toEqual(['taken']);
  });

  it('I8 a remembered error is as sure as a value', async () => {
    const pool = proxied();
    const call = fresh({ pool });
    spoil('drop-answer');
    const failure = new PermanentError('declined');
    await expect(runInTransaction(call, () => Promise.reject(failure))).rejects.toBe(failure);
    expect(await tryRunInTransaction(call, takeOrder(call.key))).toMatchObject({ kind: 'failed', replayed: true });
  });

  it('I8 what cannot be found out within settleMs is WRITE_UNKNOWN, and the next call finds it out', async () => {
    const pool = proxied({ query_timeout: 200, connectionTimeoutMillis: 200 });
    const call = fresh({ pool });
    proxy.clear();
    let isCut = false;
    // From the COMMIT on nothing comes through.
    const cutAtCommit = (message: { body: Buffer }): boolean => {
      isCut ||= isCommit(message);
      return isCut;
    };
    proxy.inject({ match: cutAtCommit, action: 'drop-answer' });
    proxy.inject({ match: () => isCut, action: 'drop-request', times: 1_000 });
    const unknown = runInTransaction({ ...call, settleMs: 500 }, takeOrder(call.key));
    await expect(unknown).rejects.toMatchObject({ code: 'WRITE_UNKNOWN', retryable: true });
    proxy.clear();
    expect(await rows(call.key)).toHaveLength((await records(call.key)).length);
    await tryRunInTransaction(call, takeOrder(call.key));
    expect(await rows(call.key)).toEqual(['taken']);
  });

  it('I8 the pool is whole afterwards', async () => {
    for (const pool of pools) {
      proxy.clear();
      await Promise.all(Array.from({ length: 8 }, () => pool.query('SELECT 1')));
      await sleep(0);
      expect(pool.idleCount).toBe(pool.totalCount);
    }
  });
});

describe('commitWith: a connection lost during COMMIT', () => {
  for (const [action, writes] of [
    ['drop-answer', 1],
    ['drop-request', 2],
  ] as const) {
    it(`I8 ${action}: it is found out, and one row stands`, async () => {
      const pool = proxied();
      const { operation, key } = fresh();
      let wrote = 0;
      const value = await runOnce({ store: postgresStore({ pool }), operation, key }, async (run) => {
        spoil(action);
        await commitWith(run, 'committed', async (tx) => {
          wrote += 1;
          await takeOrder(key)(tx);
        });
        return 'later';
      });
      expect([value, wrote]).toEqual(['committed', writes]);
      expect(await rows(key)).toEqual(['taken']);
      expect(await runOnce({ store: postgresStore({ pool: stage.pool }), operation, key }, () => 'again')).toBe('committed');
    });
  }
});
