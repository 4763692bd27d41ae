import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { assertHeld, leaseHolding } from '../../../src/cli/commands/assert.ts';
import { list } from '../../../src/cli/commands/list.ts';
import { show } from '../../../src/cli/commands/show.ts';
import { status } from '../../../src/cli/commands/status.ts';
import { unlock } from '../../../src/cli/commands/unlock.ts';
import type { OpenPlace } from '../../../src/cli/places/open.ts';
import { UsageError } from '../../../src/cli/usage-error.ts';
import { tryAcquire } from '../../../src/core/lease.ts';
import { fileLeases } from '../../../src/leases/file/index.ts';
import { both, commandStage, printed } from './stage.ts';

const LEASE_MS = 60_000;

async function held(place: OpenPlace, name: string, more: { minHoldMs?: number; slot?: number } = {}) {
  const got = await tryAcquire(place.leases, name, { leaseMs: LEASE_MS, label: 'ann@build-7 pid 12', ...more });
  if (got.kind !== 'acquired') throw new Error(got.kind);
  return got.lease;
}

describe('locks in a store', () => {
  const stage = commandStage();
  const ask = (name: string) => both((out) => status({ place: stage.place, what: { kind: 'lease', name }, out }));

  it('I8 status: 3 never taken, 75 held and by whom, 75 in its minimum hold, 3 free with the last slot, 3 when its holder died', async () => {
    expect(await ask('a')).toMatchObject({ exitCode: 3, json: { kind: 'lease', state: 'none', held: false } });
    const lease = await held(stage.place, 'a', { minHoldMs: 30_000, slot: 1_767_225_600_000 });
    const taken = await ask('a');
    expect(taken).toMatchObject({
      exitCode: 75,
      json: { state: 'held', held: true, token: lease.token, holder: 'ann@build-7 pid 12', remainingMs: LEASE_MS },
    });
    expect(taken.text).toMatch(/^lock "a": taken, token \d+ by ann@build-7 pid 12, 1m left\n$/);
    await lease.release({ slotDone: true });
    expect(await ask('a')).toMatchObject({ exitCode: 75, json: { state: 'minimum-hold', held: false, lastSlot: '2026-01-01T00:00:00.000Z' } });
    stage.pass(31_000);
    const free = await ask('a');
    expect(free).toMatchObject({ exitCode: 3, json: { state: 'free', token: lease.token } });
    expect(free.text).toMatch(/free, token \d+, last held by ann.*; the last slot that is done: 202/);
    await held(stage.place, 'b');
    stage.pass(LEASE_MS + 1);
    expect(await ask('b')).toMatchObject({ exitCode: 3, json: { state: 'free' } });
    const shown = printed();
    expect(await show({ place: stage.place, what: { kind: 'lease', name: 'b' }, out: shown.out })).toBe(0);
    expect(shown.text()).toMatch(/^lock "b": free/);
  });

  it('I4 unlock: not without saying whose, not another one than was named; who loses it is told when it renews', async () => {
    const free = printed();
    expect(await unlock({ place: stage.place, name: 'u', out: free.out })).toBe(0);
    expect(free.text()).toBe('lock "u": nobody has taken it yet; nothing was changed\n');
    const lease = await held(stage.place, 'u');
    const { out } = printed();
    await expect(unlock({ place: stage.place, name: 'u', out })).rejects.toThrow(new RegExp(`--token ${lease.token}, or --force`));
    await expect(unlock({ place: stage.place, name: '', out })).rejects.toThrow(UsageError);
    const other = printed({ json: true });
    expect(await unlock({ place: stage.place, name: 'u', token: lease.token - 1, out: other.out })).toBe(75);
    expect(other.json()).toMatchObject([{ result: 'other-token', held: true }]);
    const broken = printed({ json: true });
    expect(await unlock({ place: stage.place, name: 'u', token: lease.token, out: broken.out })).toBe(0);
    expect(broken.json()).toMatchObject([{ result: 'broken', state: 'free', held: false }]);
    await expect(lease.renew()).rejects.toMatchObject({ code: 'LEASE_LOST' });
    const again = printed();
    expect(await unlock({ place: stage.place, name: 'u', force: true, out: again.out })).toBe(0);
    expect(again.text()).toBe('lock "u": nobody holds it; nothing was changed\n');
    const next = await held(stage.place, 'u');
    expect(next.token).toBeGreaterThan(lease.token);
    await held(stage.place, 'forced');
    expect(await unlock({ place: stage.place, name: 'forced', force: true, out })).toBe(0);
  });
});

describe('locks in files, a place with leases only', () => {
  let place: OpenPlace;
  let directory: string;
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'rerunsafe-locks-'));
    const leases = fileLeases({ directory });
    await leases.setUp();
    place = { url: `file:${directory}`, shown: `file:${directory}`, store: undefined, leases, close: async () => {} };
  });
  afterAll(() => rm(directory, { recursive: true, force: true }));

  it('I8 status, unlock and assert work as in a store; list and what is asked of records are refused', async () => {
    const ask = () => both((out) => status({ place, what: { kind: 'lease', name: 'f' }, out }));
    expect(await ask()).toMatchObject({ exitCode: 3, json: { state: 'none' } });
    const lease = await held(place, 'f');
    expect(await ask()).toMatchObject({ exitCode: 75, json: { state: 'held', token: lease.token, holder: 'ann@build-7 pid 12' } });
    const env = { RERUNSAFE_STORE: place.url, RERUNSAFE_FENCE: JSON.stringify({ kind: 'lease', ...lease.fence }) };
    const { out } = printed();
    const check = () => assertHeld({ env, open: async () => place, minMs: 1_000, out });
    expect(await check()).toBe(0);
    expect(await unlock({ place, name: 'f', token: lease.token, out })).toBe(0);
    expect(await check()).toBe(125);
    expect(await ask()).toMatchObject({ exitCode: 3, json: { state: 'free' } });
    await lease.release();
    await expect(list({ place, out })).rejects.toThrow(/keeps leases only/);
  });
});

it('I4 what a place tells of a lease, and what follows: the owner decides where it is told, the token always', () => {
  const fence = { id: 'n', owner: 'me', token: 7 };
  const why = (state: Parameters<typeof leaseHolding>[0]): unknown => {
    const holding = leaseHolding(state, fence);
    return holding.held ? 'held' : holding.why;
  };
  expect(why(undefined)).toBe('gone');
  expect(why({ held: true, token: 7 })).toBe('held');
  expect(why({ held: true, token: 7, owner: 'me', remainingMs: 1 })).toBe('held');
  expect(why({ held: true, token: 7, owner: 'other', remainingMs: 1 })).toBe('taken');
  expect(why({ held: true, token: 8, owner: 'me' })).toBe('taken');
  expect(why({ held: false, token: 7 })).toBe('ended');
  // A minimum hold.
  expect(why({ held: true, token: 7, remainingMs: 9 })).toBe('ended');
  // A file whose holder is stopped.
  expect(why({ held: true, token: 7, owner: 'me', remainingMs: 0 })).toBe('lapsed');
});
