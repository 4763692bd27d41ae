/**
 * DynamoDB Local behind a proxy, leases in a table of the store, and a table of the caller's.
 *
 * @module
 */
import type { DynamoDBClient, TransactWriteItem, TransactWriteItemsCommandOutput } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, beforeEach } from 'vitest';
import type { Fence, LeaseProvider, RecordStore } from '../../../src/core/ports.ts';
import { type Lease, storeLeases, tryAcquire } from '../../../src/index.ts';
import { fencedTransaction } from '../../../src/stores/dynamodb/index.ts';
import { type Emulator, startDynamoDbLocal } from '../../support/dynamodb.ts';
import { type FaultProxy, startFaultProxy } from '../../support/proxy.ts';
import { freshId, freshStore, plainTable, rawItem } from './dynamodb-subject.ts';

export const LONG_MS = 60_000;

export const stale = ({ id, token }: Fence, storedToken: number | undefined) => ({
  code: 'STALE_TOKEN',
  retryable: false,
  facts: { id, token, storedToken },
});
export const isTransaction = ({ headers }: { headers: Readonly<Record<string, unknown>> }): boolean =>
  String(headers['x-amz-target']).endsWith('.TransactWriteItems');
/** The answer of the service, which DynamoDB Local does not give for a conflict. */
export const cancelled = (...codes: string[]) => ({
  status: 400,
  headers: { 'content-type': 'application/x-amz-json-1.0' },
  body: JSON.stringify({
    __type: 'com.amazonaws.dynamodb.v20120810#TransactionCanceledException',
    message: 'Transaction cancelled',
    CancellationReasons: codes.map((Code) => ({ Code })),
  }),
});
export const onlyNew = { ConditionExpression: 'attribute_not_exists(id)' };

export interface FencedStage {
  readonly emulator: Emulator;
  readonly proxy: FaultProxy;
  /** Through the proxy; new for each test, since a client that has seen too many failures stops trying again. */
  readonly client: DynamoDBClient;
  /** These go past it. */
  readonly plain: DynamoDBClient;
  readonly store: RecordStore;
  readonly leases: LeaseProvider;
  /** Of the store. */
  readonly tableName: string;
  /** Of the caller. */
  readonly TableName: string;
  /** Of the lease, new for each test. */
  readonly name: string;
  idOf(row: string): string;
  put(row: string, total: number, more?: object): TransactWriteItem;
  total(row: string): Promise<number | undefined>;
  write(fence: Fence, items: TransactWriteItem[], options?: object): Promise<TransactWriteItemsCommandOutput>;
  taken(leaseMs?: number): Promise<Lease>;
  takenOver(): Promise<Lease>;
}

export function fencedStage(): FencedStage {
  const stage = {
    idOf: (row: string) => `${stage.name}-${row}`,
    put: (row: string, total: number, more: object = {}) => ({
      Put: { TableName: stage.TableName, Item: { id: { S: stage.idOf(row) }, total: { N: String(total) } }, ...more },
    }),
    async total(row: string) {
      const found = (await rawItem(stage.plain, stage.TableName, stage.idOf(row)))?.total?.N;
      return found === undefined ? undefined : Number(found);
    },
    write: (fence: Fence, items: TransactWriteItem[], options: object = {}) =>
      fencedTransaction(stage.client, fence, items, { tableName: stage.tableName, ...options }),
    async taken(leaseMs = LONG_MS) {
      const got = await tryAcquire(stage.leases, stage.name, { leaseMs, renew: 'none' });
      if (got.kind !== 'acquired') throw new Error(`the lease is ${got.kind}`);
      return got.lease;
    },
    async takenOver() {
      await stage.leases.break(stage.name);
      return stage.taken();
    },
  } as unknown as { -readonly [K in keyof FencedStage]: FencedStage[K] };
  beforeAll(async () => {
    stage.emulator = await startDynamoDbLocal();
    stage.proxy = await startFaultProxy({ targetPort: Number(new URL(stage.emulator.endpoint).port) });
    stage.plain = stage.emulator.client();
    Object.assign(stage, await freshStore(stage.emulator));
    stage.leases = storeLeases(stage.store);
    stage.TableName = await plainTable(stage.plain);
  });
  afterAll(async () => {
    await stage.proxy?.stop();
    await stage.emulator?.stop();
  });
  beforeEach(() => {
    stage.proxy.clear();
    stage.client = stage.emulator.client({ endpoint: stage.proxy.url });
    stage.name = `nightly-${freshId()}`;
  });
  return stage;
}
