import { randomUUID } from 'node:crypto';
import { BlobServiceClient, type ContainerClient } from '@azure/storage-blob';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Acquired, LeaseProvider } from '../../../src/core/ports.ts';
import { blobNameOf } from '../../../src/leases/azure-blob/blob-name.ts';
import { blobLeases } from '../../../src/leases/azure-blob/index.ts';
import { type Azurite, startAzurite } from '../../support/azurite.ts';

const SETTING = 'RERUNSAFE_TEST_AZURE_BLOB';
const LEASE_MS = 15_000;

let azurite: Azurite;
let container: ContainerClient;
let leases: LeaseProvider;

beforeAll(async () => {
  azurite = await startAzurite({ services: ['blob'] });
  process.env[SETTING] = azurite.connectionString;
  leases = blobLeases({ connection: SETTING });
  await leases.setUp?.();
  await leases.setUp?.();
  container = BlobServiceClient.fromConnectionString(azurite.connectionString).getContainerClient('rerunsafe-leases');
}, 60_000);

afterAll(async () => {
  delete process.env[SETTING];
  await azurite?.stop();
});

const acquire = (
  name: string,
  more: { owner?: string; slot?: number; label?: string; leaseMs?: number } = {},
  provider = leases,
): Promise<Acquired> => provider.acquire(name, { owner: randomUUID(), leaseMs: LEASE_MS, ...more });

async function hold(name: string, more: { owner?: string; slot?: number; label?: string; leaseMs?: number } = {}) {
  const owner = more.owner ?? randomUUID();
  const got = await acquire(name, { ...more, owner });
  if (got.kind !== 'acquired') throw new Error(`not acquired: ${got.kind}`);
  return { owner, token: got.token };
}

const code = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'no error',
    (error) => String(error.code),
  );

