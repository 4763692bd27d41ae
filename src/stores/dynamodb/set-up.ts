/**
 * Making the table: on demand capacity, one string key, clean-up by the service's own TTL. Safe to run again, and by many at once.
 *
 * @module
 */
import type { TableDescription } from '@aws-sdk/client-dynamodb';
import { storeMisconfigured, storeUnavailable } from '../../core/errors.ts';
import type { Connection } from './client.ts';

/** What the table has to be like. */
export interface TableShape {
  readonly partitionKey: string;
  /** Default: none. */
  readonly sortKey?: string;
  /** Epoch seconds, for the service's own clean-up; undefined: none. */
  readonly ttlAttribute: string | undefined;
}

/** A new table takes the service 5 to 20 s. */
const ACTIVE_LIMIT_MS = 120_000;
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 2000;

/**
 * @throws RerunSafeError `STORE_MISCONFIGURED` where a table of that name has another key, or its TTL another attribute; `STORE_UNAVAILABLE` where
 * the table is not active in time.
 */
export async function setUpTable(connection: Connection, tableName: string, layout: TableShape): Promise<void> {
  if ((await describe(connection, tableName)) === undefined) await createTable(connection, tableName, keysOf(layout));
  const table = await untilActive(connection, tableName);
  checkKey(table, tableName, layout);
  if (layout.ttlAttribute !== undefined) await enableTtl(connection, tableName, layout.ttlAttribute);
}

const isNamed = (error: unknown, name: string): boolean => (error as { name?: unknown } | null)?.name === name;

const describe = (connection: Connection, tableName: string): Promise<TableDescription | undefined> =>
  connection.call(undefined, async ({ read }) => {
    try {
      return (await read((sdk) => new sdk.DescribeTableCommand({ TableName: tableName }))).Table;
    } catch (error) {
      if (isNamed(error, 'ResourceNotFoundException')) return undefined;
      throw error;
    }
  });

const keysOf = ({ partitionKey, sortKey }: TableShape): string[] => (sortKey === undefined ? [partitionKey] : [partitionKey, sortKey]);

const createTable = (connection: Connection, tableName: string, keys: readonly string[]): Promise<void> =>
  connection.call(undefined, async ({ read }) => {
    try {
      await read(
        (sdk) =>
          new sdk.CreateTableCommand({
            TableName: tableName,
            BillingMode: 'PAY_PER_REQUEST',
            AttributeDefinitions: keys.map((name) => ({ AttributeName: name, AttributeType: 'S' })),
            KeySchema: keys.map((name, n) => ({ AttributeName: name, KeyType: n === 0 ? 'HASH' : 'RANGE' })),
          }),
      );
    } catch (error) {
      // Somebody else, or an earlier try of our own, made it first.
      if (!isNamed(error, 'ResourceInUseException')) throw error;
    }
  });

async function untilActive(connection: Connection, tableName: string): Promise<TableDescription> {
  const endsAtMs = performance.now() + ACTIVE_LIMIT_MS;
  for (let pauseMs = FIRST_PAUSE_MS; performance.now() < endsAtMs; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
    const table = await describe(connection, tableName);
    if (table?.TableStatus === 'ACTIVE' || table?.TableStatus === 'UPDATING') return table;
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
  throw storeUnavailable(`DynamoDB table ${tableName} was not active after ${ACTIVE_LIMIT_MS} ms`, undefined);
}

function checkKey({ KeySchema = [], AttributeDefinitions = [] }: TableDescription, tableName: string, shape: TableShape): void {
  const typeOf = (name: string | undefined) => AttributeDefinitions.find((attribute) => attribute.AttributeName === name)?.AttributeType;
  const found = KeySchema.map(({ AttributeName, KeyType }) => `${AttributeName} (${KeyType})`).join(', ');
  const keys = keysOf(shape);
  const named = (name: string, n: number): boolean => KeySchema[n]?.AttributeName === name && typeOf(name) === 'S';
  if (KeySchema.length === keys.length && keys.every(named)) return;
  const { partitionKey, sortKey } = shape;
  const needed = `the partition key "${partitionKey}" (a string) and ${sortKey === undefined ? 'no sort key' : `the sort key "${sortKey}" (a string)`}`;
  const otherwise = sortKey === undefined ? ', or the option partitionKey' : '';
  throw storeMisconfigured(`DynamoDB table ${tableName} has the key ${found}; needed is ${needed}. Use another table${otherwise}.`);
}

async function enableTtl(connection: Connection, tableName: string, attribute: string): Promise<void> {
  if (await hasTtl(connection, tableName, attribute)) return;
  try {
    await connection.call(undefined, ({ read }) =>
      read((sdk) => new sdk.UpdateTimeToLiveCommand({ TableName: tableName, TimeToLiveSpecification: { AttributeName: attribute, Enabled: true } })),
    );
  } catch (error) {
    const cause = (error as Error).cause;
    // An emulator without TTL: the records stay until purge removes them.
    if (isNamed(cause, 'UnknownOperationException')) return;
    // The service refuses the second of two that enable it at once.
    if (!(await hasTtl(connection, tableName, attribute))) throw error;
  }
}

const hasTtl = (connection: Connection, tableName: string, attribute: string): Promise<boolean> =>
  connection.call(undefined, async ({ read }) => {
    const { TimeToLiveDescription: ttl } = await read((sdk) => new sdk.DescribeTimeToLiveCommand({ TableName: tableName }));
    const isOn = ttl?.TimeToLiveStatus === 'ENABLED' || ttl?.TimeToLiveStatus === 'ENABLING';
    if (isOn && ttl?.AttributeName !== attribute) {
      throw storeMisconfigured(
        `DynamoDB table ${tableName} has its TTL on the attribute "${ttl?.AttributeName}", not on "${attribute}". Use another table, or the option ttlAttribute.`,
      );
    }
    return isOn;
  });
