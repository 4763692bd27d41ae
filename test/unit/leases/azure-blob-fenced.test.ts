import { randomUUID } from 'node:crypto';
import { BlobServiceClient, type BlockBlobClient, type ContainerClient } from '@azure/storage-blob';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { fencedClaim, fencedDelete, fencedUpload, isFencedDeletion } from '../../../src/leases/azure-blob/index.ts';
import { type Azurite, startAzurite } from '../../support/azurite.ts';
import { type FaultProxy, startFaultProxy } from '../../support/proxy.ts';

let azurite: Azurite;
let proxy: FaultProxy;
let container: ContainerClient;
let spoiled: ContainerClient;

beforeAll(async () => {
  azurite = await startAzurite({ services: ['blob'] });
  proxy = await startFaultProxy({ targetPort: Number(new URL(azurite.blobUrl).port) });
  container = BlobServiceClient.fromConnectionString(azurite.connectionString).getContainerClient('fenced');
  await container.create();
  const through = azurite.connectionString.replace(azurite.blobUrl, `${proxy.url}/devstoreaccount1`);
  spoiled = BlobServiceClient.fromConnectionString(through, { retryOptions: { retryDelayInMs: 20 } }).getContainerClient('fenced');
}, 60_000);

afterAll(async () => {
  await proxy?.stop();
  await azurite?.stop();
});

const fence = (token: number) => ({ id: 'lease', owner: randomUUID(), token });
const text = async (blob: BlockBlobClient): Promise<string> => (await blob.downloadToBuffer()).toString();

it('I4 a stale holder is refused, and what its successor wrote stands', async () => {
  const blob = container.getBlockBlobClient('stale');
  await fencedUpload(blob, fence(1), 'one');
  await fencedUpload(blob, fence(1), 'one again');
  await fencedUpload(blob, fence(2), new TextEncoder().encode('two'), {
    metadata: { kind: 'report' },
    blobHTTPHeaders: { blobContentType: 'text/csv' },
  });
  await expect(fencedUpload(blob, fence(1), 'late')).rejects.toMatchObject({ code: 'STALE_TOKEN', facts: { token: 1, storedToken: 2 } });
  expect(await text(blob)).toBe('two');
  expect(await blob.getProperties()).toMatchObject({ contentType: 'text/csv', metadata: { kind: 'report', fence: '2' } });
});

it('I4 a blob that has no fence yet is taken over; one with a strange fence is not', async () => {
  const blob = container.getBlockBlobClient('plain');
  await blob.upload('old', 3);
  await fencedUpload(blob, fence(1), 'new');
  expect(await text(blob)).toBe('new');
  await blob.upload('old', 3, { metadata: { fence: 'x' } });
  await expect(fencedUpload(blob, fence(1), 'new')).rejects.toMatchObject({ code: 'STORE_MISCONFIGURED' });
});

it('I4 of writers that race, the one with the highest token stands', async () => {
  const blob = container.getBlockBlobClient('race');
  const written = await Promise.allSettled(Array.from({ length: 8 }, (_, i) => fencedUpload(blob, fence(i + 1), `${i + 1}`)));
  expect(written[7]?.status).toBe('fulfilled');
  for (const one of written) if (one.status === 'rejected') expect(one.reason).toMatchObject({ code: 'STALE_TOKEN' });
  expect(await text(blob)).toBe('8');
});

it.each(['drop-answer', 'duplicate', 'half-answer'] as const)(
  'I7 an upload whose answer is spoiled (%s) is not a conflict with itself',
  async (action) => {
    const name = randomUUID();
    for (const [token, value] of [
      [1, 'first'],
      [2, 'second'],
    ] as const) {
      proxy.clear();
      const fault = proxy.inject({ match: (request) => request.method === 'PUT', action });
      const { etag } = await fencedUpload(spoiled.getBlockBlobClient(name), fence(token), value);
      // The proxy returns the answer to the second copy: a conflict with the first.
      expect([201, 409, 412]).toContain((await fault.fired).status);
      // Recognised, not written once more.
      expect(proxy.count((request) => request.method === 'PUT')).toBeLessThanOrEqual(2);
      const blob = container.getBlockBlobClient(name);
      expect((await blob.getProperties()).etag).toBe(etag);
      expect(await text(blob)).toBe(value);
    }
  },
);

it('I8 an upload without an answer, and a service without an answer afterwards, is a doubt', async () => {
  proxy.clear();
  proxy.inject({ match: (request) => request.method === 'PUT', action: 'stall' });
  proxy.inject({ match: (request) => request.method === 'HEAD', nth: 2, times: 5, action: 'stall' });
  const upload = fencedUpload(spoiled.getBlockBlobClient(randomUUID()), fence(1), 'x', { requestTimeoutMs: 300 });
  await expect(upload).rejects.toMatchObject({ code: 'WRITE_UNKNOWN' });
  proxy.clear();
});

