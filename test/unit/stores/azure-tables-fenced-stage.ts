/**
 * A table with leases in it, a client that goes through the proxy, and entities beside the lease of each test.
 *
 * @module
 */
import { TableClient, type TransactionAction } from '@azure/data-tables';
import { afterAll, beforeAll, beforeEach } from 'vitest';
import type { Fence, LeaseProvider, PartsStore } from '../../../src/core/ports.ts';
import { type Lease, storeLeases, tryAcquire } from '../../../src/index.ts';
import { fencePartition, tableStore } from '../../../src/stores/azure-tables/index.ts';
import type { ProxiedRequest } from '../../support/proxy.ts';
import { freshId, freshTable, type Subject, startSubject } from './azure-tables-subject.ts';

export const LONG_MS = 60_000;

export const isTransaction = ({ path }: Pick<ProxiedRequest, 'path'>): boolean => path.includes('$batch');
export const isLook = ({ method }: Pick<ProxiedRequest, 'method'>): boolean => method === 'GET';
export const stale = ({ id, token }: Fence, storedToken: number | undefined) => ({
  code: 'STALE_TOKEN',
  retryable: false,
  facts: { id, token, storedToken },
});

export interface FencedStage {
  readonly subject: Subject;
  /** Through the proxy. */
  readonly client: TableClient;
  /** These three go past it. */
  readonly plain: TableClient;
  readonly store: PartsStore;
  readonly leases: LeaseProvider;
  /** Of the lease, new for each test. */
  readonly name: string;
  /** Where entities are made and looked for: beside the lease, unless a test says otherwise. */
  partitionKey: string;
  entity(row: string, columns?: object): { partitionKey: string; rowKey: string };
  put(row: string, total: number): TransactionAction;
  total(row: string): Promise<unknown>;
  taken(leaseMs?: number): Promise<Lease>;
  takenOver(): Promise<Lease>;
}

export function fencedStage(): FencedStage {
  const stage = {
    entity: (row: string, columns: object = {}) => ({ partitionKey: stage.partitionKey, rowKey: `${stage.name}-${row}`, ...columns }),
    put: (row: string, total: number): TransactionAction => ['upsert', stage.entity(row, { total }), 'Replace'],
    async total(row: string): Promise<unknown> {
      const { partitionKey, rowKey } = stage.entity(row);
      const found = await stage.plain.getEntity<{ total: number }>(partitionKey, rowKey).catch((error) => error);
      return found.statusCode === 404 ? undefined : found.total;
    },
    async taken(leaseMs = LONG_MS) {
      const got = await tryAcquire(stage.leases, stage.name, { leaseMs, renew: 'none' });
      if (got.kind !== 'acquired') throw new Error(`the lease is ${got.kind}`);
      return got.lease;
    },
    async takenOver() {
      await stage.leases.break(stage.name);
      return stage.taken();
    },
  } as { -readonly [K in keyof FencedStage]: FencedStage[K] };
  beforeAll(async () => {
    const tableName = freshTable();
    stage.subject = await startSubject();
    stage.client = stage.subject.client(tableName);
    stage.plain = TableClient.fromConnectionString(stage.subject.azurite.connectionString, tableName, { allowInsecureConnection: true });
    stage.store = tableStore({ client: stage.plain });
    await stage.store.setUp();
    stage.leases = storeLeases(stage.store);
  });
  afterAll(() => stage.subject.stop());
  beforeEach(() => {
    stage.subject.proxy.clear();
    stage.name = `nightly-${freshId()}`;
    stage.partitionKey = fencePartition(stage.name);
  });
  return stage;
}
