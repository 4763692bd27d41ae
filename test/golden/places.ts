/**
 * Real stores, and their rows as the database itself has them.
 *
 * @module
 */
import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import { type AttributeValue, PutItemCommand, ScanCommand } from '@aws-sdk/client-dynamodb';
import { TableClient, type TableEntity } from '@azure/data-tables';
import type { RecordStore } from '../../src/core/ports.ts';
import { tableStore } from '../../src/stores/azure-tables/index.ts';
import { dynamodbStore } from '../../src/stores/dynamodb/index.ts';
import { postgresStore } from '../../src/stores/postgres/index.ts';
import { redisStore } from '../../src/stores/redis/index.ts';
import { sqliteStore } from '../../src/stores/sqlite/index.ts';
import { startAzurite } from '../support/azurite.ts';
import { javaAvailable, startDynamoDbLocal } from '../support/dynamodb.ts';
import { postgresAvailable, startPostgres } from '../support/postgres.ts';
import { redisAvailable, startRedis } from '../support/redis.ts';
import { openClient, send } from '../support/redis-clients.ts';
import { databaseFolder } from '../support/sqlite-file.ts';
import { freshName } from '../support/subject.ts';

/** As the driver has it: strings, numbers, bytes, and what is nested. */
export type RawRow = Readonly<Record<string, unknown>>;

/** An empty table. */
export interface Place {
  readonly store: RecordStore;
  /** Where the database stamps its rows by itself: the same table, and rows that are a day old. */
  readonly later?: RecordStore;
  /** The same table, by the store of another version of this package. */
  open?(
    by: Pick<typeof import('../../src/stores/sqlite/index.ts'), 'sqliteStore'> &
      Pick<typeof import('../../src/stores/dynamodb/index.ts'), 'dynamodbStore'>,
  ): RecordStore;
  dump(): Promise<RawRow[]>;
  put(row: RawRow): Promise<unknown>;
  /** For a column that this version does not know. */
  addColumn?(name: string): Promise<unknown>;
}

export interface Server {
  place(): Promise<Place>;
  stop(): Promise<void>;
}

export interface PlaceKind {
  readonly name: string;
  /** What the column of this name is called there. */
  column(name: string): string;
  /** A value for a column of its own. */
  readonly odd: unknown;
  start(): Promise<Server>;
}

const same = (name: string): string => name;
const DAY_MS = 86_400_000;

const sqlite: PlaceKind = {
  name: 'sqlite',
  column: same,
  odd: 'from a later version',
  async start() {
    const { path, remove } = await databaseFolder();
    return {
      async place() {
        const tableName = freshName();
        const store = sqliteStore({ path, tableName });
        await store.setUp();
        const on = <R>(use: (database: DatabaseSync) => R): R => {
          const database = new DatabaseSync(path);
          try {
            return use(database);
          } finally {
            database.close();
          }
        };
        return {
          store,
          open: (by) => by.sqliteStore({ path, tableName }),
          dump: async () => on((database) => database.prepare(`SELECT * FROM ${tableName}`).all()),
          put: async (row) =>
            on((database) =>
              database
                .prepare(`INSERT OR REPLACE INTO ${tableName} (${Object.keys(row)}) VALUES (${Object.keys(row).map(() => '?')})`)
                .run(...(Object.values(row) as SQLInputValue[])),
            ),
          addColumn: async (name) => on((database) => database.exec(`ALTER TABLE ${tableName} ADD COLUMN ${name} TEXT`)),
        };
      },
      stop: remove,
    };
  },
};

