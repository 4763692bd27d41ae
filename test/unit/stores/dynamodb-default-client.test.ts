import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { RecordStore } from '../../../src/core/ports.ts';
import { dynamodbStore } from '../../../src/stores/dynamodb/index.ts';
import { type Emulator, startDynalite } from '../../support/dynamodb.ts';
import { type FaultProxy, startFaultProxy } from '../../support/proxy.ts';
import { conflict, freshId, freshStore, record, written } from './dynamodb-subject.ts';

describe('dynamodbStore with a client of its own', () => {
  let emulator: Emulator;
  let proxy: FaultProxy;
  let store: RecordStore;

  beforeAll(async () => {
    emulator = await startDynalite();
    proxy = await startFaultProxy({ targetPort: Number(new URL(emulator.endpoint).port) });
  });
  afterAll(async () => {
    await proxy?.stop();
    await emulator?.stop();
  });

  beforeEach(async () => {
    vi.stubEnv('AWS_REGION', 'eu-west-1');
    vi.stubEnv('AWS_ENDPOINT_URL_DYNAMODB', proxy.url);
    vi.stubEnv('AWS_ACCESS_KEY_ID', 'local');
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'local');
    // Nothing of the machine's own may decide a test.
    vi.stubEnv('AWS_EC2_METADATA_DISABLED', 'true');
    vi.stubEnv('AWS_CONFIG_FILE', '/dev/null');
    vi.stubEnv('AWS_SHARED_CREDENTIALS_FILE', '/dev/null');
    const { tableName } = await freshStore(emulator);
    store = dynamodbStore({ tableName, requestTimeoutMs: 2000 });
    proxy.clear();
  });
  afterEach(async () => {
    await store.close?.();
    proxy.clear();
    vi.unstubAllEnvs();
  });

  it('uses what the environment says, one client for all calls, and can be closed', async () => {
    const [id, own] = [freshId(), record()];
    written(await store.create(id, own));
    expect((await store.read(id))?.version).toBe(own.revision);
    expect(proxy.count()).toBe(2);
    await store.close?.();
  });

  it('I7 a try that gets no answer is given up in time for another, which finds our own record', async () => {
    const [id, own] = [freshId(), record()];
    proxy.inject({ action: 'stall' });
    expect(conflict(await store.create(id, own)).current?.version).toBe(own.revision);
  });

  it('I10 it sends a write no more than three times', async () => {
    proxy.inject({ times: 10, action: 'drop-request' });
    await expect(store.create(freshId(), record())).rejects.toMatchObject({ code: 'WRITE_UNKNOWN' });
    expect(proxy.count()).toBe(3);
  });

  it('without credentials a person has to act', async () => {
    vi.stubEnv('AWS_ACCESS_KEY_ID', undefined);
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', undefined);
    await expect(store.create(freshId(), record())).rejects.toMatchObject({ code: 'STORE_MISCONFIGURED', retryable: false });
  });

  it('without a region a person has to act', async () => {
    vi.stubEnv('AWS_REGION', undefined);
    vi.stubEnv('AWS_DEFAULT_REGION', undefined);
    await expect(store.read(freshId())).rejects.toMatchObject({ code: 'STORE_MISCONFIGURED', message: expect.stringMatching(/region/i) });
  });
});
