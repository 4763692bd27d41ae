/**
 * Fills a table with copies of one real record, inside of the server where it can: through the engine a million would take an hour.
 *
 * @module
 */
import { randomBytes } from 'node:crypto';
import { DatabaseSync } from 'node:sqlite';
import { type AttributeValue, BatchWriteItemCommand, DynamoDBClient, GetItemCommand } from '@aws-sdk/client-dynamodb';
import { TableClient } from '@azure/data-tables';
import { Pool } from 'pg';
import { createClient } from 'redis';
import { runOnce } from 'rerunsafe';
import { type Kind, open, type Place } from '../measure/counted-stores.ts';

export interface Filling {
  readonly records: number;
  /** Every so many-th has expired, two hours ago. Default: none. */
  readonly expiredEach?: number;
}

export const OPERATION = 'bench/grow';
/** About 100 bytes of JSON. */
export const VALUE = { charged: true, id: 'ch_3PqX8l2eZvKYlo2C1aBcDeFg', amount: 12_300, currency: 'eur', note: 'x'.repeat(20) };
const TWO_HOURS_MS = 7_200_000;
/** Of a record that has long expired. */
const SHORT_RETENTION_MS = 60_000;

/** Makes the table, the record that is copied, and its copies. */
export async function fill(place: Place, filling: Filling): Promise<void> {
  const { store, close } = await open(place);
  let id = '';
  try {
    await store.setUp?.();
    await runOnce({ store, operation: OPERATION, key: 'the template' }, ({ fence }) => {
      id = fence?.id ?? '';
      return VALUE;
    });
  } finally {
    await close();
  }
  await COPIES[place.kind](place, id, filling);
}

const COPIES: Readonly<Record<Kind, (place: Place, id: string, filling: Filling) => Promise<void>>> = {
  postgres: copyInPostgres,
  sqlite: copyInSqlite,
  redis: copyInRedis,
  dynamodb: copyInDynamodb,
  'azure-tables': copyInTables,
};

async function copyInPostgres({ at, name }: Place, id: string, { records, expiredEach = 0 }: Filling): Promise<void> {
  const pool = new Pool({ connectionString: at, max: 1 });
  try {
    const { rows } = await pool.query<{ name: string }>(
      "SELECT column_name AS name FROM information_schema.columns WHERE table_name = $1 AND column_name <> 'id' ORDER BY ordinal_position",
      [name],
    );
    const old = expiredEach > 0 ? `n % ${expiredEach} = 1` : 'false';
    const values: Readonly<Record<string, string>> = {
      written_at_ms: `CASE WHEN ${old} THEN written_at_ms - ${TWO_HOURS_MS} ELSE written_at_ms END`,
      retention_ms: `CASE WHEN ${old} THEN ${SHORT_RETENTION_MS} ELSE retention_ms END`,
    };
    const columns = rows.map((row) => row.name);
    await pool.query(
      `INSERT INTO "${name}" (id, ${columns.join(', ')})
SELECT 'r1_' || translate(encode(sha256((n || '${name}')::bytea), 'base64'), '+/=', '-_'), ${columns.map((each) => values[each] ?? each).join(', ')}
FROM "${name}", generate_series(1, ${records - 1}) AS n WHERE id = '${id}'`,
    );
    await pool.query(`VACUUM (ANALYZE) "${name}"`);
    await pool.query('CHECKPOINT');
  } finally {
    await pool.end();
  }
}

