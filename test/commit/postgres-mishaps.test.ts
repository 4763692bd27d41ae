import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PermanentError, runOnce } from '../../src/index.ts';
import { commitWith, postgresStore, runInTransaction, takeOnce, tryRunInTransaction, upsert } from '../../src/stores/postgres/index.ts';
import type { FaultProxy } from '../support/faults.ts';
import { postgresFraming, startTcpFaultProxy } from '../support/tcp-proxy.ts';
import { takeOrder, useStage } from './postgres-stage.ts';

const stage = useStage();
const { fresh, rows, records } = stage;
let proxy: FaultProxy;
beforeAll(async () => {
  proxy = await startTcpFaultProxy(stage.server.port, postgresFraming);
}, 30_000);
afterAll(() => proxy?.stop());
function proxied(config: pg.PoolConfig = {}): pg.Pool {
  proxy.clear();
  const url = new URL(stage.url);
  url.port = String(proxy.port);
  return stage.poolOf({ connectionString: url.href, max: 4, ...config });
}

describe('a remembered error that could not be written yet', () => {
  for (const where of ['ROLLBACK TO SAVEPOINT', ' AS r SET ']) {
    it(`I8 the connection is lost at ${where}: all of it is done again, and nobody is told that it is final before it is`, async () => {
      const call = fresh({ pool: proxied() });
      proxy.inject({ match: ({ body }) => body.includes(where), action: 'drop-request' });
      let ran = 0;
      const value = await runInTransaction(call, async (tx) => {
        ran += 1;
        if (ran === 1) throw new PermanentError('declined');
        return takeOrder(call.key)(tx);
      });
      expect([value, ran, await rows(call.key)]).toEqual([{ value: 'taken' }, 2, ['taken']]);
    });
  }

  it('I8 what never will be written does not hide what was thrown', async () => {
    const call = fresh();
    await stage.pool.query('CREATE ROLE no_update; GRANT SELECT, INSERT ON rerunsafe TO no_update');
    const failure = new PermanentError('declined');
    const pool = stage.poolOf({ options: '-c role=no_update' });
    await expect(runInTransaction({ ...call, pool }, () => Promise.reject(failure))).rejects.toBe(failure);
    expect(await records(call.key)).toEqual([]);
  });
});

describe('savepoints', () => {
  for (const order of ['good first', 'refused first']) {
    it(`S2 calls at once on one transaction follow each other: one that is refused undoes nothing of the other (${order})`, async () => {
      const [good, newer] = [fresh().key, fresh().key];
      await stage.pool.query(
        'CREATE TABLE IF NOT EXISTS fenced_rows (id text PRIMARY KEY, fence bigint); CREATE TABLE IF NOT EXISTS plain (id text PRIMARY KEY)',
      );
      await stage.pool.query('INSERT INTO fenced_rows VALUES ($1, 100)', [newer]);
      const client = await stage.pool.connect();
      await client.query('BEGIN');
      const refused = () => upsert(client, { table: 'fenced_rows', key: ['id'], rows: [{ id: newer }], fence: { token: 50 } });
      const kept = () => upsert(client, { table: 'plain', key: ['id'], rows: [{ id: good }] });
      const settled = await Promise.allSettled(order === 'good first' ? [kept(), refused()] : [refused(), kept()]);
      const { command } = await client.query('COMMIT');
      client.release();
      expect([settled.map(({ status }) => status).sort(), command]).toEqual([['fulfilled', 'rejected'], 'COMMIT']);
      expect((await stage.pool.query('SELECT id FROM plain WHERE id = $1', [good])).rows).toEqual([{ id: good }]);
    });
  }

  it('I1 names that the work gives to its own are no names of ours', async () => {
    const call = fresh();
    const thrown = runInTransaction(call, async (tx) => {
      await takeOrder(call.key)(tx);
      await tx.query('SAVEPOINT rerunsafe_work');
      throw new PermanentError('no');
    });
    await expect(thrown).rejects.toThrow('no');
    expect(await rows(call.key)).toEqual([]);
  });

  it('I1 a conflict that the work recovered from is the cause of its error, and no reason to do it again', async () => {
    let ran = 0;
    const failure = runInTransaction(fresh({ maxTries: 3 }), async (tx) => {
      ran += 1;
      await tx.query('SAVEPOINT mine');
      await tx.query("DO $$ BEGIN RAISE EXCEPTION 'x' USING ERRCODE = '40001'; END $$").catch(async (cause: unknown) => {
        await tx.query('ROLLBACK TO mine');
        throw Object.assign(new PermanentError('busy'), { cause });
      });
    });
    await expect(failure).rejects.toThrow('busy');
    expect(ran).toBe(1);
  });
});

