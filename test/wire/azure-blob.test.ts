import { randomUUID } from 'node:crypto';
import { BlobServiceClient } from '@azure/storage-blob';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { LeaseProvider } from '../../src/core/ports.ts';
import { blobLeases } from '../../src/leases/azure-blob/index.ts';
import { type Azurite, startAzurite } from '../support/azurite.ts';
import { type FaultProxy, type ProxiedRequest, startFaultProxy } from '../support/proxy.ts';

const SETTING = 'RERUNSAFE_TEST_AZURE_BLOB_WIRE';
const LEASE_MS = 30_000;

let azurite: Azurite;
let proxy: FaultProxy;
/** Not through the proxy: sees what truly stands. */
let direct: LeaseProvider;
/** Names that have a token already: seeding one takes up to a second each. */
const seeded: string[] = [];
const SEEDED = 110;

beforeAll(async () => {
  azurite = await startAzurite({ services: ['blob'] });
  proxy = await startFaultProxy({ targetPort: Number(new URL(azurite.blobUrl).port) });
  process.env[SETTING] = azurite.connectionString.replace(azurite.blobUrl, `${proxy.url}/devstoreaccount1`);
  direct = blobLeases({
    container: BlobServiceClient.fromConnectionString(azurite.connectionString).getContainerClient('rerunsafe-leases'),
  });
  await direct.setUp?.();
  seeded.push(...(await Promise.all(Array.from({ length: SEEDED }, () => seed(randomUUID())))));
}, 60_000);

afterEach(() => proxy.clear());

afterAll(async () => {
  delete process.env[SETTING];
  await proxy?.stop();
  await azurite?.stop();
});

const lease = (action: string) => (request: ProxiedRequest) => request.headers['x-ms-lease-action'] === action;
const REQUESTS = {
  acquire: lease('acquire'),
  renew: lease('renew'),
  release: lease('release'),
  break: lease('break'),
  metadata: (request: ProxiedRequest) => request.method === 'PUT' && request.path.includes('comp=metadata'),
  create: (request: ProxiedRequest) => request.headers['x-ms-blob-type'] === 'BlockBlob',
  properties: (request: ProxiedRequest) => request.method === 'HEAD',
};

const PROVIDERS: Record<string, () => LeaseProvider> = {
  'a client of our own': () => blobLeases({ connection: SETTING }),
  'a client with the retries of the SDK': () => {
    const service = BlobServiceClient.fromConnectionString(process.env[SETTING] ?? '', { retryOptions: { maxTries: 4, retryDelayInMs: 20 } });
    return blobLeases({ container: service.getContainerClient('rerunsafe-leases') });
  },
};

async function seed(name: string): Promise<string> {
  await direct.release(name, await hold(direct, name));
  return name;
}

function seededName(): string {
  const name = seeded.pop();
  if (name === undefined) throw new Error('more names are used than were seeded');
  return name;
}

async function hold(leases: LeaseProvider, name: string, slot?: number) {
  const owner = randomUUID();
  const got = await leases.acquire(name, { owner, leaseMs: LEASE_MS, ...(slot === undefined ? {} : { slot }) });
  expect(got.kind).toBe('acquired');
  return { owner, token: got.kind === 'acquired' ? got.token : 0 };
}