const postgres: PlaceKind = {
  name: 'postgres',
  column: (name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
  odd: 'from a later version',
  async start() {
    const server = await startPostgres();
    const database = await server.database();
    const pool = database.pool();
    return {
      async place() {
        const tableName = freshName();
        const store = postgresStore({ pool, tableName });
        await store.setUp();
        return {
          store,
          dump: async () => (await pool.query(`SELECT * FROM ${tableName}`)).rows as RawRow[],
          async put(row) {
            const names = Object.keys(row);
            const changes = names.map((name) => `${name} = excluded.${name}`);
            const places = names.map((_, n) => `$${n + 1}`);
            await pool.query(`INSERT INTO ${tableName} (${names}) VALUES (${places}) ON CONFLICT (id) DO UPDATE SET ${changes}`, Object.values(row));
          },
          addColumn: (name) => pool.query(`ALTER TABLE ${tableName} ADD COLUMN ${name} text`),
        };
      },
      async stop() {
        await database.drop();
        await server.stop();
      },
    };
  },
};

const redis: PlaceKind = {
  name: 'redis',
  column: same,
  odd: 'from a later version',
  async start() {
    const server = await startRedis();
    const opened = await openClient('ioredis', server.url);
    return {
      async place() {
        const prefix = `${freshName()}:`;
        return {
          store: redisStore({ client: opened.client, prefix, acceptFailoverLoss: true }),
          async dump() {
            const keys = (await send(opened, 'KEYS', `${prefix}*`)) as string[];
            return Promise.all(
              keys.map(async (key) => {
                const flat = (await send(opened, 'HGETALL', key)) as string[];
                const fields = Object.fromEntries(
                  Array.from({ length: flat.length / 2 }, (_, n) => [flat[2 * n] as string, flat[2 * n + 1] as string]),
                );
                const endsAtMs = Number(await send(opened, 'PEXPIRETIME', key));
                return { key: key.slice(prefix.length), fields, endsAfterMs: endsAtMs < 0 ? null : endsAtMs - Number(fields.writtenAtMs) };
              }),
            );
          },
          async put({ key, fields, endsAfterMs, ...odd }) {
            const all = { ...(fields as Record<string, string>), ...(odd as Record<string, string>) };
            await send(opened, 'HSET', `${prefix}${key}`, ...Object.entries(all).flat());
            if (endsAfterMs === null) return;
            // The server must not remove it before anybody has looked.
            const endsAtMs = Math.max(Number(all.writtenAtMs) + Number(endsAfterMs), Date.now() + DAY_MS);
            await send(opened, 'PEXPIREAT', `${prefix}${key}`, String(endsAtMs));
          },
        };
      },
      async stop() {
        opened.close();
        await server.stop();
      },
    };
  },
};

const dynamodb: PlaceKind = {
  name: 'dynamodb',
  column: same,
  odd: { M: { a: { S: 'from a later version' } } },
  async start() {
    const emulator = await startDynamoDbLocal();
    const client = emulator.client();
    return {
      async place() {
        const TableName = freshName();
        // The emulator's own clean-up must not remove a row before anybody has looked.
        await dynamodbStore({ client, tableName: TableName, ttlAttribute: false }).setUp();
        return {
          store: dynamodbStore({ client, tableName: TableName }),
          open: (by) => by.dynamodbStore({ client, tableName: TableName }),
          dump: async () => (await client.send(new ScanCommand({ TableName }))).Items as RawRow[],
          put: (row) => client.send(new PutItemCommand({ TableName, Item: row as Record<string, AttributeValue> })),
        };
      },
      stop: () => emulator.stop(),
    };
  },
};

const azureTables: PlaceKind = {
  name: 'azure-tables',
  column: same,
  odd: 'from a later version',
  async start() {
    const azurite = await startAzurite({ services: ['table'] });
    return {
      async place() {
        const tableName = freshName();
        const open = (): TableClient => TableClient.fromConnectionString(azurite.connectionString, tableName, { allowInsecureConnection: true });
        const client = open();
        const store = tableStore({ client });
        await store.setUp();
        const later = tableStore({ client: aDayLater(open()) });
        // By the date of the first answer it knows the day.
        await later.read('nothing');
        return {
          store,
          later,
          async dump() {
            const rows: RawRow[] = [];
            for await (const entity of client.listEntities({ disableTypeConversion: true })) {
              const { etag: _, timestamp: __, 'odata.metadata': ___, ...row } = entity as RawRow;
              rows.push(Object.fromEntries(Object.entries(row).map(([name, value]) => [name, asBytes(value)])));
            }
            return rows;
          },
          put: (row) => client.upsertEntity(row as TableEntity, 'Replace'),
        };
      },
      stop: () => azurite.stop(),
    };
  },
};

function asBytes(value: unknown): unknown {
  const { type, value: text } = value as { type?: string; value?: string };
  return type === 'Binary' ? Buffer.from(text as string, 'base64') : value;
}

/** Rows are stamped by the service, and are as old as the date of an answer says. */
function aDayLater(client: TableClient): TableClient {
  client.pipeline.addPolicy(
    {
      name: 'a day later',
      async sendRequest(request, send_) {
        const response = await send_(request);
        const date = Date.parse(response.headers.get('date') ?? '');
        response.headers.set('date', new Date(date + DAY_MS).toUTCString());
        return response;
      },
    },
    { afterPhase: 'Sign' },
  );
  return client;
}

export async function placeKinds(): Promise<readonly PlaceKind[]> {
  return [
    sqlite,
    ...(redisAvailable() ? [redis] : []),
    ...((await postgresAvailable()) ? [postgres] : []),
    ...((await javaAvailable()) ? [dynamodb] : []),
    azureTables,
  ];
}
