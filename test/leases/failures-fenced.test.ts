import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Fence } from '../../src/core/ports.ts';
import { KINDS } from './kinds.ts';
import { type OpenedLeases, openLeases } from './places.ts';

const LEASE_MS = 30_000;

describe.each(Object.entries(KINDS))('stores that refuse a stale holder, %s', (_, start) => {
  let opened: OpenedLeases;
  let stop: () => Promise<void>;
  beforeAll(async () => {
    const started = await start();
    stop = started.stop;
    opened = openLeases(started.place);
    await opened.leases.setUp();
  }, 120_000);
  afterAll(async () => {
    opened?.close();
    await stop?.();
  });

  async function hold(name: string): Promise<Fence> {
    const owner = randomUUID();
    const got = await opened.leases.acquire(name, { owner, leaseMs: LEASE_MS });
    if (got.kind !== 'acquired') throw new Error(got.kind);
    return { id: name, owner, token: got.token };
  }

  it('azure-functions-host #2950 #2968 the host gave the lease away while the old run went on: both write, and only the newer one lands', async () => {
    const { leases, counter } = opened;
    const old = await hold('run');
    await counter.claim(old);
    await counter.write(old, 1);
    await leases.break('run');
    const next = await hold('run');
    await counter.claim(next);
    await expect(counter.write(old, 66)).rejects.toMatchObject({ code: 'STALE_TOKEN' });
    await counter.write(next, 2);
    await expect(counter.write(old, 77)).rejects.toMatchObject({ code: 'STALE_TOKEN' });
    await expect(counter.claim(old)).rejects.toMatchObject({ code: 'STALE_TOKEN' });
    await counter.write(next, 3);
    expect(await counter.read()).toBe(3);
    expect(await leases.release('run', next)).toBe('released');
  });

  it('ShedLock #2201, awslabs #1 #62 a stale token is refused, with both tokens, wherever its lease went: broken or released; and after a journey as JSON', async () => {
    const { leases, counter } = opened;
    const fences: Fence[] = [];
    for (const end of [(one: Fence) => leases.release('fenced', one), () => leases.break('fenced')]) {
      const fence = JSON.parse(JSON.stringify(await hold('fenced'))) as Fence;
      await counter.claim(fence);
      await counter.write(fence, fences.length + 10);
      fences.push(fence);
      await end(fence);
    }
    const last = await hold('fenced');
    await counter.claim(last);
    for (const stale of fences) {
      const refused = { code: 'STALE_TOKEN', facts: { token: stale.token, storedToken: last.token } };
      await expect(counter.write(stale, 99)).rejects.toMatchObject(refused);
      await expect(counter.claim(stale)).rejects.toMatchObject(refused);
    }
    await counter.write(last, 12);
    await counter.write(last, 13);
    expect(await counter.read()).toBe(13);
  });
});
