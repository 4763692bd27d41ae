import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { Worker } from 'node:worker_threads';
import { describe, expect, it } from 'vitest';
import { tryAcquire, withLease } from '../../../src/core/lease.ts';
import { instant, realSystem } from '../../../src/core/system.ts';
import { Hold } from '../../../src/leases/file/holds.ts';
import { fileLeases } from '../../../src/leases/file/index.ts';
import type { LockedFile } from '../../../src/leases/file/locked-file.ts';
import { released } from '../../../src/leases/file/record.ts';
import { countTimers } from '../../support/counting-timers.ts';
import { fileSubject, LONG_MS, NAME } from './file-subject.ts';

const on = fileSubject();

describe('a lease in a file', () => {
  it('I6 is held for a second provider of the same process too, and is nobody else’s to renew or release', async () => {
    const other = fileLeases({ directory: on.directory });
    const holder = await on.hold();
    expect(await on.ask(other)).toMatchObject({ kind: 'held' });
    expect(await other.renew(NAME, { ...holder, leaseMs: LONG_MS })).toBe('lost');
    expect(await other.release(NAME, holder)).toBe('lost');
    expect(await on.renew(holder)).toBe('renewed');
  });

  it('I7 asked for twice at once by the same owner, is given once', async () => {
    const owner = randomUUID();
    const [first, second] = await Promise.all([1, 2].map(() => on.leases.acquire(NAME, { owner, leaseMs: LONG_MS })));
    expect(first).toMatchObject({ kind: 'acquired' });
    expect(second).toEqual(first);
  });

  it('I7 released twice is released, until somebody else has it', async () => {
    const holder = await on.hold();
    expect(await on.leases.release(NAME, holder)).toBe('released');
    expect(await on.leases.release(NAME, holder)).toBe('released');
    await on.hold();
    expect(await on.leases.release(NAME, holder)).toBe('lost');
  });

  it('I7 an acquisition in doubt is given back by its owner alone, without the token', async () => {
    const { owner } = await on.hold();
    expect(await on.leases.release(NAME, { owner, token: 0 })).toBe('released');
    expect(await on.ask()).toMatchObject({ kind: 'acquired' });
  });

  it('tells who has it, for how long, and that a holder is overdue', async () => {
    await on.leases.acquire(NAME, { owner: 'me', leaseMs: LONG_MS, label: 'host-1' });
    expect(await on.ask()).toMatchObject({ kind: 'held', label: 'host-1' });
    const state = await on.leases.read(NAME);
    expect(state).toMatchObject({ held: true, owner: 'me', label: 'host-1' });
    expect(state?.remainingMs).toBeGreaterThan(LONG_MS - 10_000);
    await on.rewrite((record) => ({ ...record, leaseMs: 1, at: { ...record.at, wallMs: 0, upMs: 0 } }));
    expect(await on.leases.read(NAME)).toMatchObject({ held: true, remainingMs: 0 });
    expect(await on.ask()).toEqual({ kind: 'held', label: 'host-1' });
  });

  it('I6 a renewal needs no disk, and moves on what others are told', async () => {
    const holder = await on.hold({ leaseMs: 1_000 });
    expect(await on.renew(holder)).toBe('renewed');
    await expect.poll(async () => (await on.leases.read(NAME))?.remainingMs).toBeGreaterThan(LONG_MS - 10_000);
  });

  it('the minimum hold outlives the process and a restart of the host, by the wall clock then', async () => {
    const holder = await on.hold();
    await on.leases.release(NAME, { ...holder, holdMs: LONG_MS });
    expect(await on.ask(fileLeases({ directory: on.directory }))).toMatchObject({ kind: 'held' });
    await on.rewrite((record) => ({ ...record, at: { ...record.at, boot: 'the one before' } }));
    expect(await on.ask()).toMatchObject({ kind: 'held' });
    expect(await on.leases.read(NAME)).toMatchObject({ held: true });
    await on.rewrite((record) => ({ ...record, at: { ...record.at, wallMs: Date.now() - LONG_MS } }));
    expect(await on.ask()).toMatchObject({ kind: 'acquired' });
  });
});

