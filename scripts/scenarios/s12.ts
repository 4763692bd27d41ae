/**
 * S12: serverless functions exhaust the connections of PostgreSQL.
 *
 * @module
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Pool, PoolClient } from 'pg';
import { pgbouncerAvailable, startPgbouncer } from '../../test/support/pgbouncer.ts';
import type { Expect } from '../support/report.ts';
import { type At, poolAt } from './place.ts';
import { type Scenario, WITHOUT } from './scenario.ts';
import type { Stage } from './stage.ts';

interface Ran {
  readonly ran: number;
  readonly done: number;
  readonly slowestMs: number;
}
interface Told {
  readonly code: string;
  readonly retryable?: boolean;
  readonly says?: string;
}

const WORKER = 's12-worker.ts';
/** Three of them are the administrators'. */
const MAX_CONNECTIONS = 20;
/** And one is that of who watches. */
const FREE_CONNECTIONS = MAX_CONNECTIONS - 4;

export const s12: Scenario = {
  id: 'S12',
  title: 'Serverless functions exhaust the connections of PostgreSQL',
  parts: [
    { on: WITHOUT, shows: `100 functions, a connection each, a server of ${MAX_CONNECTIONS}`, play: inTurn(without) },
    { on: 'PostgreSQL', shows: `500 guarded functions on a pool of 10, a server of ${MAX_CONNECTIONS}; a full server`, play: inTurn(direct) },
    { on: 'PostgreSQL', shows: 'the pools of 40 instances through PgBouncer in transaction mode', play: inTurn(pooled) },
  ],
};

let turn: Promise<unknown> = Promise.resolve();

/** One part at a time: they would fill the server for each other. */
function inTurn(play: (expect: Expect, stage: Stage) => Promise<void>) {
  return (expect: Expect, stage: Stage): Promise<void> => {
    const mine = turn.then(() => play(expect, stage));
    turn = mine.catch(() => {});
    return mine;
  };
}

/** Functions are not administrators, who have connections of their own. */
async function smallServer(stage: Stage, user = 'app'): Promise<{ place: At<'postgres'>; admin: Pool }> {
  const database = await (await stage.servers.smallPostgres()).database();
  const admin = await poolAt(database, 1);
  stage.defer(() => admin.end());
  await admin.query(`DO $$ BEGIN CREATE ROLE app LOGIN; EXCEPTION WHEN duplicate_object THEN END $$; ALTER DATABASE ${database.name} OWNER TO app`);
  const url = new URL(database.url);
  url.username = user;
  return { place: { kind: 'postgres', url: url.href }, admin };
}

async function without(expect: Expect, stage: Stage): Promise<void> {
  const { place } = await smallServer(stage);
  const worker = await stage.process(WORKER, place);
  const { refused, says } = await worker.call<{ refused: number; says: string }>('each', { functions: 100 });
  expect(`functions that the server turned away: ${refused}`, refused > 0, true);
  expect('what they are told', /connection slots|too many clients/.test(says) ? 'the server is full' : says, 'the server is full');
}

async function direct(expect: Expect, stage: Stage): Promise<void> {
  const { place, admin } = await smallServer(stage);
  await setUp(place);
  const worker = await stage.process(WORKER, place);
  await many(expect, admin, 10, () => worker.call<Ran>('guarded', { instances: 1, connections: 10, functions: 500, keys: 100 }));

  const crowd = await poolAt(place, MAX_CONNECTIONS);
  const clients: PoolClient[] = [];
  // The server takes a moment to forget connections that have ended, and turns newcomers away until then.
  for (const endsAtMs = performance.now() + 30_000; clients.length < FREE_CONNECTIONS && performance.now() < endsAtMs; ) {
    await crowd.connect().then(
      (client) => clients.push(client),
      () => pause(20),
    );
  }
  const another = await crowd.connect().then(
    (client) => client.release(true),
    (error: Error) => error.message,
  );
  expect('others have all connections that are to be had', clients.length, FREE_CONNECTIONS);
  expect('one more', /connection slots|too many clients/.test(String(another)) ? 'turned away' : another, 'turned away');
  const startedMs = performance.now();
  const told = await worker.call<Told>('once', { key: 'order-1' });
  const tookMs = performance.now() - startedMs;
  expect('a guarded function is told, to be tried again', [told.code, told.retryable], ['STORE_UNAVAILABLE', true]);
  expect('and why', told.says?.includes('the server or the pool is full'), true);
  expect('within 10 s', tookMs < 10_000, true);
  for (const client of clients) client.release(true);
  await crowd.end();
  let later = told;
  for (const endsAtMs = performance.now() + 30_000; later.code === 'STORE_UNAVAILABLE' && performance.now() < endsAtMs; await pause(50)) {
    later = await worker.call<Told>('once', { key: 'order-1' });
  }
  expect('when there is room again, the same call', later.code, 'done');
}

async function pooled(expect: Expect, stage: Stage): Promise<void> {
  if (!pgbouncerAvailable()) return expect('there is no pgbouncer on the path: left out', 'left out', 'left out');
  const { place, admin } = await smallServer(stage, 'postgres');
  await setUp(place);
  const pgbouncer = await startPgbouncer({ targetPort: Number(new URL(place.url).port), poolSize: 5 });
  stage.defer(() => pgbouncer.stop());
  const worker = await stage.process(WORKER, { ...place, url: pgbouncer.through(place.url) });
  // 80 connections to the pooler.
  await many(expect, admin, 5, () => worker.call<Ran>('guarded', { instances: 40, connections: 2, functions: 500, keys: 100 }));
}

async function setUp(place: At<'postgres'>): Promise<void> {
  const { postgresStore } = await import('../../src/stores/postgres/index.ts');
  const pool = await poolAt(place, 1);
  await postgresStore({ pool }).setUp();
  await pool.end();
}

const CONNECTIONS = `SELECT count(*)::int AS all FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()`;

async function many(expect: Expect, admin: Pool, limit: number, call: () => Promise<Ran>): Promise<void> {
  let most = 0;
  let over = false;
  const watching = (async () => {
    for (; !over; await pause(10)) most = Math.max(most, (await admin.query<{ all: number }>(CONNECTIONS)).rows[0]?.all ?? 0);
  })();
  const startedMs = performance.now();
  const { ran, done, slowestMs } = await call();
  const tookMs = Math.round(performance.now() - startedMs);
  over = true;
  await watching;
  expect('500 functions at once with 100 keys: the right answer', done, 500);
  expect('runs', ran, 100);
  expect(`connections to the server, at most ${most}: within ${limit}`, most > 0 && most <= limit, true);
  expect(`all in ${tookMs} ms, the slowest ${slowestMs} ms: none without end`, slowestMs < 60_000, true);
}
