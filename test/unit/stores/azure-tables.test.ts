import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { tableStore } from '../../../src/stores/azure-tables/index.ts';
import { all, freshId, isWrite, methods, put, record, type Subject, startSubject } from './azure-tables-subject.ts';

let subject: Subject;
beforeAll(async () => {
  subject = await startSubject();
});
afterAll(() => subject.stop());
beforeEach(() => subject.proxy.clear());

describe('requests on the wire', () => {
  it('I11 create, replace, read and delete cost one request each; a refused one costs two', async () => {
    const store = await subject.ownStore();
    const id = freshId();
    const count = async (work: () => Promise<unknown>): Promise<string[]> => {
      const before = subject.proxy.requests.length;
      await work();
      return methods(subject.proxy.requests.slice(before));
    };
    expect(await count(() => store.read(id))).toEqual(['GET 404']);
    let version = '';
    expect(await count(async () => (version = await put(store, id)))).toEqual(['POST 204']);
    expect(await count(() => store.create(id, record()))).toEqual(['POST 409', 'GET 200']);
    expect(await count(() => store.replace(id, record(), version))).toEqual(['PUT 204']);
    expect(await count(() => store.replace(id, record(), version))).toEqual(['PUT 412', 'GET 200']);
    expect(await count(() => store.delete(id, version))).toEqual(['DELETE 412', 'GET 200']);
    version = (await store.read(id))?.version ?? '';
    expect(await count(() => store.delete(id, version))).toEqual(['DELETE 204']);
    expect(await count(() => store.replace(id, record(), version))).toEqual(['PUT 404']);
    await store.close();
  });
});

describe('size', () => {
  it('a body of any size up to the limit comes back exactly, created or replaced; over it nothing is sent', async () => {
    const store = await subject.ownStore();
    const id = freshId();
    const bodyOf = (bytes: number) => ({ outcome: { kind: 'value', value: `${'€'.repeat(20)}${'x'.repeat(bytes)}` } as const });
    let version = await put(store, id);
    for (const bytes of [63_900, 64_000, 128_000, 300_000, store.limits.maxRecordBytes - 4_096]) {
      const [other, large] = [freshId(), record(bodyOf(bytes))];
      await put(store, other, large);
      expect((await store.read(other))?.record).toMatchObject(large);
      const result = await store.replace(id, large, version);
      if (!result.ok) throw new Error(`refused: ${result.reason} at ${bytes} bytes`);
      version = result.version;
      expect((await store.read(id))?.record).toMatchObject(large);
    }
    const before = subject.proxy.requests.length;
    const over = record(bodyOf(store.limits.maxRecordBytes));
    expect(await store.create(freshId(), over)).toEqual({ ok: false, reason: 'too-large' });
    expect(await store.replace(id, over, version)).toEqual({ ok: false, reason: 'too-large' });
    expect(subject.proxy.requests).toHaveLength(before);
    await store.close();
  });

  it('a refusal of the service for its size is a value too', async () => {
    const store = await subject.ownStore();
    const refusal = { status: 400, headers: { 'content-type': 'application/json' }, body: '{"odata.error":{"code":"EntityTooLarge"}}' };
    subject.proxy.inject({ match: isWrite, action: refusal });
    expect(await store.create(freshId(), record())).toEqual({ ok: false, reason: 'too-large' });
    await store.close();
  });
});

describe('races', () => {
  it('I1 of 64 callers that create at once one writes, and each other is told what the winner wrote', async () => {
    const store = await subject.ownStore();
    const id = freshId();
    const records = Array.from({ length: 64 }, () => record());
    const results = await Promise.all(records.map((one) => store.create(id, one)));
    const winners = results.flatMap((result, n) => (result.ok ? [records[n]] : []));
    expect(winners).toHaveLength(1);
    for (const result of results)
      if (!result.ok) expect(result).toMatchObject({ reason: 'conflict', current: { record: { revision: winners[0]?.revision } } });
    await store.close();
  });

  it('a row that vanishes between the refusal and the look at it is created after all', async () => {
    const store = await subject.ownStore();
    const id = freshId();
    const version = await put(store, id);
    const late = subject.proxy.inject({ match: ({ method }) => method === 'GET', action: { delayMs: 200, at: 'request' } });
    const creating = store.create(id, record({ label: 'second' }));
    await late.fired;
    await store.delete(id, version);
    expect(await creating).toMatchObject({ ok: true });
    expect((await store.read(id))?.record.label).toBe('second');
    await store.close();
  });

  it('setting up ten times at once is harmless', async () => {
    const store = tableStore({ client: subject.client() });
    await Promise.all(Array.from({ length: 10 }, () => store.setUp()));
    expect(await store.read(freshId())).toBeUndefined();
  });
});

