import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type CallMessage, PermanentError, type RunEvent, runOnce } from '../../src/index.ts';
import { commitWith, postgresStore, type RunInTransactionOptions, runInTransaction, tryRunInTransaction } from '../../src/stores/postgres/index.ts';
import { gate, takeOrder, useStage } from './postgres-stage.ts';

const stage = useStage();
const { fresh, rows, records } = stage;

describe('runInTransaction: what is told', () => {
  let told: RunEvent[] = [];
  const listen = (event: unknown): void => void told.push(event as RunEvent);
  beforeEach(() => {
    told = [];
    subscribe('rerunsafe:run', listen);
  });
  afterEach(() => {
    unsubscribe('rerunsafe:run', listen);
  });
  const names = () => told.map(({ event }) => event);

  it('a first run and a replay', async () => {
    const call = fresh();
    await runInTransaction(call, takeOrder(call.key));
    await runInTransaction(call, takeOrder(call.key));
    const [record] = await records(call.key);
    const facts = { operation: 'orders/take', id: record?.id, store: 'postgres', attempt: 1 };
    expect(told).toEqual([
      { ...facts, event: 'claimed', token: Number(record?.token) },
      { ...facts, event: 'completed', token: Number(record?.token) },
      { ...facts, event: 'replayed' },
    ]);
  });

  it('each call is published before it begins, to whoever wants to stand around it, and begins once', async () => {
    const around: unknown[] = [];
    const observe = (message: unknown): void => {
      const { around: stand, ...call } = message as CallMessage;
      stand((begin) => begin().then((result) => around.push([call, result])));
    };
    const call = fresh();
    let calls = 0;
    subscribe('rerunsafe:call', observe);
    try {
      await runInTransaction(call, () => ++calls);
      await runInTransaction(call, () => ++calls);
    } finally {
      unsubscribe('rerunsafe:call', observe);
    }
    const facts = { kind: 'run', operation: 'orders/take', id: told[0]?.id, store: 'postgres', label: call.key };
    expect(around).toEqual([
      [facts, expect.objectContaining({ kind: 'completed', value: 1, replayed: false })],
      [facts, expect.objectContaining({ kind: 'completed', value: 1, replayed: true })],
    ]);
  });

  it('nothing is called completed before it is committed', async () => {
    const call = fresh();
    await stage.pool.query('CREATE TABLE IF NOT EXISTS seats (seat int UNIQUE DEFERRABLE INITIALLY DEFERRED)');
    await runInTransaction(call, (tx) => tx.query('INSERT INTO seats VALUES (1), (1)')).catch(() => {});
    expect(names()).toEqual(['claimed', 'released']);
  });

  it('throws, remembered ones, values that are not kept, refusals', async () => {
    const call = fresh({ input: 1 });
    const failure = new Error('no');
    await runInTransaction(call, () => Promise.reject(failure)).catch(() => {});
    expect(told.at(-1)).toMatchObject({ event: 'released', error: failure });
    await runInTransaction<unknown>(call, () => () => 1);
    expect(told.at(-1)).toMatchObject({ event: 'completed', notKept: 'not-serializable' });
    await tryRunInTransaction({ ...call, input: 2 }, () => 1);
    await runInTransaction(call, () => 1).catch(() => {});
    await runInTransaction(fresh(), () => Promise.reject(new PermanentError('no'))).catch(() => {});
    await runInTransaction(fresh({ tableName: 'nowhere' }), () => 1).catch(() => {});
    expect(names().slice(4)).toEqual(['key-reused', 'refused', 'claimed', 'remembered', 'refused']);
  });

  it('a duplicate in flight, and a takeover', async () => {
    const call = fresh();
    const [begun, finish] = [gate(), gate()];
    const first = runInTransaction(call, async () => {
      begun.open();
      await finish.opened;
    });
    await begun.opened;
    await tryRunInTransaction({ ...call, waitMs: 10 }, () => 1);
    finish.open();
    await first;
    expect(names()).toEqual(['claimed', 'in-flight', 'completed']);
    const lapsed = fresh();
    const store = postgresStore({ pool: stage.pool });
    await runOnce({ store, operation: lapsed.operation, key: lapsed.key, onThrow: () => 'unknown' }, () => Promise.reject(1)).catch(() => {});
    await runInTransaction(lapsed, () => 1);
    expect(names().slice(-2)).toEqual(['taken-over', 'completed']);
  });
});

