import { randomUUID } from 'node:crypto';
import { CreateTableCommand, type DynamoDBClient, GetItemCommand } from '@aws-sdk/client-dynamodb';
import type { Conflict, RecordStore, WriteResult, Written } from '../../../src/core/ports.ts';
import { type DynamodbStoreOptions, dynamodbStore } from '../../../src/stores/dynamodb/index.ts';
import { sample as record } from '../../../src/testing/record-store/subject.ts';
import { type Emulator, javaAvailable, startDynalite, startDynamoDbLocal } from '../../support/dynamodb.ts';

export { record };

export const EMULATORS: readonly { readonly name: string; readonly returnsOld: boolean; start(): Promise<Emulator> }[] = [
  ...((await javaAvailable()) ? [{ name: 'DynamoDB Local', returnsOld: true, start: startDynamoDbLocal }] : []),
  { name: 'dynalite', returnsOld: false, start: startDynalite },
];

export const freshId = (): string => randomUUID();

export async function freshStore(emulator: Emulator, options: DynamodbStoreOptions = {}): Promise<{ store: RecordStore; tableName: string }> {
  const tableName = `t-${randomUUID()}`;
  const store = dynamodbStore({ client: emulator.client(), tableName, ...options });
  await store.setUp?.();
  return { store, tableName };
}

/** A table as users have them: nothing of ours in it. */
export async function plainTable(client: DynamoDBClient, rangeKey?: string): Promise<string> {
  const TableName = `t-${randomUUID()}`;
  await client.send(
    new CreateTableCommand({
      TableName,
      BillingMode: 'PAY_PER_REQUEST',
      AttributeDefinitions: [
        { AttributeName: 'id', AttributeType: 'S' },
        ...(rangeKey === undefined ? [] : [{ AttributeName: rangeKey, AttributeType: 'S' as const }]),
      ],
      KeySchema: [
        { AttributeName: 'id', KeyType: 'HASH' },
        ...(rangeKey === undefined ? [] : [{ AttributeName: rangeKey, KeyType: 'RANGE' as const }]),
      ],
    }),
  );
  return TableName;
}

export const rawItem = async (client: DynamoDBClient, TableName: string, id: string) =>
  (await client.send(new GetItemCommand({ TableName, Key: { id: { S: id } }, ConsistentRead: true }))).Item;

export function written(result: WriteResult): Written {
  if (!result.ok) throw new Error(`expected the write to be taken, got ${JSON.stringify(result)}`);
  return result;
}

export function conflict(result: WriteResult): Conflict {
  if (result.ok || result.reason !== 'conflict') throw new Error(`expected a conflict, got ${JSON.stringify(result)}`);
  return result;
}

export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}
