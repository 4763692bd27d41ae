import { rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { acquire, type Wanted } from '../../../src/leases/file/acquire.ts';
import { Holds } from '../../../src/leases/file/holds.ts';
import { type LockedFile, lockFile } from '../../../src/leases/file/locked-file.ts';
import { openPlace, type Place } from '../../../src/leases/file/place.ts';
import { decode } from '../../../src/leases/file/slots.ts';
import type { Stamp } from '../../../src/leases/file/stamp.ts';
import { fileSubject, LONG_MS, NAME } from './file-subject.ts';

const on = fileSubject();
const WANTED: Wanted = { name: NAME, owner: 'me', leaseMs: LONG_MS, label: undefined, slot: undefined };
const refusal = (call: Promise<unknown>): Promise<unknown> => call.catch((error: unknown) => error);

/** `event` is called when the clock is read for the n-th time. */
async function stage(event: (time: number) => void = () => {}, more: Partial<Place> = {}) {
  const real = await openPlace(on.directory, 'user');
  let times = 0;
  const stamp = (): Stamp => {
    event(++times);
    return real.stamp();
  };
  const place: Place = { ...real, stamp, ...more };
  const holds = new Holds();
  const ask = (wanted: Partial<Wanted> = {}, signal?: AbortSignal) => acquire(place, holds, 'key', on.path, { ...WANTED, ...wanted }, signal);
  return { place, holds, ask, end: async () => holds.get('key')?.end() };
}
const standing = async (): Promise<unknown> => decode(await readFile(on.path)).entry?.body;

describe('who acquires a lease', () => {
  it('I5 has it once it is written: whose, for how long, and with what token', async () => {
    const { ask, holds, end } = await stage();
    const got = await ask({ label: 'host' });
    expect(got).toStrictEqual({ kind: 'acquired', token: expect.any(Number) });
    const token = (got as { token: number }).token;
    const at = { wallMs: expect.any(Number), upMs: expect.any(Number), boot: expect.any(String) };
    expect(await standing()).toStrictEqual({ name: NAME, token, state: 'held', owner: 'me', label: 'host', leaseMs: LONG_MS, at });
    expect([holds.get('key')?.token, holds.get('key')?.over]).toEqual([token, false]);
    await end();
    expect(await on.openFiles()).toEqual([]);
  });

  it('I7 and asks again has the same, with what it was told before; one that is over is given up for a new one', async () => {
    await on.leases.release(NAME, { ...(await on.hold()), slotDone: 5 });
    const { ask, holds, end } = await stage();
    const first = await ask();
    expect(first).toStrictEqual({ kind: 'acquired', token: expect.any(Number), lastSlot: 5 });
    expect(await ask({ slot: 5 }), 'the slot was looked at then').toStrictEqual(first);
    const before = holds.get('key');
    rmSync(on.path);
    const second = await ask();
    expect(second).toMatchObject({ kind: 'acquired' });
    expect([before?.over, holds.get('key') === before, await on.openFiles()]).toEqual([true, false, [on.path]]);
    await end();
  });

  it('I1 is told which slots are done; and then nothing stays open', async () => {
    await on.leases.release(NAME, { ...(await on.hold()), slotDone: 5 });
    const { ask } = await stage();
    expect(await ask({ slot: 5 })).toStrictEqual({ kind: 'slot-done' });
    expect(await ask({ slot: 4 })).toStrictEqual({ kind: 'slot-passed', lastSlot: 5 });
    expect(await on.openFiles()).toEqual([]);
  });

  it('is told who has it, and for how long, as the holder has last said', async () => {
    const holder = await stage();
    await holder.ask({ label: 'host 1', leaseMs: 1_000 });
    await holder.holds.get('key')?.file.writeAside({ token: holder.holds.get('key')?.token, leaseMs: LONG_MS, at: holder.place.stamp() });
    const other = await stage();
    const told = await other.ask({ owner: 'other' });
    expect(told).toStrictEqual({ kind: 'held', retryAfterMs: expect.any(Number), label: 'host 1' });
    expect((told as { retryAfterMs: number }).retryAfterMs).toBeGreaterThan(10_000);
    await holder.end();
  });

  it('waits a moment for a lock on a lease that nobody has, and is then told no more than that it is held', async () => {
    await on.leases.release(NAME, await on.hold());
    const { ask, place } = await stage();
    const keeper = (await lockFile(on.path, place)) as LockedFile;
    const since = performance.now();
    expect(await ask()).toStrictEqual({ kind: 'held' });
    expect(performance.now() - since).toBeGreaterThanOrEqual(245);
    await keeper.close();
  });

  it('I10 finds nobody to be told of where the file was deleted meanwhile, and makes it anew', async () => {
    const { place, holds, end } = await stage();
    let [locks, looks] = [0, 0];
    const tryLock = (fd: number): boolean => ++locks > 3 && place.locks.tryLock(fd);
    const access = {
      enumerable: true,
      // Asked for by who locks, and then by who looks.
      get: () => {
        looks += 1;
        if (looks === 2) rmSync(on.path);
        return place.access;
      },
    };
    const between = Object.defineProperty({ ...place, locks: { ...place.locks, tryLock } }, 'access', access);
    expect(await acquire(between, holds, 'key', on.path, WANTED)).toMatchObject({ kind: 'acquired' });
    expect(locks).toBe(4);
    await end();
  });

  it('a name that was just made is brought to the disk, and only that', async () => {
    const gone = { directory: join('/', 'nowhere', 'at all') };
    const first = await stage(() => {}, gone);
    expect(await refusal(first.ask())).toMatchObject({ code: 'ENOENT' });
    expect([first.holds.get('key'), await on.openFiles()]).toEqual([undefined, []]);
    const second = await stage(() => {}, gone);
    expect(await second.ask()).toMatchObject({ kind: 'acquired' });
    await second.end();
  });
});

describe('I6 I12 who comes too late', () => {
  it('since the call was given up: told so with the reason, and the lock is gone', async () => {
    const controller = new AbortController();
    const reason = new Error('enough');
    const { ask, holds } = await stage((time) => void (time === 2 && controller.abort(reason)));
    expect(await refusal(ask({}, controller.signal))).toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringContaining('(the call was given up: enough)'),
      cause: reason,
    });
    expect([holds.get('key'), await on.openFiles()]).toEqual([undefined, []]);
  });

  it('since the lease ended before it was written: told so, and the lock is gone', async () => {
    const stall = (time: number): void => void (time === 2 && Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 40));
    const { ask, holds } = await stage(stall);
    expect(await refusal(ask({ leaseMs: 30 }))).toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringContaining('(the lease ended before its token was on the disk)'),
    });
    expect([holds.get('key'), await on.openFiles()]).toEqual([undefined, []]);
  });

  it('I5 I10 where the file is deleted under each token, none is handed out, and it ends', async () => {
    let deleted = 0;
    const { ask, holds } = await stage((time) => {
      if (time % 2 === 1) return;
      deleted += 1;
      if (deleted > 30) throw new Error('asked for ever');
      rmSync(on.path);
    });
    expect(await refusal(ask())).toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringContaining(`${on.path} is deleted or replaced as often as it is locked`),
    });
    expect([deleted, holds.get('key'), await on.openFiles()]).toEqual([20, undefined, []]);
  });
});
