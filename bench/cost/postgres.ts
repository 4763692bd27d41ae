/**
 * What a run costs PostgreSQL: statements, the write-ahead log, and the room that a row takes.
 *
 * @module
 */
import { Pool } from 'pg';
import { startPostgres } from '../../test/support/postgres.ts';
import { open } from '../measure/counted-stores.ts';
import { firstRun, keyOf, replay } from './one-run.ts';

export interface PostgresRun {
  readonly resultBytes: number;
  readonly first: number;
  readonly replay: number;
  /** Of the log, for a first run: without the images of whole pages that follow a checkpoint. */
  readonly walBytes: number;
  /** With them, right after a checkpoint: the most there can be. */
  readonly walBytesAfterCheckpoint: number;
  /** Of table, indexes and TOAST. */
  readonly keptBytes: number;
}

const SETTLE = 20;

export async function measurePostgres(results: readonly number[], runsEach: number): Promise<readonly PostgresRun[]> {
  const server = await startPostgres({ durable: true });
  try {
    const { url } = await server.database();
    const admin = new Pool({ connectionString: url, max: 1 });
    const runs: PostgresRun[] = [];
    for (const resultBytes of results) runs.push(await measureOne(url, admin, resultBytes, runsEach));
    await admin.end();
    return runs;
  } finally {
    await server.stop();
  }
}

async function measureOne(url: string, admin: Pool, resultBytes: number, count: number): Promise<PostgresRun> {
  const table = `cost${resultBytes}`;
  const counted = await open({ kind: 'postgres', at: url, name: table });
  const { store, requests } = counted;
  let n = 0;
  const firstRuns = async (times: number): Promise<void> => {
    for (let done = 0; done < times; done++) await firstRun(store, keyOf(n++), resultBytes);
  };
  const wal = async (work: () => Promise<void>): Promise<number> => {
    const since = await ask(admin, 'SELECT pg_current_wal_insert_lsn() AS value');
    await work();
    return Number(await ask(admin, `SELECT pg_current_wal_insert_lsn() - '${since}' AS value`));
  };
  try {
    await store.setUp?.();
    await firstRuns(SETTLE);
    const before = requests();
    await admin.query('ALTER SYSTEM SET full_page_writes = off');
    await admin.query('SELECT pg_reload_conf()');
    // The server takes up its settings in its own time.
    while ((await ask(admin, "SELECT current_setting('full_page_writes') AS value")) !== 'off');
    await admin.query('CHECKPOINT');
    const walBytes = (await wal(() => firstRuns(count))) / count;
    const first = (requests() - before) / count;
    await admin.query('ALTER SYSTEM RESET full_page_writes');
    await admin.query('SELECT pg_reload_conf()');
    while ((await ask(admin, "SELECT current_setting('full_page_writes') AS value")) !== 'on');
    await admin.query('CHECKPOINT');
    const walBytesAfterCheckpoint = (await wal(() => firstRuns(count))) / count;
    const sent = requests();
    await replay(store, keyOf(0));
    const replayed = requests() - sent;
    const keptBytes = Number(await ask(admin, `SELECT pg_total_relation_size('"${table}"') AS value`)) / n;
    return { resultBytes, first, replay: replayed, walBytes, walBytesAfterCheckpoint, keptBytes };
  } finally {
    await counted.close();
  }
}

async function ask(pool: Pool, text: string): Promise<string> {
  const { rows } = await pool.query<{ value: string }>(text);
  return String(rows[0]?.value);
}
