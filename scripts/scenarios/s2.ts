/**
 * S2: a nightly load is run again by hand.
 *
 * @module
 */
import type { Pool } from 'pg';
import type { Expect } from '../support/report.ts';
import { poolAt } from './place.ts';
import { type Scenario, WITHOUT } from './scenario.ts';
import type { Stage } from './stage.ts';
import { logged, reaches, seen, until } from './watch.ts';

const WORKER = 's2-worker.ts';
const ROWS = 1_000;

export const s2: Scenario = {
  id: 'S2',
  title: 'A nightly load is run again by hand',
  parts: [
    { on: WITHOUT, shows: `INSERT … SELECT of ${ROWS} rows, on PostgreSQL`, play: without },
    { on: 'PostgreSQL', shows: 'loadStaging, INSERT … ON CONFLICT', play: (expect, stage) => guarded(expect, stage, 'on conflict') },
    { on: 'PostgreSQL', shows: 'loadStaging, MERGE', play: (expect, stage) => guarded(expect, stage, 'merge') },
  ],
};

async function tables(stage: Stage) {
  const place = await stage.place('postgres');
  const pool = await poolAt(place, 1);
  stage.defer(() => pool.end());
  await pool.query(`
    CREATE TABLE sales_staging (day date, shop int, total numeric);
    CREATE TABLE sales_plain (day date, shop int, total numeric);
    CREATE TABLE sales (day date, shop int, total numeric, fence bigint, PRIMARY KEY (day, shop));
    INSERT INTO sales_staging SELECT '2026-03-01', shop, shop FROM generate_series(1, ${ROWS}) AS shop`);
  return { place, pool };
}

const held = async (pool: Pool, table: string): Promise<[rows: number, total: number]> => {
  const [found] = (await pool.query(`SELECT count(*)::int AS rows, coalesce(sum(total), 0)::int AS total FROM ${table}`)).rows;
  return [found.rows, found.total];
};
const TOTAL = (ROWS * (ROWS + 1)) / 2;

async function without(expect: Expect, stage: Stage): Promise<void> {
  const { place, pool } = await tables(stage);
  const worker = await stage.process(WORKER, place);
  await worker.call('insertSelect');
  await worker.call('insertSelect');
  expect('run twice: rows, total', await held(pool, 'sales_plain'), [2 * ROWS, 2 * TOTAL]);
}

async function guarded(expect: Expect, stage: Stage, mode: 'on conflict' | 'merge'): Promise<void> {
  const { place, pool } = await tables(stage);
  const [victim, one, two] = await Promise.all([stage.process(WORKER, place), stage.process(WORKER, place), stage.process(WORKER, place)]);
  const records = async () =>
    (await pool.query<{ state: string }>("SELECT state FROM rerunsafe WHERE operation = 'load/sales' ORDER BY 1")).rows.map(({ state }) => state);

  const lost = seen(victim, 'load', { night: '2026-03-01', mode, waits: true });
  await reaches(lost, logged(victim, 'loaded'));
  await victim.kill();
  expect('killed when all is written, before the commit', await lost, 'no answer');
  expect('rows, total', await held(pool, 'sales'), [0, 0]);
  const first = await one.call<{ written: number }>('load', { night: '2026-03-01', mode });
  expect('run by hand: rows written', first.written, ROWS);
  expect('run by hand again: the same answer', await two.call('load', { night: '2026-03-01', mode }), first);
  expect('rows, total', await held(pool, 'sales'), [ROWS, TOTAL]);
  expect('the runs on record: one for the night', await records(), ['completed']);

  const [old, next] = [await until<number>(one, 'hold', { leaseMs: 2_000 }, []), await until<number>(two, 'hold', { leaseMs: 60_000 }, ['held'])];
  expect('a second loader under the lease has a larger token', Number(next) > Number(old), true);
  await pool.query('UPDATE sales_staging SET total = total + 1 WHERE shop <= 3');
  const again = await two.call<{ written: number; unchanged: number }>('loadUnderLease', { mode });
  expect('no record asked, 3 corrected rows: written, unchanged', [again.written, again.unchanged], [3, ROWS - 3]);
  expect('rows, total', await held(pool, 'sales'), [ROWS, TOTAL + 3]);
  await two.call('loadFenced', { mode });
  await pool.query('UPDATE sales_staging SET total = 0');
  expect('the first loader writes on, the lease is asked', await seen(one, 'loadUnderLease', { mode }), 'STALE_TOKEN');
  expect('the first loader writes on, each row is asked', await seen(one, 'loadFenced', { mode }), 'STALE_TOKEN');
  expect('rows, total', await held(pool, 'sales'), [ROWS, TOTAL + 3]);
}