async function copyInSqlite({ at, name }: Place, id: string, { records, expiredEach = 0 }: Filling): Promise<void> {
  const database = new DatabaseSync(`${at}-${name}`);
  try {
    database.exec('PRAGMA synchronous = OFF; PRAGMA cache_size = -600000; CREATE TEMP TABLE template AS SELECT * FROM rerunsafe');
    const columns = (database.prepare('PRAGMA table_info(rerunsafe)').all() as { name: string }[])
      .map((row) => row.name)
      .filter((each) => each !== 'id');
    const old = expiredEach > 0 ? `n % ${expiredEach} = 1` : '0';
    const values: Readonly<Record<string, string>> = {
      writtenAtMs: `CASE WHEN ${old} THEN writtenAtMs - ${TWO_HOURS_MS} ELSE writtenAtMs END`,
      retentionMs: `CASE WHEN ${old} THEN ${SHORT_RETENTION_MS} ELSE retentionMs END`,
    };
    database
      .prepare(
        `INSERT INTO rerunsafe (id, ${columns.join(', ')})
WITH RECURSIVE series (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM series WHERE n < ?)
SELECT 'r1_' || substr(lower(hex(randomblob(22))), 1, 43), ${columns.map((each) => values[each] ?? each).join(', ')} FROM series, template WHERE id = ?`,
      )
      .run(records - 1, id);
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  } finally {
    database.close();
  }
}

/** A step of the loop: longer ones would hold up the connection's own pings. */
const COPIED_AT_ONCE = 5_000;
const COPY = `local fields = redis.call('HGETALL', KEYS[1])
for n = ARGV[2], ARGV[3] do
  local row = ARGV[1] .. 'r1_' .. redis.sha1hex(n) .. 'abc'
  redis.call('HSET', row, unpack(fields))
  redis.call('PEXPIRE', row, ARGV[4])
end`;

async function copyInRedis({ at, name }: Place, id: string, { records }: Filling): Promise<void> {
  const client = await createClient({ url: at, database: Number(name) }).connect();
  try {
    const [template] = await client.keys(`*${id}`);
    if (template === undefined) throw new Error('the record to copy is not there');
    const lifeMs = String(await client.pTTL(template));
    for (let from = 1; from < records; from += COPIED_AT_ONCE) {
      const to = Math.min(records - 1, from + COPIED_AT_ONCE - 1);
      await client.eval(COPY, { keys: [template], arguments: [template.slice(0, -id.length), String(from), String(to), lifeMs] });
    }
  } finally {
    client.destroy();
  }
}

const strangerId = (): string => `r1_${randomBytes(32).toString('base64url')}`;

/** Calls in so many lanes, until all are made. */
async function inLanes(lanes: number, calls: number, call: () => Promise<unknown>): Promise<void> {
  let left = calls;
  const lane = async (): Promise<void> => {
    while (left-- > 0) await call();
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}

const ITEMS_OF_A_BATCH = 25;

async function copyInDynamodb({ at, name }: Place, id: string, { records }: Filling): Promise<void> {
  const client = new DynamoDBClient({ endpoint: at, region: 'eu-west-1', credentials: { accessKeyId: 'local', secretAccessKey: 'local' } });
  try {
    const { Item } = await client.send(new GetItemCommand({ TableName: name, Key: { id: { S: id } } }));
    const put = () => ({ PutRequest: { Item: { ...(Item as Record<string, AttributeValue>), id: { S: strangerId() } } } });
    const batch = () => client.send(new BatchWriteItemCommand({ RequestItems: { [name]: Array.from({ length: ITEMS_OF_A_BATCH }, put) } }));
    await inLanes(4, Math.ceil((records - 1) / ITEMS_OF_A_BATCH), batch);
  } finally {
    client.destroy();
  }
}

/** As many as the store has by default, named likewise. */
const PARTITIONS = 256;

async function copyInTables({ at, name }: Place, id: string, { records }: Filling): Promise<void> {
  const client = TableClient.fromConnectionString(at, name, { allowInsecureConnection: true });
  let template: Record<string, unknown> | undefined;
  for await (const entity of client.listEntities({ queryOptions: { filter: `RowKey eq '${id}'` } })) template = entity;
  if (template === undefined) throw new Error('the record to copy is not there');
  const { etag: _, timestamp: __, partitionKey: ___, ...rest } = template;
  let n = 0;
  await inLanes(16, records - 1, () => {
    const partitionKey = `rs${(n++ % PARTITIONS).toString(16).padStart(4, '0')}`;
    return client.createEntity({ ...rest, partitionKey, rowKey: strangerId() });
  });
}
