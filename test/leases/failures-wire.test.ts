import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { keyParts, recordId } from '../../src/core/key.ts';
import type { Acquired, LeaseProvider } from '../../src/core/ports.ts';
import { LEASE_OPERATION, storeLeases } from '../../src/core/store-leases.ts';
import { azureTables, dynamodbs, type StoreSubject, type SubjectKind, WIRE_CLIENTS, type WireOperation } from '../support/stores.ts';
import { EMULATORS, freshStore, rawItem } from '../unit/stores/dynamodb-subject.ts';

const LEASE_MS = 30_000;
const LOST_ANSWERS = ['drop-answer', 'half-answer', 'duplicate', 'drop-request'] as const;
const idOf = (name: string): string => recordId(LEASE_OPERATION, [], keyParts(name));

function token(got: Acquired): number {
  if (got.kind !== 'acquired') throw new Error(got.kind);
  return got.token;
}

const all: readonly SubjectKind[] = [azureTables, ...(await dynamodbs())];

describe.each(all.map((kind) => [kind.name, kind] as const))('what has gone wrong between lock clients and their service, on %s', (_, kind) => {
  let subject: StoreSubject;
  /** Not through the proxy: sees what truly stands. */
  let direct: Required<LeaseProvider>;
  beforeAll(async () => {
    subject = await kind.start();
    direct = storeLeases(subject.store);
  }, 120_000);
  afterEach(() => subject.proxy?.clear());
  afterAll(() => subject?.stop());

  const wire = () => {
    if (subject.wire === undefined) throw new Error('no wire');
    return subject.wire;
  };
  const spoil = (name: string, operation: WireOperation, action: (typeof LOST_ANSWERS)[number]) =>
    wire().proxy.inject({ match: wire().is(operation, idOf(name)), action });

  describe.each(WIRE_CLIENTS)('over %s', (client) => {
    async function through<R>(work: (leases: LeaseProvider) => Promise<R>): Promise<R> {
      const store = wire().open(client);
      try {
        return await work(storeLeases(store));
      } finally {
        await store.close();
      }
    }
    /** A client that never tries again tells a doubt; asking again settles it. */
    async function settled<R>(ask: () => Promise<R>): Promise<R> {
      return ask().catch((error: { code?: string }) => {
        if (error.code !== 'WRITE_UNKNOWN' && error.code !== 'STORE_UNAVAILABLE') throw error;
        return ask();
      });
    }

    it.each(LOST_ANSWERS)('aws-sdk-java #2667, aws-sdk-go #3765 an acquisition that meets %s is not refused for its own write', async (action) => {
      const name = randomUUID();
      const owner = randomUUID();
      await through(async (leases) => {
        const { fired } = spoil(name, 'create', action);
        const first = token(await settled(() => leases.acquire(name, { owner, leaseMs: LEASE_MS })));
        await fired;
        expect(token(await leases.acquire(name, { owner, leaseMs: LEASE_MS }))).toBe(first);
        expect(await direct.read(name)).toMatchObject({ held: true, owner, token: first });
      });
    });

    it.each(LOST_ANSWERS)('dynamolock #280 a renewal and a release that meet %s are neither lost nor in the way of the next', async (action) => {
      const name = randomUUID();
      const owner = randomUUID();
      await through(async (leases) => {
        const holder = { owner, token: token(await leases.acquire(name, { owner, leaseMs: LEASE_MS })) };
        const renewal = spoil(name, 'replace', action);
        expect(await settled(() => leases.renew(name, { ...holder, leaseMs: LEASE_MS }))).toBe('renewed');
        await renewal.fired;
        expect(await leases.renew(name, { ...holder, leaseMs: LEASE_MS })).toBe('renewed');
        const release = spoil(name, 'replace', action);
        expect(await settled(() => leases.release(name, holder))).toBe('released');
        await release.fired;
        expect(await direct.read(name)).toMatchObject({ held: false, token: holder.token });
      });
    });
  });

  it('pekko-management #911 an acquisition that was given up and lands later holds for its own lease at most, and is not told as somebody’s', async () => {
    const name = randomUUID();
    const store = wire().open('a client that never tries again');
    const giveUp = new AbortController();
    const late = wire().proxy.inject({ match: wire().is('create', idOf(name)), action: { delayMs: 400, at: 'request' } });
    const abandoned = storeLeases(store).acquire(name, { owner: 'gone', leaseMs: 500 }, { signal: giveUp.signal });
    abandoned.catch(() => {});
    await late.fired;
    giveUp.abort();
    await expect(abandoned).rejects.toMatchObject({ code: 'WRITE_UNKNOWN' });
    await expect.poll(() => direct.read(name), { timeout: 5_000, interval: 20 }).toMatchObject({ held: true, owner: 'gone' });
    const landedAtMs = performance.now();
    await expect.poll(async () => (await direct.acquire(name, { owner: 'next', leaseMs: LEASE_MS })).kind, { timeout: 10_000 }).toBe('acquired');
    // A response's Date is cut to seconds.
    expect(performance.now() - landedAtMs).toBeLessThan(500 + kind.uncertaintyMs + 1_000 + 5_000);
    await store.close();
  }, 30_000);
});

describe.each(EMULATORS.map((emulator) => [emulator.name, emulator] as const))('rows on %s', (_, { start }) => {
  it('dyndb-mutex #14 the row of a lease carries no time to live: neither held, nor released, nor held back', async () => {
    const emulator = await start();
    try {
      const { store, tableName } = await freshStore(emulator);
      const leases = storeLeases(store);
      const client = emulator.client();
      const row = async () => Object.keys((await rawItem(client, tableName, idOf('job'))) ?? {});
      const owner = randomUUID();
      const holder = { owner, token: token(await leases.acquire('job', { owner, leaseMs: LEASE_MS })) };
      const held = await row();
      await leases.release('job', { ...holder, holdMs: 60_000, slotDone: 1 });
      const released = await row();
      expect(held.length).toBeGreaterThan(3);
      expect([...held, ...released].filter((name) => /ttl|expire/i.test(name))).toEqual([]);
    } finally {
      await emulator.stop();
    }
  }, 60_000);
});
