import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { memoryStore, runOnce, storeLeases } from '../../src/index.ts';
import type { Deliver } from '../../src/outbox/options.ts';
import { relayOutbox } from '../../src/outbox/relay.ts';
import { commitWith } from '../../src/stores/postgres/commit-with.ts';
import { deliverable, postgresOutbox } from '../../src/stores/postgres/outbox.ts';
import { insertMessages } from '../../src/stores/postgres/outbox-insert.ts';
import { runInTransaction } from '../../src/stores/postgres/run-in-transaction.ts';
import { postgresStore } from '../../src/stores/postgres/store.ts';
import { inTransaction } from '../../src/stores/postgres/transaction.ts';
import { type PostgresDatabase, type PostgresServer, postgresAvailable, startPostgres } from '../support/postgres.ts';
import { pending } from './place-suite.ts';

describe.runIf(await postgresAvailable())('messages in a transaction of PostgreSQL', () => {
  let server: PostgresServer;
  let database: PostgresDatabase;
  let pool: ReturnType<PostgresDatabase['pool']>;
  beforeAll(async () => {
    server = await startPostgres();
  });
  beforeEach(async () => {
    database = await server.database();
    pool = database.pool();
    await postgresStore({ pool }).setUp();
    await pool.query('CREATE TABLE orders (id text PRIMARY KEY)');
  });
  afterAll(() => server?.stop());

  const rows = async (): Promise<{ orders: number; messages: number; records: number }> => {
    const counts = '(SELECT count(*) FROM orders)::int AS orders, (SELECT count(*) FROM rerunsafe_outbox)::int AS messages';
    const { rows: found } = await pool.query(`SELECT ${counts}, (SELECT count(*) FROM rerunsafe)::int AS records`);
    return found[0];
  };
  const order = (key: string, end: () => void = () => {}): Promise<string> =>
    runInTransaction({ pool, operation: 'orders/take', key }, async (tx, run) => {
      await tx.query('INSERT INTO orders VALUES ($1)', [key]);
      const id = run.outbox.add({ topic: 'orders/taken', key, payload: { key } });
      end();
      return id;
    });
  const delivered = async (more: { outboxTable?: string; schema?: string } = {}): Promise<string[]> => {
    const ids: string[] = [];
    const deliver: Deliver = ({ id }) => void ids.push(id);
    await relayOutbox({ outbox: postgresOutbox({ pool, ...more }), leases: storeLeases(memoryStore()), deliver });
    return ids;
  };

  it('S8 I1 the message, the business row and the record stand together, once, or not at all', async () => {
    const failing = order('o1', () => {
      throw new Error('after all that');
    });
    await expect(failing).rejects.toThrow('after all that');
    expect(await rows()).toEqual({ orders: 0, messages: 0, records: 0 });
    const id = await order('o1');
    expect(await order('o1')).toBe(id);
    expect(await rows()).toEqual({ orders: 1, messages: 1, records: 1 });
    expect(await delivered()).toEqual([id]);
    expect(await delivered()).toEqual([]);
  });

  it('S8 a crash between the commit and the notification loses nothing, and leaves no ghost of what was not committed', async () => {
    const own = await startPostgres({ durable: true });
    try {
      const at = await own.database();
      const durable = at.pool();
      await postgresStore({ pool: durable }).setUp();
      const take = (key: string, end: () => Promise<void> = async () => {}): Promise<string> =>
        runInTransaction({ pool: durable, operation: 'orders/take', key, settleMs: 1, maxTries: 1 }, async (_, run) => {
          const id = run.outbox.add({ topic: 'orders/taken', payload: key });
          await end();
          return id;
        });
      await take('committed');
      // Gone in the middle of the second one's transaction, and before anything of the first was sent.
      await take('half done', () => own.crash()).catch(() => {});
      await own.restart();
      const got: unknown[] = [];
      const relay = () =>
        relayOutbox({
          outbox: postgresOutbox({ pool: durable }),
          leases: storeLeases(memoryStore()),
          deliver: ({ payload }) => void got.push(payload),
        });
      await relay();
      expect(got).toEqual(['committed']);
      await take('half done');
      await relay();
      expect(got).toEqual(['committed', 'half done']);
    } finally {
      await own.stop();
    }
  });

  it('commitWith of a runOnce writes them too', async () => {
    const store = postgresStore({ pool });
    const once = () =>
      runOnce({ store, operation: 'orders/take', key: 'c1' }, async (run) => {
        const id = run.outbox.add({ topic: 'orders/taken', payload: 1 });
        await commitWith(run, id, (tx) => tx.query('INSERT INTO orders VALUES ($1)', ['c1']));
        return id;
      });
    const id = await once();
    expect(await once()).toBe(id);
    expect(await rows()).toEqual({ orders: 1, messages: 1, records: 1 });
    expect(await delivered()).toEqual([id]);
  });

  it('goes to the table that was asked for, in its schema, with any name', async () => {
    const place = { schema: 'Odd "schema"', outboxTable: `it's "odd"` };
    await pool.query('CREATE SCHEMA "Odd ""schema"""');
    await Promise.all(Array.from({ length: 5 }, () => postgresOutbox({ pool, ...place }).setUp()));
    await inTransaction(pool, {}, (tx) => insertMessages({ query: (text, values) => tx.query(text, values) }, [pending('odd', 'key')], place));
    expect(await delivered()).toEqual([]);
    expect(await delivered(place)).toEqual(['odd']);
  });

  it('a message whose id waits already stays as it is', async () => {
    for (const payload of [1, 2]) {
      await inTransaction(pool, {}, (tx) => insertMessages({ query: (text, values) => tx.query(text, values) }, [pending('same', 'k', payload)]));
    }
    const { rows: found } = await pool.query('SELECT payload FROM rerunsafe_outbox');
    expect(found).toEqual([{ payload: 1 }]);
  });

  it('I2 two transactions with messages of one key follow each other to their commits; with other keys they do not wait', async () => {
    const [first, second, other] = await Promise.all([pool.connect(), pool.connect(), pool.connect()]);
    try {
      for (const client of [first, second, other]) await client.query('BEGIN');
      await insertMessages(first, [pending('first', 'k')]);
      await insertMessages(other, [pending('other', 'another key'), pending('free')]);
      await other.query('COMMIT');
      let secondDone = false;
      const waiting = insertMessages(second, [pending('second', 'k')]).then(() => {
        secondDone = true;
      });
      const waits = "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted";
      while ((await pool.query(waits)).rowCount !== 1) await new Promise((resolve) => setTimeout(resolve, 5));
      expect(secondDone).toBe(false);
      expect(await delivered()).toHaveLength(2);
      await first.query('COMMIT');
      await waiting;
      await second.query('COMMIT');
    } finally {
      for (const client of [first, second, other]) client.release();
    }
    expect(await delivered()).toEqual(['first', 'second']);
  });

  it('two transactions with the same keys in opposite orders do not wait for each other for ever', async () => {
    const names = ['a', 'b', 'c', 'd', 'e'];
    const write = (n: number): Promise<void> =>
      inTransaction(pool, { lockTimeoutMs: 10_000 }, (tx) => {
        const keys = n % 2 === 0 ? names : [...names].reverse();
        return insertMessages(
          { query: (text, values) => tx.query(text, values) },
          keys.map((key, at) => pending(`${n}/${key}`, key, n, at)),
        );
      });
    await Promise.all(Array.from({ length: 40 }, (_, n) => write(n)));
    expect(await delivered()).toHaveLength(200);
  });

  it('a row that somebody has locked is passed by, and the rest of its key with it', async () => {
    const write = (id: string, key?: string): Promise<void> =>
      inTransaction(pool, {}, (tx) => insertMessages({ query: (text, values) => tx.query(text, values) }, [pending(id, key)]));
    for (const [id, key] of [['l1', 'k'], ['l2', 'k'], ['l3', 'other'], ['l4']] as const) await write(id, key);
    const person = await pool.connect();
    try {
      await person.query("BEGIN; UPDATE rerunsafe_outbox SET attempts = 0 WHERE id = 'l1'");
      const { messages } = await postgresOutbox({ pool }).take({ limit: 10, holdParked: false });
      expect(messages.map(({ id }) => id)).toEqual(['l3', 'l4']);
      await person.query('ROLLBACK');
    } finally {
      person.release();
    }
    const ids = await delivered();
    expect(ids.filter((id) => id === 'l1' || id === 'l2')).toEqual(['l1', 'l2']);
    expect(ids).toHaveLength(4);
    expect(deliverable([{ order_key: 'k', topic: null }])).toEqual([]);
  });

  it('works where the database makes every statement SERIALIZABLE, and through a pool of one connection', async () => {
    const strict = await server.database({ default_transaction_isolation: 'serializable' });
    const one = strict.pool(1);
    await postgresOutbox({ pool: one }).setUp();
    const write = (n: number): Promise<void> =>
      inTransaction(one, {}, (tx) => insertMessages({ query: (text, values) => tx.query(text, values) }, [pending(`z${n}`, 'k', n)]));
    for (let n = 0; n < 5; n++) await write(n);
    const got: unknown[] = [];
    const result = await relayOutbox({
      outbox: postgresOutbox({ pool: one }),
      leases: storeLeases(memoryStore()),
      deliver: ({ payload }) => void got.push(payload),
    });
    expect(result).toMatchObject({ delivered: 5, left: 0 });
    expect(got).toEqual([0, 1, 2, 3, 4]);
  });

  it('says what to do where the table is missing, and refuses nonsense', async () => {
    const empty = (await server.database()).pool(1);
    const outbox = postgresOutbox({ pool: empty });
    const relay = relayOutbox({ outbox, leases: storeLeases(memoryStore()), deliver: () => {} });
    await expect(relay).rejects.toMatchObject({ code: 'STORE_MISCONFIGURED', message: expect.stringContaining('setUp()') });
    for (const options of [{}, { pool: 1 }, { pool, outboxTable: '' }, { pool, outboxTable: 'x'.repeat(60) }, { pool, table: 'x' }, undefined]) {
      expect(() => postgresOutbox(options as never)).toThrow('postgresOutbox');
    }
    await expect(outbox.unpark('')).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
  });

  it('looks at what waits through its indexes, also with a thousand parked and delayed rows', async () => {
    await pool.query(`INSERT INTO rerunsafe_outbox (id, topic, order_key, payload, due_at_ms, parked_at_ms)
      SELECT 'i' || n, 't', 'key' || n % 500, 'null', CASE WHEN n % 100 = 0 THEN 9e15::bigint ELSE 0 END, CASE WHEN n < 5000 THEN 1 END FROM generate_series(1, 20000) AS n`);
    await pool.query('ANALYZE rerunsafe_outbox');
    const taken = await postgresOutbox({ pool }).take({ limit: 10, holdParked: false });
    expect(taken.messages.map(({ id }) => id)).toEqual(Array.from({ length: 10 }, (_, n) => `i${5_001 + n}`));
    const { outboxSql } = await import('../../src/stores/postgres/outbox-table.ts');
    const { rows: plan } = await pool.query(`EXPLAIN ${outboxSql({}).take}`, [10]);
    const text = plan.map((row) => row['QUERY PLAN']).join('\n');
    expect(text).toContain('rerunsafe_outbox_waiting');
    expect(text).toContain('rerunsafe_outbox_retrying');
    expect(text).not.toContain('Seq Scan');
  });
});