describe.each(Object.entries(PROVIDERS))('answers that are lost, over %s', (_, make) => {
  describe.each(['drop-answer', 'half-answer', 'duplicate', 'drop-request'] as const)('%s', (action) => {
    it.each(['acquire', 'create', 'properties', 'metadata'] as const)('I7 acquiring is not refused for its own request (%s)', async (request) => {
      const leases = make();
      const name = request === 'create' ? randomUUID() : seededName();
      const { fired } = proxy.inject({ match: REQUESTS[request], action });
      const held = await hold(leases, name);
      await fired;
      expect(await direct.read(name)).toMatchObject({ held: true, owner: held.owner, token: held.token });
      expect(await leases.acquire(name, { owner: held.owner, leaseMs: LEASE_MS })).toEqual({ kind: 'acquired', token: held.token });
      expect(await leases.release(name, held)).toBe('released');
    });

    it('I7 a renewal is not lost', async () => {
      const leases = make();
      const name = seededName();
      const held = await hold(leases, name);
      const { fired } = proxy.inject({ match: REQUESTS.renew, action });
      expect(await leases.renew(name, { ...held, leaseMs: LEASE_MS })).toBe('renewed');
      await fired;
    });

    it('I7 a lease is made longer all the same', async () => {
      const leases = make();
      const name = seededName();
      const held = await hold(leases, name);
      const { fired } = proxy.inject({ match: REQUESTS.acquire, action });
      expect(await leases.renew(name, { ...held, leaseMs: 60_000 })).toBe('renewed');
      await fired;
    });

    it.each(['release', 'metadata', 'properties'] as const)('I7 a release is released, once, with its marks (%s)', async (request) => {
      const leases = make();
      const name = seededName();
      const held = await hold(leases, name, 7);
      const { fired } = proxy.inject({ match: REQUESTS[request], action });
      expect(await leases.release(name, { ...held, slotDone: 7, holdMs: 60_000 })).toBe('released');
      await fired;
      expect(await direct.read(name)).toMatchObject({ held: true, lastSlot: 7, token: held.token });
      expect(await direct.acquire(name, { owner: randomUUID(), leaseMs: LEASE_MS, slot: 7 })).toEqual({ kind: 'slot-done' });
    });

    it.each(['break', 'metadata'] as const)('I4 breaking raises the token (%s)', async (request) => {
      const leases = make();
      const name = seededName();
      const held = await hold(leases, name);
      const { fired } = proxy.inject({ match: REQUESTS[request], action });
      await leases.break(name);
      await fired;
      const state = await direct.read(name);
      expect(state?.held).toBe(false);
      expect(state?.token).toBeGreaterThan(held.token);
    });
  });

  it('I8 an acquisition without any answer is a doubt; the same owner mends it', async () => {
    const leases = make();
    const name = seededName();
    const owner = randomUUID();
    proxy.inject({ match: REQUESTS.acquire, times: 100, action: 'drop-answer' });
    await expect(leases.acquire(name, { owner, leaseMs: LEASE_MS })).rejects.toMatchObject({ code: 'WRITE_UNKNOWN' });
    proxy.clear();
    expect((await leases.acquire(name, { owner, leaseMs: LEASE_MS })).kind).toBe('acquired');
    expect(await direct.acquire(name, { owner: randomUUID(), leaseMs: LEASE_MS })).toEqual({ kind: 'held' });
  });

  it('I8 I10 a token that cannot be confirmed is not handed out, and the lease is given back', async () => {
    const leases = make();
    const name = seededName();
    const standing = (await direct.read(name))?.token ?? 0;
    proxy.inject({ match: REQUESTS.metadata, times: 100, action: 'drop-request' });
    await expect(leases.acquire(name, { owner: randomUUID(), leaseMs: LEASE_MS })).rejects.toMatchObject({ code: 'WRITE_UNKNOWN' });
    expect(await direct.read(name)).toEqual({ held: false, token: standing });
  });

  it('I8 throttling: a client of our own knows that nothing happened', async () => {
    const leases = make();
    proxy.inject({ times: 100, action: { status: 503, headers: { 'x-ms-error-code': 'ServerBusy' } } });
    const refused = leases.acquire(randomUUID(), { owner: randomUUID(), leaseMs: LEASE_MS });
    await expect(refused).rejects.toMatchObject({ code: make === PROVIDERS['a client of our own'] ? 'STORE_UNAVAILABLE' : 'WRITE_UNKNOWN' });
  });

  it('I7 one bad answer does not end a renewal', async () => {
    const leases = make();
    const name = seededName();
    const held = await hold(leases, name);
    proxy.inject({ match: REQUESTS.renew, times: 2, action: { status: 500 } });
    expect(await leases.renew(name, { ...held, leaseMs: LEASE_MS })).toBe('renewed');
  });
});