describe('connections', () => {
  for (const landed of [true, false]) {
    it(`I8 EPIPE at COMMIT is no answer of the server: one row stands (it was ${landed ? '' : 'not '}committed)`, async () => {
      let left = 1;
      const pool = {
        query: () => Promise.reject(new Error('only connections are used')),
        async connect() {
          const client = await stage.pool.connect();
          return {
            release: (broken?: boolean) => client.release(broken),
            async query(text: string, values?: unknown[]) {
              if (!text.endsWith('COMMIT') || left-- <= 0) return client.query(text, values as never);
              await client.query(landed ? text : 'ROLLBACK');
              throw Object.assign(new Error('write EPIPE'), { code: 'EPIPE', errno: -32, syscall: 'write' });
            },
          };
        },
      };
      const call = fresh({ pool });
      await runInTransaction(call, takeOrder(call.key));
      left = 1;
      const with_ = fresh();
      await runOnce({ store: postgresStore({ pool }), operation: 'x', key: with_.key }, (run) => commitWith(run, 1, takeOrder(with_.key)));
      expect([await rows(call.key), await rows(with_.key)]).toEqual([['taken'], ['taken']]);
    });
  }

  it('I12 a single client is no pool: refused before anything is begun', async () => {
    const client = new pg.Client({ connectionString: stage.url });
    const call = fresh({ pool: client as never });
    for (const _ of ['not connected', 'connected'])
      await expect(runInTransaction(call, takeOrder(call.key))).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
    await client.end();
    expect([await rows(call.key), await records(call.key)]).toEqual([[], []]);
  });

  it('I10 a transaction that said nothing for idleTimeoutMs is done again', async () => {
    const call = fresh({ idleTimeoutMs: 100 });
    let ran = 0;
    await runInTransaction(call, async (tx) => {
      ran += 1;
      await takeOrder(call.key)(tx);
      // The process itself stands still, and hears of it no sooner than at its next statement.
      if (ran === 1) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 400);
    });
    expect([ran, await rows(call.key)]).toEqual([2, ['taken']]);
  });

  it("I10 a connection lost in the work's own statement: done again where the work lets that error through, its own error else", async () => {
    const call = fresh();
    let ran = 0;
    const kill = async (tx: { query(text: string): Promise<unknown> }) => {
      ran += 1;
      if (ran === 1) await tx.query('SELECT pg_terminate_backend(pg_backend_pid())');
    };
    await runInTransaction(call, async (tx) => {
      await kill(tx);
      return takeOrder(call.key)(tx);
    });
    expect([ran, await rows(call.key)]).toEqual([2, ['taken']]);
    ran = 0;
    const own = runInTransaction(fresh(), (tx) => kill(tx).catch(() => Promise.reject(new Error('mine'))));
    await expect(own).rejects.toThrow('mine');
    expect(ran).toBe(1);
  });

  it("I10 a driver's limit below waitMs: whoever waits for the row is told that it is in flight", async () => {
    const call = fresh();
    const holder = await stage.pool.connect();
    await holder.query('BEGIN');
    await takeOnce(holder, { operation: call.operation, key: call.key });
    const result = await tryRunInTransaction({ ...call, pool: stage.poolOf({ query_timeout: 150 }), waitMs: 600, maxTries: 2 }, () => 1);
    await holder.query('ROLLBACK');
    holder.release();
    expect(result).toMatchObject({ kind: 'in-flight' });
  });

  it('a key whose value was not stored is taken', async () => {
    const call = fresh();
    await runInTransaction<unknown>(call, () => () => 1);
    await runInTransaction(fresh(), async (tx) => expect(await takeOnce(tx, { operation: call.operation, key: call.key })).toBe(false));
  });

  it('I8 comments in comments hide no COMMIT', async () => {
    const refused = expect.objectContaining({ code: 'INVALID_OPTIONS', message: expect.stringContaining('must not begin or end') });
    const ended = runInTransaction(fresh(), (tx) => tx.query('/* a /* b */ c */ -- d\n COMMIT'));
    await expect(ended).rejects.toEqual(refused);
    await runInTransaction(fresh(), (tx) => tx.query('/* /* */ COMMIT */ SELECT 1'));
  });
});
