import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { acquire } from '../../../src/leases/file/acquire.ts';
import { Holds } from '../../../src/leases/file/holds.ts';
import { lockFile } from '../../../src/leases/file/locked-file.ts';
import { breakLease } from '../../../src/leases/file/operate.ts';
import { openPlace, type Place } from '../../../src/leases/file/place.ts';
import { claimed } from '../../../src/leases/file/record.ts';
import { decode, encode, nextSlot, SLOT_BYTES } from '../../../src/leases/file/slots.ts';
import { fileSubject, LONG_MS, NAME } from './file-subject.ts';

const on = fileSubject();

/** Calls `event` when the clock is read for the n-th time: a moment between two steps that no other process could be made to hit. */
async function placeWhere(event: (time: number) => void): Promise<Place> {
  const place = await openPlace(on.directory, 'user');
  let times = 0;
  return {
    ...place,
    stamp() {
      event(++times);
      return place.stamp();
    },
  };
}

describe('I4 I5 I6 between two steps of an acquisition', () => {
  it('deleted between opening and locking: the lock is taken on the file that is there', async () => {
    const { locks, access } = await openPlace(on.directory, 'user');
    let deleted = false;
    const tryLock = (fd: number): boolean => {
      if (!deleted) rmSync(on.path);
      deleted = true;
      return locks.tryLock(fd);
    };
    const file = await lockFile(on.path, { access, locks: { ...locks, tryLock } });
    if (file === 'held') throw new Error(file);
    expect(await file.isAt()).toBe(true);
    expect(await on.ask()).toMatchObject({ kind: 'held' });
    await file.close();
    expect(await on.openFiles()).toEqual([]);
  });

  it.each(['deleted', 'broken by an operator'])(
    '%s between locking and writing the token: what is handed out is on the file that is there',
    async (how) => {
      const before = await on.hold();
      await on.leases.release(NAME, before);
      let breaking: Promise<void> | undefined;
      const place = await placeWhere((time) => {
        if (time !== 1) return;
        if (how === 'deleted') rmSync(on.path);
        else breaking = on.leases.break(NAME);
      });
      const holds = new Holds();
      const wanted = { name: NAME, owner: 'me', leaseMs: LONG_MS, label: undefined, slot: undefined };
      const got = await acquire(place, holds, 'me', on.path, wanted);
      await breaking;
      if (got.kind === 'acquired') {
        // Broken after the token was handed out: the holder is fenced and told, as any other.
        const mine = holds.get('me');
        const stands = await on.leases.read(NAME);
        expect(got.token).toBeGreaterThan(before.token);
        if (await mine?.file.isAt()) expect(stands).toMatchObject({ held: true, token: got.token });
        else expect(stands?.token).toBeGreaterThan(got.token);
        if (how === 'deleted') expect(stands).toMatchObject({ held: true, owner: 'me' });
        await mine?.end();
      }
      expect(await on.openFiles()).toEqual([]);
    },
  );
});

describe('I6 I12 an acquisition that comes too late', () => {
  const request = (leaseMs: number) => ({ name: NAME, owner: 'me', leaseMs, label: undefined, slot: undefined });

  it('given up while the token is written: it is not handed out, and the lock is gone', async () => {
    const controller = new AbortController();
    const place = await placeWhere(() => controller.abort(new Error('enough')));
    const holds = new Holds();
    await expect(acquire(place, holds, 'me', on.path, request(LONG_MS), controller.signal)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    expect(holds.get('me')).toBeUndefined();
    expect(await on.ask()).toMatchObject({ kind: 'acquired' });
  });

  it('after its own deadline: it is not handed out, and the lock is gone', async () => {
    const place = await placeWhere((time) => void (time === 1 && Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 150)));
    await expect(acquire(place, new Holds(), 'me', on.path, request(100))).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    expect(await on.openFiles()).toEqual([]);
    expect(await on.ask()).toMatchObject({ kind: 'acquired' });
  });

  it('I5 the first token of a new file lies well behind the moment it was made: the last of one just deleted may be a few ahead of the clock', async () => {
    const fromMs = Date.now();
    expect((await on.hold()).token).toBeGreaterThanOrEqual(fromMs + 10);
  });
});

describe('I6 who looks at a lease has its lock for an instant', () => {
  it('and may lose the processor in it: where nobody has the lease, that is waited for', async () => {
    const { locks, access } = await openPlace(on.directory, 'user');
    await on.leases.release(NAME, await on.hold());
    const looker = await lockFile(on.path, { access, locks });
    if (looker === 'held') throw new Error(looker);
    const asking = on.ask();
    setTimeout(() => void looker.close(), 80);
    expect(await asking).toMatchObject({ kind: 'acquired' });
  });

  it('who keeps it is told as a holder, soon', async () => {
    const { locks, access } = await openPlace(on.directory, 'user');
    await on.leases.release(NAME, await on.hold());
    const keeper = await lockFile(on.path, { access, locks });
    if (keeper === 'held') throw new Error(keeper);
    const since = performance.now();
    expect(await on.ask()).toMatchObject({ kind: 'held' });
    expect(performance.now() - since).toBeLessThan(2_000);
    await keeper.close();
  });
});

describe('I4 I5 between two steps of a break', () => {
  it('a token that was given out, and a slot that was marked, after the look at the old file: the new one is above both, and is nobody’s before', async () => {
    const { locks } = await openPlace(on.directory, 'user');
    await on.leases.release(NAME, await on.hold());
    const { entry } = decode(await readFile(on.path));
    const ahead = Date.now() + 5_000;
    const lockedDuring: boolean[] = [];
    const place = await placeWhere((time) => {
      const fd = openSync(on.path, 'r+');
      if (time === 1) {
        const record = claimed(undefined, { name: NAME, owner: 'quick', label: undefined, leaseMs: LONG_MS }, ahead, { wallMs: 0, upMs: 0 });
        const bytes = encode((entry?.seq ?? 0) + 1, { ...record, lastSlot: 77 });
        writeSync(fd, bytes, 0, bytes.length, nextSlot(entry) * SLOT_BYTES);
      }
      lockedDuring.push(locks.isLocked(fd));
      closeSync(fd);
    });
    await breakLease(place, NAME, on.path, undefined);
    expect(lockedDuring).toEqual([false, true]);
    const state = await on.leases.read(NAME);
    expect(state).toMatchObject({ held: false, lastSlot: 77 });
    expect(state?.token).toBeGreaterThan(ahead);
    expect(await on.openFiles()).toEqual([]);
  });
});
