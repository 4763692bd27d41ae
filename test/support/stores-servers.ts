/**
 * PostgreSQL and Redis, as their users reach them, and through a proxy that can spoil requests.
 *
 * @module
 */
import pg from 'pg';
import type { RecordStore } from '../../src/core/ports.ts';
import { postgresStore } from '../../src/stores/postgres/index.ts';
import { DEFAULT_TABLE_NAME, qualified } from '../../src/stores/postgres/names.ts';
import { statementNames } from '../../src/stores/postgres/statement-names.ts';
import { sqlFor } from '../../src/stores/postgres/table.ts';
import { redisStore } from '../../src/stores/redis/index.ts';
import { postgresAvailable, startPostgres } from './postgres.ts';
import { runningRecord } from './promises-case.ts';
import { redisAvailable, startRedis } from './redis.ts';
import { type ClientKind, lateClient, type OpenClient, openClient, send } from './redis-clients.ts';
import { concerns, freshName, type StoreSubject, type SubjectKind, type Wire, type WireOperation } from './subject.ts';
import { postgresFraming, redisFraming, startTcpFaultProxy } from './tcp-proxy.ts';

const postgres: SubjectKind = {
  name: 'PostgreSQL',
  uncertaintyMs: 0,
  returnsStanding: true,
  remote: true,
  // The driver never tries again by itself.
  wireClients: ['a client of our own', 'a client with the defaults of the SDK'],
  start: startPostgresSubject,
};

/** Under `CI=true` a missing server is a failure, elsewhere it is said in a line. */
export const postgreses = async (): Promise<readonly SubjectKind[]> => ((await postgresAvailable()) ? [postgres] : []);

const redis: SubjectKind = {
  name: 'Redis',
  uncertaintyMs: 0,
  returnsStanding: true,
  remote: true,
  wireClients: ['a client with the defaults of the SDK', 'a client that never tries again'],
  start: startRedisSubject,
};

export const redises = async (): Promise<readonly SubjectKind[]> => (redisAvailable() ? [redis] : []);

async function startPostgresSubject(): Promise<StoreSubject> {
  const server = await startPostgres();
  const database = await server.database();
  const { port } = new URL(database.url);
  const proxy = await startTcpFaultProxy(Number(port), postgresFraming);
  const proxied = database.url.replace(`:${port}`, `:${proxy.port}`);
  // As large as the limit of the other stores, so that a value can be too large for all of them.
  const maxRecordBytes = 1_048_576;
  const store = postgresStore({ pool: database.pool(), maxRecordBytes });
  await store.setUp();
  const wire: Wire = {
    proxy,
    open(client) {
      if (client === 'a client of our own') return postgresStore({ connectionString: proxied });
      const pool = new pg.Pool({ connectionString: proxied });
      pool.on('error', () => {});
      return { ...postgresStore({ pool }), close: () => pool.end() };
    },
    is: (operation, id) => (request) => isStatement(operation, request.body) && concerns(request, id),
  };
  return {
    store,
    proxy,
    wire,
    missingTable: () => postgresStore({ pool: database.pool(), tableName: freshName() }),
    nowhere: () => postgresStore({ connectionString: 'postgres://postgres@127.0.0.1:1/postgres' }),
    async stop() {
      await proxy.stop();
      await database.drop();
      await server.stop();
    },
  };
}

const POSTGRES_STATEMENTS: Readonly<Record<WireOperation, string>> = {
  create: 'INSERT INTO',
  replace: 'UPDATE',
  delete: 'DELETE FROM',
  read: '(SELECT 1) AS one',
};

/** By its text, or by its name where the server has it prepared. */
const isStatement = (operation: WireOperation, body: Buffer): boolean =>
  body.includes(POSTGRES_STATEMENTS[operation]) || body.includes(POSTGRES_NAMES[operation] as string);

const sql = sqlFor(qualified(DEFAULT_TABLE_NAME, undefined));
const names = statementNames();
const POSTGRES_NAMES: Readonly<Record<WireOperation, string | undefined>> = {
  create: names.of(sql.create),
  replace: names.of(sql.replace),
  delete: names.of(sql.remove),
  read: names.of(sql.find),
};

/** A script that the server does not know yet costs one request more, once. */
async function loadScripts(store: RecordStore): Promise<void> {
  const record = runningRecord(store);
  const created = await store.create(record.owner, record);
  if (!created.ok) throw new Error('there is a record already');
  const replaced = await store.replace(record.owner, { ...record, revision: `${record.revision}.` }, created.version);
  if (replaced.ok) await store.delete(record.owner, replaced.version);
  await store.read(record.owner);
}

async function startRedisSubject(): Promise<StoreSubject> {
  const server = await startRedis();
  const proxy = await startTcpFaultProxy(server.port, redisFraming);
  const direct = await openClient('redis', server.url);
  // What is refused here is a promise of the store, not of the core: the cases show what the core does with a record that stands.
  const options = { client: direct.client, acceptFailoverLoss: true };
  const store = redisStore(options);
  await loadScripts(store);
  // Whoever may do nothing at all: there are no tables that could be missing.
  await send(direct, 'ACL', 'SETUSER', 'stranger', 'on', 'nopass', '-@all', '+hello', '+client', '+info');
  const open: OpenClient[] = [direct];
  const another = (kind: ClientKind, url: string): OpenClient => {
    const opened = lateClient(kind, url);
    open.push(opened);
    return opened;
  };
  const wire: Wire = {
    proxy,
    open(client) {
      // Of the two, ioredis sends again what was not answered.
      const opened = another(client === 'a client that never tries again' ? 'redis' : 'ioredis', `redis://127.0.0.1:${proxy.port}`);
      return { ...redisStore({ ...options, client: opened.client }), close: async () => opened.close() };
    },
    is: (operation, id) => (request) => request.body.includes(`\r\n${operation}\r\n`) && concerns(request, id),
  };
  return {
    store,
    proxy,
    wire,
    missingTable: () => redisStore({ ...options, client: another('redis', server.url.replace('//', '//stranger:any@')).client }),
    nowhere: () => redisStore({ ...options, client: another('ioredis', 'redis://127.0.0.1:1').client, requestTimeoutMs: 500 }),
    async stop() {
      for (const opened of open) opened.close();
      await proxy.stop();
      await server.stop();
    },
  };
}