describe('faults', () => {
  it.each(['drop-answer', 'half-answer'] as const)(
    'I7 a create whose answer was lost (%s) and that the SDK sent again is told its own record',
    async (action) => {
      const store = await subject.ownStore();
      const [id, own] = [freshId(), record()];
      subject.proxy.inject({ match: isWrite, action });
      expect(await store.create(id, own)).toMatchObject({ ok: false, reason: 'conflict', current: { record: { revision: own.revision } } });
      await store.close();
    },
  );

  it('I7 a replace whose answer was lost is told its own record', async () => {
    const store = await subject.ownStore();
    const [id, own] = [freshId(), record()];
    const version = await put(store, id);
    subject.proxy.inject({ match: isWrite, action: 'drop-answer' });
    expect(await store.replace(id, own, version)).toMatchObject({ ok: false, current: { record: { revision: own.revision } } });
    await store.close();
  });

  it('I8 a request that never gets an answer is tried again within its own limit', async () => {
    const store = await subject.ownStore({ requestTimeoutMs: 300 });
    const [id, own] = [freshId(), record()];
    subject.proxy.inject({ match: isWrite, action: 'stall' });
    expect(await store.create(id, own)).toMatchObject({ ok: false, current: { record: { revision: own.revision } } });
    await store.close();
  });

  it.each([true, false])('I8 answers that are always lost are WRITE_UNKNOWN (own client: %s)', async (isOwn) => {
    const store = isOwn ? await subject.ownStore() : tableStore({ client: subject.client() });
    if (!isOwn) await store.setUp();
    subject.proxy.clear();
    subject.proxy.inject({ times: 9, action: 'drop-answer' });
    await expect(store.create(freshId(), record())).rejects.toMatchObject({ code: 'WRITE_UNKNOWN' });
    await store.close();
  });

  const BUSY = { status: 503, headers: { 'content-type': 'application/json', 'retry-after': '0' }, body: '{"odata.error":{"code":"ServerBusy"}}' };

  it.each([true, false])('I8 a throttled write did not happen; after a lost answer it is in doubt (own client: %s)', async (isOwn) => {
    const store = isOwn ? await subject.ownStore() : tableStore({ client: subject.client() });
    if (!isOwn) await store.setUp();
    subject.proxy.clear();
    subject.proxy.inject({ times: 9, action: BUSY });
    await expect(store.create(freshId(), record())).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE', retryAfterMs: 0 });
    await expect(store.read(freshId())).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    subject.proxy.clear();
    subject.proxy.inject({ action: 'drop-answer' });
    subject.proxy.inject({ nth: 2, times: 9, action: BUSY });
    await expect(store.create(freshId(), record())).rejects.toMatchObject({ code: 'WRITE_UNKNOWN' });
    await store.close();
  });

  it('I8 a server that is not there: nothing happened, for a read and for a write', async () => {
    const proxyUrl = new URL(subject.proxy.url);
    process.env.RERUNSAFE_TEST_NOBODY = subject.connectionString.replace(proxyUrl.port, '1');
    const store = tableStore({ connection: 'RERUNSAFE_TEST_NOBODY' });
    await expect(store.create(freshId(), record())).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    await expect(store.read(freshId())).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    delete process.env.RERUNSAFE_TEST_NOBODY;
    await store.close();
  });

  it('I12 an abort ends the call at once: in doubt after it was sent, harmless before', async () => {
    const store = await subject.ownStore();
    const stalled = subject.proxy.inject({ match: isWrite, times: 9, action: 'stall' });
    const controller = new AbortController();
    const creating = store.create(freshId(), record(), { signal: controller.signal });
    creating.catch(() => {});
    await stalled.fired;
    controller.abort();
    await expect(creating).rejects.toMatchObject({ code: 'WRITE_UNKNOWN' });
    const before = subject.proxy.requests.length;
    await expect(store.create(freshId(), record(), { signal: AbortSignal.abort() })).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    expect(subject.proxy.requests).toHaveLength(before);
    await store.close();
  });

  it('I8 a refused write that cannot be looked up is in doubt: the network may have delivered it twice', async () => {
    const store = await subject.ownStore();
    const id = freshId();
    await put(store, id);
    subject.proxy.inject({ match: ({ method }) => method === 'GET', times: 99, action: 'drop-answer' });
    await expect(store.create(id, record())).rejects.toMatchObject({ code: 'WRITE_UNKNOWN' });
    subject.proxy.inject({ match: isWrite, action: 'drop-answer' });
    await expect(store.create(id, record())).rejects.toMatchObject({ code: 'WRITE_UNKNOWN' });
    await store.close();
  });
});

describe('a store that is not set up', () => {
  it('a missing table is STORE_MISCONFIGURED for every operation, with what to do', async () => {
    const store = tableStore({ client: subject.client() });
    const says = { code: 'STORE_MISCONFIGURED', message: expect.stringContaining('setUp()') };
    await expect(store.read(freshId())).rejects.toMatchObject(says);
    await expect(store.create(freshId(), record())).rejects.toMatchObject(says);
    await expect(store.replace(freshId(), record(), 'W/"x"')).rejects.toMatchObject(says);
    await expect(store.delete(freshId(), 'W/"x"')).rejects.toMatchObject(says);
    await expect(all(store, {})).rejects.toMatchObject(says);
  });

  it('a wrong account key is STORE_MISCONFIGURED', async () => {
    process.env.RERUNSAFE_TEST_WRONG_KEY = subject.connectionString.replace(/AccountKey=[^;]+/, `AccountKey=${Buffer.alloc(64).toString('base64')}`);
    const store = tableStore({ connection: 'RERUNSAFE_TEST_WRONG_KEY' });
    await expect(store.create(freshId(), record())).rejects.toMatchObject({ code: 'STORE_MISCONFIGURED', message: expect.stringContaining('role') });
    delete process.env.RERUNSAFE_TEST_WRONG_KEY;
    await store.close();
  });
});