describe('I6 I12 a lease ends on time, without its holder asking', () => {
  it('and leaves no open file, no timer', async () => {
    const timers = countTimers();
    try {
      const holder = await on.hold({ leaseMs: 500 });
      expect((await on.openFiles()).length).toBe(1);
      await expect.poll(() => on.openFiles()).toEqual([]);
      expect(await on.renew(holder)).toBe('lost');
      const next = await on.hold();
      expect(next.token).toBeGreaterThan(holder.token);
      await on.leases.release(NAME, next);
      await on.leases.acquire(NAME, { owner: 'x', leaseMs: 100, slot: 1 }).then(() => on.leases.release(NAME, { owner: 'x', token: 0, slotDone: 1 }));
      expect(await on.leases.acquire(NAME, { owner: 'y', leaseMs: 100, slot: 1 })).toEqual({ kind: 'slot-done' });
      await on.leases.break(NAME);
      await on.leases.read(NAME);
      expect(await on.openFiles()).toEqual([]);
      expect(timers.open()).toEqual([]);
    } finally {
      timers.stop();
    }
  });

  it('after a stall of the whole process too: assertHeld throws at once, the lock goes as soon as the process turns to it', async () => {
    const got = await tryAcquire(on.leases, NAME, { leaseMs: 200 });
    if (got.kind !== 'acquired') throw new Error(got.kind);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300);
    expect(() => got.lease.assertHeld()).toThrow(expect.objectContaining({ code: 'LEASE_LOST' }));
    await expect.poll(() => on.ask()).toMatchObject({ kind: 'acquired' });
    expect(await got.lease.release()).toBe('lost');
  });

  it('I6 and not a moment before it has run out, though the wall clock is read in whole ms', async () => {
    const tooEarlyMs = await Promise.all(
      Array.from({ length: 60 }, async (_, n) => {
        await new Promise((resolve) => setTimeout(resolve, n * 1.3));
        const since = instant(realSystem.clock);
        return new Promise<number>((resolve) => {
          const close = async (): Promise<void> => resolve(100 - (performance.now() - since.monotonicMs));
          new Hold({ close } as LockedFile, 1, 100, since, () => {});
        });
      }),
    );
    expect(Math.max(...tooEarlyMs)).toBeLessThanOrEqual(0);
  });

  it('I6 kept alive by renewals, it outlasts its length many times', async () => {
    const result = await withLease(on.leases, NAME, { leaseMs: 1_000 }, async (lease) => {
      await new Promise((resolve) => setTimeout(resolve, 2_500));
      lease.assertHeld();
      return on.ask();
    });
    expect(result).toMatchObject({ kind: 'done', value: { kind: 'held' } });
    expect(await on.ask()).toMatchObject({ kind: 'acquired' });
  });

  it('a thread that is ended gives back what it held', async () => {
    const worker = new Worker(
      `const { workerData, parentPort } = require('node:worker_threads');
       import(workerData.module).then(({ fileLeases }) => fileLeases({ directory: workerData.directory })
         .acquire(${JSON.stringify(NAME)}, { owner: 'thread', leaseMs: 60000 })).then((got) => parentPort.postMessage(got));
       setInterval(() => {}, 1000);`,
      { eval: true, workerData: { directory: on.directory, module: new URL('../../../src/leases/file/index.ts', import.meta.url).href } },
    );
    expect(await new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject))).toMatchObject({ kind: 'acquired' });
    expect(await on.ask()).toMatchObject({ kind: 'held' });
    await worker.terminate();
    expect(await on.ask()).toMatchObject({ kind: 'acquired' });
  });
});

it('I12 a call that is given up while it waits for its turn hands out nothing and leaves nothing open', async () => {
  const controller = new AbortController();
  const owner = randomUUID();
  const asked = on.leases.acquire(NAME, { owner, leaseMs: LONG_MS }, { signal: controller.signal });
  controller.abort(new Error('gone'));
  await expect(asked).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
  expect(await on.openFiles()).toEqual([]);
  expect(await on.ask()).toMatchObject({ kind: 'acquired' });
});

/** The types of `released` and of a file agree: a mark written by hand is found. */
it('a file can be read by people: name, owner and label stand in it', async () => {
  const holder = await on.hold();
  await on.rewrite((record) => released(record, { slotDone: 3, holdMs: 0 }, record.at));
  const text = (await readFile(on.path)).toString();
  expect(text).toContain(`"name":"${NAME}"`);
  expect(text).toContain(holder.owner);
  expect(await on.leases.read(NAME)).toMatchObject({ lastSlot: 3 });
});