it('a fence without a token, and options that do not exist, are refused', async () => {
  const blob = container.getBlockBlobClient('x');
  await expect(fencedUpload(blob, { id: 'x', owner: 'x' } as never, 'x')).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
});

it('I4 claim on entry: a successor that reads first is safe, the late write of the old holder is refused', async () => {
  const blob = container.getBlockBlobClient('claimed');
  await fencedUpload(blob, fence(1), 'one', { metadata: { kind: 'report' }, blobHTTPHeaders: { blobContentType: 'text/csv' } });
  const { data, etag } = await fencedClaim(blob, fence(2));
  expect([String(data), (await blob.getProperties()).etag]).toEqual(['one', etag]);
  proxy.clear();
  expect(String((await fencedClaim(spoiled.getBlockBlobClient('claimed'), fence(2))).data)).toBe('one');
  expect(proxy.count(() => true)).toBe(3);
  await expect(fencedUpload(blob, fence(1), 'late')).rejects.toMatchObject({ code: 'STALE_TOKEN', facts: { token: 1, storedToken: 2 } });
  await expect(fencedClaim(blob, fence(1))).rejects.toMatchObject({ code: 'STALE_TOKEN' });
  await expect(fencedDelete(blob, fence(1))).rejects.toMatchObject({ code: 'STALE_TOKEN' });
  expect(await blob.getProperties()).toMatchObject({ contentType: 'text/csv', metadata: { kind: 'report', fence: '2' } });
  await fencedUpload(blob, fence(2), 'two');
  expect(await text(blob)).toBe('two');
});

it('a large blob is claimed in three requests too', async () => {
  const data = Buffer.alloc(9 * 1_048_576, 7);
  await fencedUpload(container.getBlockBlobClient('large'), fence(1), data);
  proxy.clear();
  expect((await fencedClaim(spoiled.getBlockBlobClient('large'), fence(2))).data?.equals(data)).toBe(true);
  expect(proxy.count(() => true)).toBe(3);
});

it('an empty blob is claimed as what it is', async () => {
  const blob = container.getBlockBlobClient('empty');
  await blob.upload('', 0);
  expect((await fencedClaim(blob, fence(1))).data).toEqual(Buffer.alloc(0));
});

it('I4 what does not exist can be claimed too, and a deletion keeps the fence: a stale holder brings nothing into being', async () => {
  const blob = container.getBlockBlobClient('absent');
  expect((await fencedClaim(blob, fence(2))).data).toBeUndefined();
  await expect(fencedUpload(blob, fence(1), 'late')).rejects.toMatchObject({ code: 'STALE_TOKEN' });
  expect(isFencedDeletion((await blob.getProperties()).metadata)).toBe(true);
  const { metadata = {} } = await blob.getProperties();
  await fencedUpload(blob, fence(2), 'two', { metadata: { ...metadata, FenceDeleted: 'true' } });
  expect(isFencedDeletion((await blob.getProperties()).metadata)).toBe(false);
  await fencedDelete(blob, fence(3));
  await expect(fencedUpload(blob, fence(2), 'late')).rejects.toMatchObject({ code: 'STALE_TOKEN' });
  expect((await fencedClaim(blob, fence(4))).data).toBeUndefined();
});

it('I4 of claims and uploads that race, a claim returns what stood under its own token, or is refused', async () => {
  for (let round = 0; round < 5; round += 1) {
    const blob = container.getBlockBlobClient(`claims-${round}`);
    await fencedUpload(blob, fence(1), 'one');
    const [claim, late] = await Promise.allSettled([fencedClaim(blob, fence(2)), fencedUpload(blob, fence(1), 'one, later')]);
    if (claim.status === 'rejected') throw claim.reason;
    // Either the late write came before the claim, which then returns it, or it was refused.
    expect(String(claim.value.data)).toBe(late.status === 'fulfilled' ? 'one, later' : 'one');
    expect(await text(blob)).toBe(String(claim.value.data));
  }
});

it.each(['drop-answer', 'duplicate', 'half-answer'] as const)(
  'I7 a claim whose answer is spoiled (%s) is not a conflict with itself',
  async (action) => {
    const name = randomUUID();
    await fencedUpload(container.getBlockBlobClient(name), fence(1), 'one');
    proxy.clear();
    const fault = proxy.inject({ match: (request) => request.method === 'PUT', action });
    const { data, etag } = await fencedClaim(spoiled.getBlockBlobClient(name), fence(2));
    await fault.fired;
    proxy.clear();
    expect([String(data), (await container.getBlockBlobClient(name).getProperties()).etag]).toEqual(['one', etag]);
  },
);
