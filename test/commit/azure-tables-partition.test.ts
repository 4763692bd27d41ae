import { randomUUID } from 'node:crypto';
import { RestError, TableClient, type TransactionAction } from '@azure/data-tables';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { PURGE_MIN_AGE_MS } from '../../src/core/ports.ts';
import { forgetScope, runOnce, storeLeases, sweep, tryRunOnce, withLease } from '../../src/index.ts';
import { commitWith, fencedTransaction, fencePartition, type TableStore, tableStore } from '../../src/stores/azure-tables/index.ts';
import { recordStoreConformance } from '../../src/testing/index.ts';
import { completed, sample } from '../../src/testing/record-store/subject.ts';
import { type Azurite, startAzurite } from '../support/azurite.ts';
import { collect } from '../unit/stores/dynamodb-subject.ts';

let azurite: Azurite;
beforeAll(async () => {
  azurite = await startAzurite({ services: ['table'] });
});
afterAll(() => azurite?.stop());

const freshClient = (): TableClient =>
  TableClient.fromConnectionString(azurite.connectionString, `t${randomUUID().replaceAll('-', '')}`, { allowInsecureConnection: true });

/** The service's clock is ahead: rows age without waiting. */
function aheadOf({ tableName }: TableClient, ms: number): TableClient {
  const client = TableClient.fromConnectionString(azurite.connectionString, tableName, { allowInsecureConnection: true });
  client.pipeline.addPolicy({
    name: 'ahead',
    async sendRequest(request, next) {
      const response = await next(request);
      response.headers.set('date', new Date(Date.parse(response.headers.get('date') ?? '') + ms).toUTCString());
      return response;
    },
  });
  return client;
}

recordStoreConformance({
  name: "Table Storage, in a partition of the caller's",
  describe,
  it,
  async createStore() {
    const client = freshClient();
    const store = tableStore({ client }).inPartition("customer 7's");
    await store.setUp();
    return { store, cleanUp: () => client.deleteTable() };
  },
});

