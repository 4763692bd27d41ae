import { describe, expect, it } from 'vitest';
import { migrations, postgresStore } from '../../../src/stores/postgres/index.ts';
import { freshId, put, sample } from '../../../src/testing/record-store/subject.ts';
import { atOnce } from '../../../src/testing/suite.ts';
import { postgresAvailable } from '../../support/postgres.ts';
import { postgresStage, somebodyWaits } from './postgres-subject.ts';

describe.runIf(await postgresAvailable())('setting up PostgreSQL', () => {
  const stage = postgresStage();

  const shapeOf = async (schema: string): Promise<unknown> => {
    const columns = await stage.pool.query(
      `SELECT table_name, column_name, data_type, is_nullable, collation_name FROM information_schema.columns WHERE table_schema = $1 ORDER BY 1, 2`,
      [schema],
    );
    const indexes = await stage.pool.query(
      `SELECT indexname, replace(indexdef, $1 || '.', '') AS def FROM pg_indexes WHERE schemaname = $1 ORDER BY 1`,
      [schema],
    );
    return { columns: columns.rows, indexes: indexes.rows };
  };
  const history = async (table = 'rerunsafe_migrations'): Promise<unknown> =>
    (await stage.pool.query(`SELECT version, name FROM ${table} ORDER BY version`)).rows;

  it('is a numbered list of migrations; run by another tool, and twice, it makes what setUp() makes', async () => {
    const list = migrations({ schema: 'by_hand' });
    expect(list.map(({ version, name }) => [version, name])).toEqual([
      [1, 'records'],
      [2, 'outbox'],
    ]);
    await stage.pool.query('CREATE SCHEMA by_hand');
    for (const { sql } of [...list, ...list]) await stage.pool.query(`BEGIN; ${sql} COMMIT;`);
    await stage.fresh({ schema: 'by_set_up' });
    expect(await shapeOf('by_hand')).toEqual(await shapeOf('by_set_up'));
    expect(await history('by_hand.rerunsafe_migrations')).toEqual(await history('by_set_up.rerunsafe_migrations'));
    // And setUp() finds it done.
    const store = await stage.fresh({ schema: 'by_hand' });
    await put(store, freshId(), sample());
  });

  it('eight at once make it once, and all of them can use it', async () => {
    const stores = Array.from({ length: 8 }, () => stage.another({ schema: 'many "at" once', tableName: "it's" }, { max: 2 }));
    await Promise.all(stores.map((store) => store.setUp()));
    expect(await history(`"many ""at"" once"."it's_migrations"`)).toHaveLength(2);
    await atOnce(8, (index) => put(stores[index] as (typeof stores)[number], freshId(), sample()));
  });

  it('a second one waits for the first, and finds it done', async () => {
    const first = await stage.client();
    await first.query('BEGIN');
    await first.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', ['rerunsafe set-up "rerunsafe_migrations"']);
    for (const { sql } of migrations()) await first.query(sql);
    const second = stage.another().setUp();
    await somebodyWaits(stage.pool);
    await first.query('COMMIT');
    await second;
    expect(await history()).toHaveLength(2);
  });

  it('runs only what has not been run', async () => {
    await stage.fresh();
    await stage.pool.query('DROP TABLE rerunsafe_outbox; DELETE FROM rerunsafe_migrations WHERE version = 2; DROP INDEX rerunsafe_operation');
    await stage.fresh();
    expect((await stage.pool.query("SELECT to_regclass('rerunsafe_outbox') AS made, to_regclass('rerunsafe_operation') AS not_made")).rows).toEqual([
      { made: 'rerunsafe_outbox', not_made: null },
    ]);
  });

  it('a role that may create nothing does well where all is there, and is told what it lacks where not', async () => {
    await stage.fresh({ schema: 'ready' });
    await stage.pool.query(`CREATE ROLE worker LOGIN; GRANT USAGE ON SCHEMA ready TO worker;
      GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ready TO worker`);
    const url = new URL(stage.database.url);
    url.username = 'worker';
    const worker = await stage.fresh({ connectionString: url.href, schema: 'ready' });
    await put(worker, freshId(), sample());
    const refused = { code: 'STORE_MISCONFIGURED', message: expect.stringContaining('CREATE') };
    await expect(stage.another({ connectionString: url.href, schema: 'not_ready' }).setUp()).rejects.toMatchObject(refused);
    await expect(stage.another({ connectionString: url.href, schema: 'ready', tableName: 'another' }).setUp()).rejects.toMatchObject(refused);
    await worker.close();
    await stage.pool.query('DROP OWNED BY worker; DROP ROLE worker');
  });

  it('without a schema the table is looked for along the search path', async () => {
    await stage.pool.query('CREATE SCHEMA later');
    await stage.fresh({ schema: 'later' });
    const store = stage.another({}, { options: '-c search_path=nowhere,later' });
    const id = freshId();
    await put(store, id, sample());
    expect((await stage.pool.query('SELECT id FROM later.rerunsafe')).rows).toEqual([{ id }]);
  });

  it('names are told apart by case, and none can leave its quotes', async () => {
    const names = ['Rerunsafe', 'rerunsafe', 'a"; DROP TABLE rerunsafe; --', "o'clock", 'Grün', 'select'];
    for (const tableName of names) {
      const store = await stage.fresh({ tableName });
      await put(store, freshId(), sample());
    }
    for (const tableName of names) expect((await stage.pool.query(`SELECT FROM "${tableName.replaceAll('"', '""')}"`)).rowCount).toBe(1);
    expect(() => postgresStore({ tableName: 'a\0b' })).toThrow(/tableName/);
    expect(() => migrations({ schema: 'x'.repeat(64) })).toThrow(/63 bytes/);
  });

  it('the table refuses what is no record', async () => {
    const store = await stage.fresh();
    const id = freshId();
    await put(store, id, sample());
    await expect(stage.pool.query("UPDATE rerunsafe SET state = 'done'")).rejects.toMatchObject({ code: '23514' });
    await expect(stage.pool.query('UPDATE rerunsafe SET token = -1')).rejects.toMatchObject({ code: '23514' });
  });
});