describe('runInTransaction: what it costs', () => {
  /** The statements of one call, without the work's own. */
  async function statements(call: RunInTransactionOptions, work: Parameters<typeof runInTransaction>[1] = () => 1): Promise<string[]> {
    const sent: string[] = [];
    let connections = 0;
    const pool = {
      query: () => Promise.reject(new Error('only connections are used')),
      async connect() {
        connections += 1;
        const client = await stage.pool.connect();
        return {
          query: (text: string, values?: unknown[]) => {
            sent.push(text);
            return client.query(text, values as never);
          },
          release: (broken?: boolean) => client.release(broken),
        };
      },
    };
    await tryRunInTransaction({ ...call, pool }, work).catch(() => {});
    expect(connections).toBe(1);
    return sent.map((text) => /^(?:WITH written AS \()?(\w+)/.exec(text)?.[1] ?? text);
  }

  it('I11 a first run: five round trips on one connection; a replay and a duplicate: three', async () => {
    const call = fresh();
    expect(await statements(call)).toEqual(['BEGIN', 'INSERT', 'SET', 'UPDATE', 'COMMIT']);
    expect(await statements(call)).toEqual(['BEGIN', 'INSERT', 'COMMIT']);
  });

  it('I11 a throw, a remembered error, a takeover', async () => {
    const call = fresh();
    expect(await statements(call, () => Promise.reject(1))).toEqual(['BEGIN', 'INSERT', 'SET', 'ROLLBACK']);
    expect(await statements(call, () => Promise.reject(new PermanentError('no')))).toEqual([
      'BEGIN',
      'INSERT',
      'SET',
      'ROLLBACK',
      'UPDATE',
      'COMMIT',
    ]);
    const released = fresh();
    const store = postgresStore({ pool: stage.pool });
    await runOnce({ store, operation: released.operation, key: released.key }, () => Promise.reject(1)).catch(() => {});
    expect(await statements(released)).toEqual(['BEGIN', 'INSERT', 'SELECT', 'UPDATE', 'SET', 'UPDATE', 'COMMIT']);
  });
});

describe('runInTransaction: its outbox', () => {
  const waiting = async (topic: string) =>
    (await stage.pool.query('SELECT id, topic, order_key, payload FROM rerunsafe_outbox WHERE topic = $1 ORDER BY position', [topic])).rows;

  it('I1 messages leave with the rows, under the same ids in every try, and not with what is rolled back or remembered', async () => {
    const call = fresh();
    const topic = `placed/${call.key}`;
    const ids: string[][] = [];
    const send = (end: () => unknown) =>
      runInTransaction(call, async (tx, run) => {
        await takeOrder(call.key)(tx);
        ids.push([run.outbox.add({ topic, payload: { n: 1 }, key: 'a' }), run.outbox.add({ topic, payload: { n: 2 }, key: 'a' })]);
        return end();
      });
    await send(() => Promise.reject(new Error('no'))).catch(() => {});
    expect(await waiting(topic)).toEqual([]);
    await send(() => 'sent');
    await send(() => 'again');
    expect(await waiting(topic)).toEqual([
      { id: ids[0]?.[0], topic, order_key: 'a', payload: { n: 1 } },
      { id: ids[0]?.[1], topic, order_key: 'a', payload: { n: 2 } },
    ]);
    expect(ids).toEqual([ids[0], ids[0]]);
    const other = fresh();
    const failing = runInTransaction(other, async (_tx, run) => {
      run.outbox.add({ topic: `failed/${other.key}`, payload: 1 });
      throw new PermanentError('no');
    });
    await failing.catch(() => {});
    expect([await waiting(`failed/${other.key}`), (await records(other.key)).length]).toEqual([[], 1]);
  });

  it('I1 messages of a run of runOnce leave with commitWith', async () => {
    const { operation, key } = fresh();
    const topic = `committed/${key}`;
    await runOnce({ store: postgresStore({ pool: stage.pool }), operation, key }, async (run) => {
      run.outbox.add({ topic, payload: 'x' });
      await commitWith(run, 1, takeOrder(key));
    });
    expect(await waiting(topic)).toEqual([expect.objectContaining({ payload: 'x', order_key: null })]);
  });

  it('I12 what is added after the end is refused', async () => {
    let add = (): unknown => undefined;
    await runInTransaction(fresh(), (_tx, run) => {
      add = () => run.outbox.add({ topic: 't', payload: 1 });
    });
    expect(add).toThrow(/the run is over/);
  });

  it('an outbox table that is not there is STORE_MISCONFIGURED, and nothing is written', async () => {
    const call = fresh({ outboxTable: 'nowhere' });
    const lost = runInTransaction(call, async (tx, run) => {
      run.outbox.add({ topic: 't', payload: 1 });
      return takeOrder(call.key)(tx);
    });
    await expect(lost).rejects.toMatchObject({ code: 'STORE_MISCONFIGURED' });
    expect([await rows(call.key), await records(call.key)]).toEqual([[], []]);
  });
});

describe('runInTransaction: switched off', () => {
  it('RERUNSAFE_DISABLED runs the work in its transaction, unguarded', async () => {
    const call = fresh();
    process.env.RERUNSAFE_DISABLED = '1';
    try {
      for (const _ of [1, 2]) {
        const result = await tryRunInTransaction(call, (tx) => takeOrder(call.key)(tx));
        expect(result).toEqual({ kind: 'completed', value: { value: 'taken' }, replayed: false, saved: false, attempt: 1 });
      }
      const failing = runInTransaction(call, async (tx) => {
        await takeOrder(call.key)(tx);
        throw new Error('no');
      });
      await expect(failing).rejects.toThrow('no');
    } finally {
      delete process.env.RERUNSAFE_DISABLED;
    }
    expect(await rows(call.key)).toEqual(['taken', 'taken']);
    expect(await records(call.key)).toEqual([]);
  });
});