it('I7 over a client of our own a lost answer to a release is told from a loss, although a successor is there already', async () => {
  const leases = blobLeases({ connection: SETTING });
  const name = seededName();
  const held = await hold(leases, name);
  const { fired } = proxy.inject({ match: REQUESTS.release, action: 'drop-answer' });
  // The second copy waits until the successor has the lease.
  proxy.inject({ match: REQUESTS.release, nth: 2, action: { delayMs: 700, at: 'request' } });
  const released = leases.release(name, held);
  await fired;
  const successor = await hold(direct, name);
  expect(await released).toBe('released');
  expect(await direct.read(name)).toMatchObject({ held: true, owner: successor.owner, token: successor.token });
});

it('I10 a request that hangs ends by its limit, and by the signal of the caller', async () => {
  const leases = blobLeases({ connection: SETTING, requestTimeoutMs: 300 });
  const name = seededName();
  const held = await hold(direct, name);
  proxy.inject({ match: REQUESTS.renew, times: 100, action: 'stall' });
  const sentAtMs = performance.now();
  await expect(leases.renew(name, { ...held, leaseMs: LEASE_MS })).rejects.toMatchObject({ code: 'WRITE_UNKNOWN' });
  expect(performance.now() - sentAtMs).toBeLessThan(2500);

  const patient = blobLeases({ connection: SETTING, requestTimeoutMs: 60_000 });
  const controller = new AbortController();
  const { fired } = proxy.inject({ match: REQUESTS.release, action: 'stall' });
  const released = patient.release(name, held, { signal: controller.signal });
  void fired.then(() => controller.abort());
  await expect(released).rejects.toMatchObject({ code: 'WRITE_UNKNOWN' });
});

it('I6 a late copy of an acquisition does not take the lease from its successor', async () => {
  const leases = blobLeases({ connection: SETTING, requestTimeoutMs: 200 });
  const name = seededName();
  const owner = randomUUID();
  const { fired } = proxy.inject({ match: REQUESTS.acquire, times: 100, action: { delayMs: 600, at: 'request' } });
  await expect(leases.acquire(name, { owner, leaseMs: LEASE_MS })).rejects.toMatchObject({ code: 'WRITE_UNKNOWN' });
  await fired;
  const successor = await hold(direct, name);
  await expect.poll(() => proxy.count((request) => request.status === 409), { timeout: 5000 }).toBeGreaterThan(0);
  expect(await direct.read(name)).toMatchObject({ held: true, owner: successor.owner, token: successor.token });
});

it('I6 giving back what is in doubt never frees what the same owner then acquired, however late it arrives', async () => {
  const leases = blobLeases({ connection: SETTING });
  const name = seededName();
  const owner = randomUUID();
  const controller = new AbortController();
  const stalled = proxy.inject({ match: REQUESTS.metadata, action: 'drop-request' });
  void stalled.fired.then(() => controller.abort());
  const late = proxy.inject({ match: REQUESTS.release, action: { delayMs: 1500, at: 'request' } });
  const first = leases.acquire(name, { owner, leaseMs: LEASE_MS }, { signal: controller.signal }).catch((error) => error.code);
  await late.fired;
  const again = await direct.acquire(name, { owner, leaseMs: LEASE_MS });
  expect(again.kind).toBe('acquired');
  expect(['WRITE_UNKNOWN', 'STORE_UNAVAILABLE']).toContain(await first);
  await expect.poll(() => proxy.count((request) => request.status === 412), { timeout: 5000 }).toBe(1);
  expect(await direct.acquire(name, { owner: randomUUID(), leaseMs: LEASE_MS })).toEqual({ kind: 'held' });
});