describe("records in a partition of the caller's", () => {
  let client: TableClient;
  let whole: TableStore;
  beforeEach(async () => {
    client = freshClient();
    whole = tableStore({ client });
    await whole.setUp();
  });
  const OPERATION = 'orders/take';
  const ids = async (store: Pick<TableStore, 'list'>) =>
    (await collect(store.list({}))).map(({ id, partitionKey }) => `${partitionKey ?? '-'}/${id}`).sort();
  const create = (partitionKey: string, rowKey: string, more: object = {}): TransactionAction => ['create', { partitionKey, rowKey, ...more }];
  const standing = (partitionKey: string, rowKey: string) =>
    client.getEntity(partitionKey, rowKey).then(
      () => true,
      () => false,
    );

  it('a record is where it was put: not in another partition, and not in those of the store it comes from', async () => {
    const [seven, eight] = [whole.inPartition('customer-7'), whole.inPartition('customer-8')];
    const run = (store: typeof seven, value: number) => runOnce({ store, operation: OPERATION, key: 'order 1' }, () => value);
    expect([await run(seven, 7), await run(eight, 8), await run(whole, 0)]).toEqual([7, 8, 0]);
    expect([await run(seven, 70), await run(eight, 80), await run(whole, 1)]).toEqual([7, 8, 0]);
  });

  it("list finds them all in the whole table, and says where they are; in a partition only its own; rows of the caller's are none", async () => {
    const [seven, eight] = [whole.inPartition('customer-7'), whole.inPartition('rsvp')];
    await seven.create('a', sample());
    await eight.create('b', sample());
    await whole.create('c', sample());
    const { schema, state, revision } = sample();
    await client.createEntity({ partitionKey: 'customer-7', rowKey: 'order-1', schema, state, revision });
    expect(await ids(whole)).toEqual(['-/c', 'customer-7/a', 'rsvp/b']);
    expect(await ids(seven)).toEqual(['customer-7/a']);
    expect(await ids(eight)).toEqual(['rsvp/b']);
  });

  it('I6 purge of the whole table removes what has expired wherever it is, that of a partition what is in it', async () => {
    const [seven, eight] = [whole.inPartition('customer-7'), whole.inPartition('customer-8')];
    for (const store of [seven, eight, whole]) {
      await store.create('a', completed({ retentionMs: 1_000, leaseMs: 500 }));
      await store.create('b', sample({ retentionMs: 1_000, leaseMs: 500 }));
    }
    const late = tableStore({ client: aheadOf(client, 2 * PURGE_MIN_AGE_MS) });
    // Learns what the time is.
    await ids(late);
    expect(await late.inPartition('customer-7').purge({})).toEqual({ removed: 1 });
    expect(await ids(whole)).toEqual(['-/a', '-/b', 'customer-7/b', 'customer-8/a', 'customer-8/b']);
    expect(await late.purge({})).toEqual({ removed: 2 });
    expect(await ids(whole)).toEqual(['-/b', 'customer-7/b', 'customer-8/b']);
  });

  it('forgetScope and sweep on the whole table reach what is pinned', async () => {
    const pinned = whole.inPartition('customer-7');
    await runOnce({ store: pinned, operation: OPERATION, scope: 'anna', key: 'order 1' }, () => 'hers');
    expect(await forgetScope({ store: whole, scope: 'anna' })).toEqual({ forgotten: 1, running: 0, failures: [], more: false });
    expect((await collect(pinned.list({}))).map(({ record }) => [record.label, record.outcome])).toEqual([[undefined, undefined]]);
    const unknown = { store: pinned, operation: OPERATION, key: 'order 2', onThrow: () => 'unknown' as const };
    await expect(runOnce(unknown, () => Promise.reject(new Error('no answer')))).rejects.toThrow('no answer');
    const later = tableStore({ client: aheadOf(client, 100_000) });
    await ids(later);
    expect(await sweep({ store: later }, () => ({ done: 'receipt' }))).toMatchObject({ lapsed: 1, settled: 1, failures: [] });
    expect(await runOnce(unknown, () => 'again')).toBe('receipt');
  });

  it('without inPartition commitWith takes the partition that the record happens to be in, and says which one that is', async () => {
    const result = await tryRunOnce<unknown>({ store: whole, operation: OPERATION, key: 1 }, async (run) => {
      const wrong = commitWith(run, 1, [create('customer-7', 'order-1')]);
      await expect(wrong).rejects.toMatchObject({ code: 'INVALID_OPTIONS', message: expect.stringMatching(/partition key rs.*inPartition/) });
      await commitWith(run, 2, [create(fencePartition(run.fence?.id ?? ''), 'order-1')]);
    });
    expect(result).toMatchObject({ value: 2, saved: true });
  });

  it('I4 a fenced transaction finds a record and a lease in their partition by partitionKey', async () => {
    const store = whole.inPartition('customer-7');
    const options = { partitionKey: 'customer-7' };
    await runOnce({ store, operation: OPERATION, key: 1 }, async (run) => {
      if (run.fence === undefined) throw new Error('no fence');
      await fencedTransaction(client, run.fence, [create('customer-7', 'order-1')], options);
      const stale = fencedTransaction(client, { ...run.fence, token: 1 }, [create('customer-7', 'order-2')], options);
      await expect(stale).rejects.toMatchObject({ code: 'STALE_TOKEN' });
      await expect(fencedTransaction(client, run.fence, [create('customer-7', 'order-3')])).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
      const both = fencedTransaction(client, run.fence, [], { ...options, partitions: 256 });
      await expect(both).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
      const own = fencedTransaction(client, run.fence, [create('customer-7', `rerunsafe.${run.fence.id}`)], options);
      await expect(own).rejects.toMatchObject({ code: 'INVALID_OPTIONS', message: expect.stringContaining('a row of the store') });
    });
    await withLease(storeLeases(store), 'nightly', {}, (lease) => fencedTransaction(client, lease.fence, [create('customer-7', 'report')], options));
    expect(await Promise.all(['order-1', 'order-2', 'order-3', 'report'].map((row) => standing('customer-7', row)))).toEqual([
      true,
      false,
      false,
      true,
    ]);
    // The marks of fenced transactions are no records.
    expect(await collect(store.list({}))).toHaveLength(2);
  });

  it.each(['', 'a/b', 'a\\b', 'a#b', 'a?b', 'a\tb', 'x'.repeat(513), 7, undefined])('%j is no partition: INVALID_OPTIONS', (partitionKey) => {
    expect(() => whole.inPartition(partitionKey as string)).toThrowError(expect.objectContaining({ code: 'INVALID_OPTIONS' }));
  });

  it('an entity that is there already is told by the service itself, with its place among the actions', async () => {
    const store = whole.inPartition('customer-7');
    await client.createEntity({ partitionKey: 'customer-7', rowKey: 'order-1' });
    const result = await tryRunOnce<unknown>({ store, operation: OPERATION, key: 1 }, async (run) => {
      const error = await commitWith(run, 1, [create('customer-7', 'order-0'), create('customer-7', 'order-1')]).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(RestError);
      expect(error).toMatchObject({ statusCode: 409, code: 'EntityAlreadyExists' });
      const missing = commitWith(run, 1, [['update', { partitionKey: 'customer-7', rowKey: 'none' }, 'Merge']]);
      await expect(missing).rejects.toMatchObject({ statusCode: 404 });
      const twice = commitWith(run, 1, [create('customer-7', 'order-2'), create('customer-7', 'order-2')]);
      await expect(twice).rejects.toBeInstanceOf(Error);
      await commitWith(run, 2, []);
    });
    expect(result).toMatchObject({ value: 2, saved: true });
    expect([await standing('customer-7', 'order-0'), await standing('customer-7', 'order-2')]).toEqual([false, false]);
  });

  it('messages of the outbox are refused, and nothing is written', async () => {
    const store = whole.inPartition('customer-7');
    const running = runOnce({ store, operation: OPERATION, key: 1 }, async (run) => {
      run.outbox.add({ topic: 'orders/placed', payload: 1 });
      await commitWith(run, 1, [create('customer-7', 'order-1')]);
    });
    await expect(running).rejects.toMatchObject({ code: 'INVALID_OPTIONS', message: expect.stringContaining('Table Storage has no outbox') });
    expect(await standing('customer-7', 'order-1')).toBe(false);
  });
});
