/**
 * Powertools and this package beside each other, over one emulator, through a proxy that can spoil requests.
 *
 * @module
 */
import { randomUUID } from 'node:crypto';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { type RecordStore, type RunOnceOptions, runOnce } from '../../src/index.ts';
import { dynamodbStore } from '../../src/stores/dynamodb/index.ts';
import { byPowertools, powertoolsLayer, powertoolsTable, startDynamoDb, type Wrapped } from './powertools.ts';
import { type FaultProxy, type ProxiedRequest, startFaultProxy } from './proxy.ts';

export interface SideBySide {
  readonly proxy: FaultProxy;
  readonly client: DynamoDBClient;
  readonly store: RecordStore;
  /** Powertools' own. */
  readonly table: string;
  /** By how much the clock of `store` is ahead. */
  aheadMs: number;
  layer(): ReturnType<typeof powertoolsLayer>;
  theirs<P, T>(work: (payload: P) => T | Promise<T>, wrapped?: Wrapped): (payload: P, leftMs?: number) => Promise<T>;
  ours<T>(key: string, work: () => T | Promise<T>, more?: Partial<RunOnceOptions<T>>): Promise<T>;
  /** Between two tests. */
  reset(): void;
  stop(): Promise<void>;
}

export async function startSideBySide(): Promise<SideBySide> {
  const emulator = await startDynamoDb();
  const proxy = await startFaultProxy({ targetPort: Number(new URL(emulator.endpoint).port) });
  const client = emulator.client({ endpoint: proxy.url });
  const table = await powertoolsTable(client);
  const store = dynamodbStore({ client, tableName: `rerunsafe-${randomUUID()}`, clock: { nowMs: () => Date.now() + both.aheadMs } });
  const layer = () => powertoolsLayer({ tableName: table, client });
  const both: SideBySide = {
    proxy,
    client,
    store,
    table,
    aheadMs: 0,
    layer,
    theirs: (work, wrapped) => byPowertools(layer(), work, wrapped),
    ours: (key, work, more) => runOnce({ store, operation: 'probe', key, renew: 'none', ...more }, work),
    reset() {
      both.aheadMs = 0;
      proxy.clear();
    },
    async stop() {
      await emulator.stop();
      await proxy.stop();
    },
  };
  await store.setUp();
  return both;
}

export const isA =
  (operation: string) =>
  ({ headers }: ProxiedRequest): boolean =>
    headers['x-amz-target'] === `DynamoDB_20120810.${operation}`;

export const errorOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => 'no error',
    (error: unknown) => error,
  );