describe.concurrent('leases on blobs', () => {
  it('I5 the token grows over acquire and release', async () => {
    const name = randomUUID();
    const first = await hold(name);
    expect(await leases.release(name, first)).toBe('released');
    const second = await hold(name);
    expect(second.token).toBeGreaterThan(first.token);
  });

  it('I5 the token grows over the deletion of the blob', async () => {
    const name = randomUUID();
    let last = 0;
    for (let round = 0; round < 3; round += 1) {
      const held = await hold(name);
      expect(held.token).toBeGreaterThan(last);
      last = held.token;
      await leases.release(name, held);
      if (round === 0) last = (await hold(name)).token;
      await container
        .getBlobClient(blobNameOf('', name))
        .getBlobLeaseClient()
        .breakLease(0)
        .catch(() => {});
      await container.deleteBlob(blobNameOf('', name));
    }
  });

  it('I7 the same owner again gets the same lease and token, whatever the case of its letters', async () => {
    const name = randomUUID();
    const held = await hold(name);
    expect(await acquire(name, { owner: held.owner })).toEqual({ kind: 'acquired', token: held.token });
    expect(await acquire(name, { owner: held.owner.toUpperCase() })).toEqual({ kind: 'acquired', token: held.token });
    expect(await leases.renew(name, { owner: held.owner.toUpperCase(), token: held.token, leaseMs: LEASE_MS })).toBe('renewed');
  });

  it('I6 another owner is told that it is held; read shows by whom', async () => {
    const name = randomUUID();
    const held = await hold(name, { label: 'host-1 · Füße' });
    expect(await acquire(name)).toEqual({ kind: 'held' });
    expect(await leases.read(name)).toMatchObject({ held: true, owner: held.owner, token: held.token, label: 'host-1 · Füße' });
    await leases.release(name, held);
    expect(await leases.read(name)).toEqual({ held: false, token: held.token });
    expect(await leases.read(randomUUID())).toBeUndefined();
  });

  it('I7 releasing twice is released twice', async () => {
    const name = randomUUID();
    const held = await hold(name);
    expect(await leases.release(name, held)).toBe('released');
    expect(await leases.release(name, held)).toBe('released');
    const marked = await hold(name);
    expect(await leases.release(name, { ...marked, slotDone: 1, holdMs: 60_000 })).toBe('released');
    expect(await leases.release(name, { ...marked, slotDone: 1, holdMs: 90_000 })).toBe('released');
    expect((await leases.read(name))?.remainingMs).toBeLessThanOrEqual(62_000);
  });

  it('I4 a stale release or renewal leaves the successor alone', async () => {
    const name = randomUUID();
    const stale = await hold(name);
    await leases.release(name, stale);
    const successor = await hold(name);
    const elsewhere = blobLeases({ container });
    for (const provider of [leases, elsewhere]) {
      expect(await provider.release(name, stale)).toBe('lost');
      expect(await provider.release(name, { ...stale, slotDone: 9, holdMs: 60_000 })).toBe('lost');
      expect(await provider.renew(name, { ...stale, leaseMs: LEASE_MS })).toBe('lost');
    }
    expect(await leases.read(name)).toEqual({ held: true, owner: successor.owner, token: successor.token });
    expect(await leases.renew(name, { ...successor, leaseMs: LEASE_MS })).toBe('renewed');
  });

  it('I10 an acquisition is given back by a caller that never learnt its token', async () => {
    const name = randomUUID();
    const held = await hold(name);
    expect(await leases.release(name, { owner: held.owner, token: 0 })).toBe('released');
    expect((await acquire(name)).kind).toBe('acquired');
  });

  it('an owner that asks again for a slot it has done holds nothing', async () => {
    const name = randomUUID();
    const held = await hold(name, { slot: 1 });
    await leases.release(name, { ...held, slotDone: 1 });
    expect(await acquire(name, { owner: held.owner, slot: 1 })).toEqual({ kind: 'slot-done' });
    expect((await leases.read(name))?.held).toBe(false);
  });

  it('I6 a renewal from another process works, and one with a wrong token does not', async () => {
    const name = randomUUID();
    const held = await hold(name);
    const elsewhere = blobLeases({ container });
    expect(await elsewhere.renew(name, { ...held, leaseMs: LEASE_MS })).toBe('renewed');
    expect(await blobLeases({ container }).renew(name, { ...held, token: held.token - 1, leaseMs: LEASE_MS })).toBe('lost');
    expect(await elsewhere.release(name, held)).toBe('released');
    expect(await elsewhere.renew(randomUUID(), { ...held, leaseMs: LEASE_MS })).toBe('lost');
    expect(await elsewhere.release(randomUUID(), held)).toBe('lost');
  });

  it('I3 a slot that is done is not run again, an older one has passed, a failed one stays open', async () => {
    const name = randomUUID();
    const failed = await hold(name, { slot: 2000 });
    await leases.release(name, failed);
    const done = await hold(name, { slot: 2000 });
    expect(await leases.release(name, { ...done, slotDone: 2000 })).toBe('released');
    expect(await acquire(name, { slot: 2000 })).toEqual({ kind: 'slot-done' });
    expect(await acquire(name, { slot: 1000 })).toEqual({ kind: 'slot-passed', lastSlot: 2000 });
    const late = await hold(name);
    await leases.release(name, { ...late, slotDone: 1000 });
    expect(await leases.read(name)).toMatchObject({ held: false, lastSlot: 2000 });
    await hold(name, { slot: 3000 });
  });

  it('a minimum hold outlives the release, and ends', async () => {
    const name = randomUUID();
    const held = await hold(name, { label: 'me' });
    const sentAtMs = Date.now();
    expect(await leases.release(name, { ...held, holdMs: 1200 })).toBe('released');
    expect(await leases.read(name)).toMatchObject({ held: true, label: 'me', remainingMs: expect.any(Number) });
    let refusals = 0;
    for (;;) {
      const got = await acquire(name);
      if (got.kind === 'acquired') break;
      refusals += 1;
      expect(got).toMatchObject({ kind: 'held', label: 'me', retryAfterMs: expect.any(Number) });
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    expect(refusals).toBeGreaterThan(0);
    expect(Date.now() - sentAtMs).toBeGreaterThanOrEqual(1200);
    expect(Date.now() - sentAtMs).toBeLessThan(6000);
  });

  it('I4 a broken lease is free, and its old holder is fenced', async () => {
    const name = randomUUID();
    const old = await hold(name, { slot: 5 });
    await leases.break(name);
    const broken = await leases.read(name);
    expect(broken?.held).toBe(false);
    expect(broken?.token).toBeGreaterThan(old.token);
    expect(await leases.renew(name, { ...old, leaseMs: LEASE_MS })).toBe('lost');
    expect(await leases.release(name, { ...old, slotDone: 5 })).toBe('lost');
    expect(await leases.release(name, old)).toBe('lost');
    const next = await hold(name, { slot: 5 });
    expect(next.token).toBeGreaterThan(broken?.token ?? 0);
  });

  it('breaking also ends a minimum hold, keeps the slot, and is harmless where there is nothing', async () => {
    const name = randomUUID();
    const held = await hold(name);
    await leases.release(name, { ...held, slotDone: 5, holdMs: 600_000 });
    expect((await acquire(name)).kind).toBe('held');
    await leases.break(name);
    expect(await acquire(name, { slot: 5 })).toEqual({ kind: 'slot-done' });
    expect((await hold(name)).token).toBeGreaterThan(held.token);
    await leases.break(randomUUID());
  });

  it('a missing container is a matter of set-up, and says so', async () => {
    const nowhere = blobLeases({ connection: SETTING, containerName: 'not-made' });
    await expect(acquire('x', {}, nowhere)).rejects.toMatchObject({ code: 'STORE_MISCONFIGURED', message: expect.stringContaining('setUp()') });
    expect(await code(nowhere.read('x'))).toBe('STORE_MISCONFIGURED');
    expect(await code(nowhere.break('x'))).toBe('STORE_MISCONFIGURED');
  });

  it('I8 a service that is down is unavailable where that is certain, and a doubt where a client has retries of its own', async () => {
    const down = azurite.connectionString.replace(/127\.0\.0\.1:\d+/, '127.0.0.1:1');
    process.env[`${SETTING}_DOWN`] = down;
    expect(await code(acquire('x', {}, blobLeases({ connection: `${SETTING}_DOWN` })))).toBe('STORE_UNAVAILABLE');
    delete process.env[`${SETTING}_DOWN`];
    const given = (maxTries: number) =>
      blobLeases({
        container: BlobServiceClient.fromConnectionString(down, { retryOptions: { maxTries, retryDelayInMs: 20 } }).getContainerClient('c'),
      });
    expect(await code(acquire('x', {}, given(1)))).toBe('STORE_UNAVAILABLE');
    expect(await code(acquire('x', {}, given(2)))).toBe('WRITE_UNKNOWN');
    expect(await code(given(2).read('x'))).toBe('STORE_UNAVAILABLE');
  });

  it('a wrong key is a matter of set-up', async () => {
    const key = azurite.connectionString.replace(/AccountKey=[^;]+/, 'AccountKey=AAAA');
    const denied = blobLeases({ container: BlobServiceClient.fromConnectionString(key).getContainerClient('rerunsafe-leases') });
    expect(await code(acquire('x', {}, denied))).toBe('STORE_MISCONFIGURED');
  });

  it('an owner that is no GUID, a lease out of bounds and an impossible name are refused before any request', async () => {
    expect(await code(leases.acquire('x', { owner: 'host-1', leaseMs: LEASE_MS }))).toBe('INVALID_OPTIONS');
    for (const leaseMs of [14_999, 60_001, Number.NaN]) {
      expect(await code(leases.acquire('x', { owner: randomUUID(), leaseMs }))).toBe('INVALID_OPTIONS');
    }
    expect(await code(acquire(''))).toBe('INVALID_OPTIONS');
    expect(await code(acquire('x'.repeat(513)))).toBe('INVALID_OPTIONS');
    expect(await code(leases.release('x', { owner: 'host-1', token: 1 }))).toBe('INVALID_OPTIONS');
  });

  it.each(['a/b', '../up', 'ü/€/\u{1F512}', ' ', '?x=1&comp=lease#', '\n', '%2F', '\uD800', 'x/'.repeat(256)])('any name works (%#)', async (odd) => {
    const held = await hold(odd);
    expect(await leases.read(odd)).toMatchObject({ held: true, owner: held.owner });
    await leases.release(odd, held);
  });

  it('I12 a call that was given up before it began sends nothing', async () => {
    const name = randomUUID();
    const signal = AbortSignal.abort();
    expect(await code(leases.acquire(name, { owner: randomUUID(), leaseMs: LEASE_MS }, { signal }))).toBe('STORE_UNAVAILABLE');
    expect(await leases.read(name)).toBeUndefined();
  });

  it('I5 metadata that is not ours is refused, and the lease is given back', async () => {
    const name = randomUUID();
    const blob = container.getBlockBlobClient(blobNameOf('', name));
    await blob.upload('', 0, { metadata: { token: 'seven' } });
    expect(await code(acquire(name))).toBe('STORE_MISCONFIGURED');
    expect((await blob.getProperties()).leaseState).toBe('available');
  });
});

describe('time', () => {
  it('I4 I6 I10 a lease runs out: an abandoned one is taken over, a longer one stands, and a dead one is not revived', async () => {
    const [abandoned, dead, longer, revived] = [randomUUID(), randomUUID(), randomUUID(), randomUUID()];
    // Died between the lease and the token.
    const blob = container.getBlockBlobClient(blobNameOf('', abandoned));
    await blob.upload('', 0);
    await blob.getBlobLeaseClient(randomUUID()).acquireLease(15);
    expect((await acquire(abandoned)).kind).toBe('held');

    const early = await hold(revived, { leaseMs: 60_000 });
    await container.getBlobClient(blobNameOf('', revived)).getBlobLeaseClient(early.owner).releaseLease();
    await hold(revived);
    const died = await hold(dead);
    const stays = await hold(longer);
    expect(await leases.renew(longer, { ...stays, leaseMs: 30_000 })).toBe('renewed');

    await new Promise((resolve) => setTimeout(resolve, 15_700));

    expect((await acquire(abandoned)).kind).toBe('acquired');
    expect((await acquire(longer)).kind).toBe('held');
    // By its own clock it is still alive, and its successor's lease ran out: the emulator would renew that for anybody.
    expect(await leases.renew(revived, { ...early, leaseMs: LEASE_MS })).toBe('lost');
    const next = await hold(dead);
    expect(next.token).toBeGreaterThan(died.token);
    expect(await leases.release(dead, { ...died, slotDone: 1 })).toBe('lost');
    expect(await leases.release(dead, died)).toBe('lost');
    expect(await leases.read(dead)).toEqual({ held: true, owner: next.owner, token: next.token });
  }, 60_000);
});
