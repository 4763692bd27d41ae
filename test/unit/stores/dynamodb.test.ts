import { DescribeTimeToLiveCommand, PutItemCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RecordStore } from '../../../src/core/ports.ts';
import { dynamodbStore } from '../../../src/stores/dynamodb/index.ts';
import { toItem } from '../../../src/stores/dynamodb/item.ts';
import type { Emulator } from '../../support/dynamodb.ts';
import { type FaultProxy, startFaultProxy } from '../../support/proxy.ts';
import { collect, conflict, EMULATORS, freshId, freshStore, plainTable, rawItem, record, written } from './dynamodb-subject.ts';

const HOUR_MS = 3_600_000;
const LAYOUT = { partitionKey: 'id', ttlAttribute: 'expiresAtS' };

describe.each(EMULATORS)('dynamodbStore on $name', ({ start, returnsOld }) => {
  let emulator: Emulator;
  let proxy: FaultProxy;
  let store: RecordStore;
  let tableName: string;

  beforeAll(async () => {
    emulator = await start();
    proxy = await startFaultProxy({ targetPort: Number(new URL(emulator.endpoint).port) });
    ({ store, tableName } = await freshStore(emulator, { client: emulator.client({ endpoint: proxy.url, maxAttempts: 2 }) }));
  });
  afterAll(async () => {
    await proxy?.stop();
    await emulator?.stop();
  });

  /** Requests on the wire, the SDK's own retries among them. */
  const requestsOf = async (work: () => Promise<unknown>): Promise<number> => {
    proxy.clear();
    await work();
    return proxy.count();
  };

  describe('requests', () => {
    it('I11 create and replace take one request each; refused they take one more only where the refusal does not bring the record', async () => {
      const [id, first, second] = [freshId(), record(), record({ state: 'completed' })];
      const refused = returnsOld ? 1 : 2;
      expect(await requestsOf(() => store.create(id, first))).toBe(1);
      expect(await requestsOf(() => store.create(id, record()))).toBe(refused);
      expect(await requestsOf(() => store.replace(id, second, first.revision))).toBe(1);
      expect(await requestsOf(() => store.replace(id, record(), first.revision))).toBe(refused);
      expect(await requestsOf(() => store.delete(id, first.revision))).toBe(refused);
      expect(await requestsOf(() => store.delete(id, second.revision))).toBe(1);
    });

    it('a value over the limit is refused before anything is sent', async () => {
      const huge = record({ outcome: { kind: 'value', value: 'ä'.repeat(200 * 1024) } });
      expect(await requestsOf(async () => expect(await store.create(freshId(), huge)).toEqual({ ok: false, reason: 'too-large' }))).toBe(0);
    });
  });

  describe('refusals', () => {
    it('I4 a refused replace brings the record that stands, and an absent row is said to be absent', async () => {
      const [id, first, second] = [freshId(), record(), record()];
      const { version } = written(await store.create(id, first));
      written(await store.replace(id, second, version));
      expect(conflict(await store.replace(id, record(), version)).current?.record).toMatchObject(second);
      expect(conflict(await store.replace(freshId(), record(), version)).current).toBeUndefined();
      expect(await store.delete(freshId(), version)).toEqual({ ok: false, reason: 'conflict', current: undefined });
    });

    it('I1 of 64 that create at once exactly one writes, and all others see its record', async () => {
      const id = freshId();
      const results = await Promise.all(Array.from({ length: 64 }, () => store.create(id, record())));
      const winners = results.filter((result) => result.ok);
      expect(winners).toHaveLength(1);
      const revisions = results.filter((result) => !result.ok).map((result) => conflict(result).current?.version);
      expect(new Set(revisions)).toEqual(new Set(winners.map((winner) => winner.version)));
    });

    it('an item just under the limit is kept', async () => {
      const [id, big] = [freshId(), record({ outcome: { kind: 'value', value: 'x'.repeat(385 * 1024) } })];
      written(await store.create(id, big));
      expect((await store.read(id))?.record).toMatchObject(big);
    });
  });

  describe('lost answers', () => {
    it('I7 a create whose answer was lost, and which the SDK sent again, brings our own record', async () => {
      const [id, own] = [freshId(), record()];
      proxy.clear();
      const { fired } = proxy.inject({ action: 'drop-answer' });
      const { current } = conflict(await store.create(id, own));
      await fired;
      expect(current?.record.revision).toBe(own.revision);
    });

    it('a write that got no answer is in doubt even when the last try was only refused', async () => {
      const id = freshId();
      proxy.clear();
      const throttled = {
        status: 400,
        body: JSON.stringify({ __type: 'com.amazonaws.dynamodb.v20120810#ThrottlingException', message: 'slow down' }),
      };
      proxy.inject({ action: 'drop-answer' });
      proxy.inject({ nth: 2, times: 10, action: throttled });
      await expect(store.create(id, record())).rejects.toMatchObject({ code: 'WRITE_UNKNOWN', retryable: true });
      proxy.clear();
      expect(await store.read(id)).toBeDefined();
    });

    it('a write that was only throttled did not happen, and neither did a read that got no answer', async () => {
      const id = freshId();
      const body = JSON.stringify({ __type: 'com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException', message: 'slow down' });
      proxy.clear();
      proxy.inject({ times: 10, action: { status: 400, body } });
      await expect(store.create(id, record())).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE', retryable: true });
      proxy.clear();
      proxy.inject({ times: 10, action: 'drop-answer' });
      await expect(store.read(id)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
      proxy.clear();
      expect(await store.read(id)).toBeUndefined();
    });

    it('a server error after a write leaves it in doubt', async () => {
      proxy.clear();
      proxy.inject({ times: 10, action: { status: 500, body: '{}' } });
      await expect(store.create(freshId(), record())).rejects.toMatchObject({ code: 'WRITE_UNKNOWN' });
      proxy.clear();
    });

    it('I10 a call ends within its time limit, and when its signal aborts: a write in doubt, a read not', async () => {
      const hasty = dynamodbStore({ client: emulator.client({ endpoint: proxy.url }), tableName, requestTimeoutMs: 150 });
      proxy.clear();
      proxy.inject({ times: 10, action: 'stall' });
      await expect(hasty.create(freshId(), record())).rejects.toMatchObject({ code: 'WRITE_UNKNOWN' });
      await expect(hasty.read(freshId())).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
      const abort = new AbortController();
      proxy.clear();
      const stalled = proxy.inject({ action: 'stall' });
      const write = store.create(freshId(), record(), { signal: abort.signal });
      void stalled.fired.then(() => abort.abort());
      await expect(write).rejects.toMatchObject({ code: 'WRITE_UNKNOWN' });
      await expect(store.create(freshId(), record(), { signal: abort.signal })).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
      proxy.clear();
    });

    it('I10 credentials that hang do not hold a call up, and what was given up is not sent when they come', async () => {
      let come = (): void => {};
      const hanging = new Promise<void>((resolve) => {
        come = resolve;
      });
      const credentials = () => hanging.then(() => ({ accessKeyId: 'local', secretAccessKey: 'local' }));
      const client = emulator.client({ endpoint: proxy.url, credentials });
      const [id, hasty] = [freshId(), dynamodbStore({ client, tableName, requestTimeoutMs: 100 })];
      proxy.clear();
      await expect(hasty.create(id, record())).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
      come();
      // A read through the same client is signed and sent after whatever was waiting before it.
      expect(await dynamodbStore({ client, tableName }).read(id)).toBeUndefined();
      expect(proxy.requests.map(({ target }) => target)).toEqual(['DynamoDB_20120810.GetItem']);
    });

    it('a refused connection did not happen', async () => {
      const nobody = dynamodbStore({ client: emulator.client({ endpoint: 'http://127.0.0.1:9' }), tableName });
      await expect(nobody.create(freshId(), record())).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    });
  });

  describe('tables that do not fit', () => {
    it('a missing table is a matter for a person', async () => {
      const missing = dynamodbStore({ client: emulator.client(), tableName: 'missing' });
      await expect(missing.create(freshId(), record())).rejects.toMatchObject({ code: 'STORE_MISCONFIGURED', retryable: false });
      await expect(missing.read(freshId())).rejects.toMatchObject({ code: 'STORE_MISCONFIGURED' });
    });

    it('a table with another key is refused, and the message names the key it must have', async () => {
      const client = emulator.client();
      const other = dynamodbStore({ client, tableName: await plainTable(client, 'sort') });
      const wanted = { code: 'STORE_MISCONFIGURED', message: expect.stringContaining('partition key "id"') };
      await expect(other.read(freshId())).rejects.toMatchObject(wanted);
      await expect(other.create(freshId(), record())).rejects.toMatchObject(wanted);
      await expect(other.setUp?.()).rejects.toMatchObject(wanted);
    });

    it('a record of a later schema is left alone', async () => {
      const id = freshId();
      const Item = toItem(id, { ...record(), schema: 99, writtenAtMs: 1 }, LAYOUT);
      await emulator.client().send(new PutItemCommand({ TableName: tableName, Item }));
      await expect(store.read(id)).rejects.toMatchObject({ code: 'RECORD_TOO_NEW' });
      await expect(store.create(id, record())).rejects.toMatchObject({ code: 'RECORD_TOO_NEW' });
      await store.delete(id, (await rawItem(emulator.client(), tableName, id))?.revision?.S ?? '');
    });
  });

  describe('expiry', () => {
    it('the TTL attribute is in seconds, an hour or more past the retention, and only where a record ends by itself', async () => {
      const ttlOf = async (changes: object): Promise<number | undefined> => {
        const id = freshId();
        written(await store.create(id, record(changes)));
        const ttl = (await rawItem(emulator.client(), tableName, id))?.expiresAtS?.N;
        return ttl === undefined ? undefined : Number(ttl);
      };
      const dueS = (Date.now() + 86_400_000 + HOUR_MS) / 1000;
      for (const state of ['completed', 'released']) {
        const ttlS = await ttlOf({ state });
        expect(ttlS).toBeGreaterThan(dueS);
        expect(ttlS).toBeLessThan(dueS + 3 * 3600);
      }
      expect(await ttlOf({ state: 'running' })).toBeUndefined();
      expect(await ttlOf({ state: 'blocked' })).toBeUndefined();
      expect(await ttlOf({ state: 'released', retentionMs: Number.MAX_SAFE_INTEGER })).toBeUndefined();
    });

    it('purge removes what expired an hour ago or more, spares the rest, and takes lapsed records only when asked, lease rows never', async () => {
      const { store: own, tableName: table } = await freshStore(emulator);
      const client = emulator.client();
      const now = Date.now();
      const put = (id: string, ageMs: number, changes: object) =>
        client.send(new PutItemCommand({ TableName: table, Item: toItem(id, { ...record(changes), writtenAtMs: now - ageMs }, LAYOUT) }));
      await put('expired', 2 * HOUR_MS, { state: 'completed', retentionMs: HOUR_MS });
      await put('expired, too young', HOUR_MS / 2, { state: 'completed', retentionMs: 1000 });
      await put('kept', 2 * HOUR_MS, { state: 'completed', retentionMs: 3 * HOUR_MS });
      await put('blocked', 200 * HOUR_MS, { state: 'blocked', retentionMs: 1000 });
      await put('lapsed', 5 * HOUR_MS, { leaseMs: 1000 });
      await put('lease', 5 * HOUR_MS, { leaseMs: 1000, retentionMs: Number.MAX_SAFE_INTEGER });
      const left = async () => (await collect(own.list({}))).map(({ id }) => id).sort();
      expect(await own.purge({ operation: 'another' })).toEqual({ removed: 0 });
      expect(await own.purge({})).toEqual({ removed: 1 });
      expect(await left()).toEqual(['blocked', 'expired, too young', 'kept', 'lapsed', 'lease']);
      expect(await own.purge({ lapsedOlderThanMs: 10 * HOUR_MS })).toEqual({ removed: 0 });
      expect(await own.purge({ lapsedOlderThanMs: HOUR_MS, limit: 0 })).toEqual({ removed: 0 });
      expect(await own.purge({ lapsedOlderThanMs: HOUR_MS })).toEqual({ removed: 1 });
      expect(await left()).toEqual(['blocked', 'expired, too young', 'kept', 'lease']);
    });

    it('purge stops at its limit', async () => {
      const { store: own, tableName: table } = await freshStore(emulator);
      const client = emulator.client();
      for (let n = 0; n < 40; n++) {
        const old = { ...record({ state: 'completed', retentionMs: 1000 }), writtenAtMs: Date.now() - 2 * HOUR_MS };
        await client.send(new PutItemCommand({ TableName: table, Item: toItem(`row-${n}`, old, LAYOUT) }));
      }
      expect(await own.purge({ limit: 19 })).toEqual({ removed: 19 });
      expect(await own.purge({})).toEqual({ removed: 21 });
    });
  });

  it('list goes through all pages, filters by operation, state and age, and passes over what is not a record', async () => {
    const { store: own, tableName: table } = await freshStore(emulator);
    const client = emulator.client();
    const value = 'x'.repeat(300 * 1024);
    for (let n = 0; n < 5; n++)
      written(await own.create(`big-${n}`, record({ operation: 'big', state: 'completed', outcome: { kind: 'value', value } })));
    written(await own.create('small', record({ operation: 'small' })));
    const aged = { ...record({ operation: 'small', state: 'blocked' }), writtenAtMs: Date.now() - HOUR_MS };
    await client.send(new PutItemCommand({ TableName: table, Item: toItem('aged', aged, LAYOUT) }));
    await client.send(new PutItemCommand({ TableName: table, Item: { id: { S: 'foreign' }, note: { S: 'not ours' } } }));
    const ids = async (query: object) => (await collect(own.list(query))).map(({ id }) => id).sort();
    expect(await ids({})).toEqual(['aged', 'big-0', 'big-1', 'big-2', 'big-3', 'big-4', 'small']);
    expect(await ids({ operation: 'small' })).toEqual(['aged', 'small']);
    expect(await ids({ operation: 'small', state: 'running' })).toEqual(['small']);
    expect(await ids({ olderThanMs: HOUR_MS / 2 })).toEqual(['aged']);
  });

  it('setUp may be run by ten at once, and again, and switches TTL on where the service has it', async () => {
    const client = emulator.client();
    const name = `t-${freshId()}`;
    await Promise.all(Array.from({ length: 10 }, () => dynamodbStore({ client, tableName: name }).setUp?.()));
    await dynamodbStore({ client, tableName: name }).setUp?.();
    written(await dynamodbStore({ client, tableName: name }).create(freshId(), record()));
    const { TimeToLiveDescription } = await client.send(new DescribeTimeToLiveCommand({ TableName: name }));
    if (returnsOld) {
      expect(TimeToLiveDescription?.AttributeName).toBe('expiresAtS');
      const other = dynamodbStore({ client, tableName: name, ttlAttribute: 'ttl' });
      await expect(other.setUp?.()).rejects.toMatchObject({ code: 'STORE_MISCONFIGURED', message: expect.stringContaining('expiresAtS') });
    } else expect(TimeToLiveDescription?.TimeToLiveStatus).toBe('DISABLED');
  });

  it('another partition key, and no TTL attribute, where the table asks for it', async () => {
    const { store: own } = await freshStore(emulator, { partitionKey: 'pk', ttlAttribute: false });
    const [id, kept] = [freshId(), record({ state: 'completed', label: 'order-1' })];
    written(await own.create(id, kept));
    expect((await own.read(id))?.record).toEqual({ ...kept, writtenAtMs: expect.any(Number) });
    expect(conflict(await own.create(id, record())).current?.version).toBe(kept.revision);
  });
});
