import { randomUUID } from 'node:crypto';
import { copyFile, readdir, rename, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { fileNameOf } from '../../../src/leases/file/file-name.ts';
import { fileLeases } from '../../../src/leases/file/index.ts';
import { SLOT_BYTES } from '../../../src/leases/file/slots.ts';
import { fileSubject, LONG_MS, NAME } from './file-subject.ts';

const on = fileSubject();

describe('I4 I5 the lock file deleted or replaced under a holder', () => {
  it('deleted: he is told so when he renews, and the next token is higher', async () => {
    const holder = await on.hold();
    await rm(on.path);
    const next = await on.hold();
    expect(next.token).toBeGreaterThan(holder.token);
    expect(await on.renew(holder)).toBe('lost');
    expect(await on.leases.release(NAME, { ...holder, slotDone: 5 })).toBe('lost');
    expect(await on.leases.read(NAME)).toMatchObject({ held: true, owner: next.owner });
    expect((await on.leases.read(NAME))?.lastSlot).toBeUndefined();
    expect(await on.renew(next)).toBe('renewed');
  });

  it('deleted, and nobody has made a new one: lost all the same, since somebody may have had it in between', async () => {
    const holder = await on.hold();
    await rm(on.path);
    expect(await on.renew(holder)).toBe('lost');
    expect(await on.openFiles()).toEqual([]);
    expect(await on.leases.release(NAME, holder)).toBe('lost');
  });

  it('replaced by a copy: he is told so, and asking again with the same owner gives a new lease, not the old one', async () => {
    const holder = await on.hold();
    await copyFile(on.path, `${on.path}.copy`);
    await rename(`${on.path}.copy`, on.path);
    const again = await on.leases.acquire(NAME, { owner: holder.owner, leaseMs: LONG_MS });
    expect(again.kind === 'acquired' && again.token).toBeGreaterThan(holder.token);
    expect(await on.renew(holder)).toBe('lost');
  });

  it('deleted again and again while it is asked for: no two are given the same token, and it comes to rest', async () => {
    const tokens: number[] = [];
    let over = false;
    const asking = Array.from({ length: 4 }, async () => {
      while (!over) {
        const owner = randomUUID();
        const got = await on.leases.acquire(NAME, { owner, leaseMs: LONG_MS }).catch(({ code }) => ({ kind: code }) as const);
        expect(['acquired', 'held', 'STORE_UNAVAILABLE']).toContain(got.kind);
        if (!('token' in got)) continue;
        tokens.push(got.token);
        await on.leases.release(NAME, { owner, token: got.token });
      }
    });
    for (let round = 0; round < 30; round += 1) {
      await rm(on.path, { force: true });
      await pause(20 + 2 * round);
    }
    over = true;
    await Promise.all(asking);
    expect(tokens.length).toBeGreaterThan(5);
    expect(new Set(tokens).size).toBe(tokens.length);
    expect((await on.hold()).token).toBeGreaterThan(Math.max(...tokens));
  });

  it('damaged in both slots: refused, not begun anew by itself; breaking begins anew, with a higher token', async () => {
    const holder = await on.hold({ slot: 1 });
    await on.leases.release(NAME, { ...holder, slotDone: 1 });
    await truncate(on.path, 0);
    await writeFile(on.path, 'x'.repeat(3 * SLOT_BYTES));
    for (const call of [on.ask(), on.leases.read(NAME)]) await expect(call).rejects.toMatchObject({ code: 'STORE_MISCONFIGURED' });
    expect(await on.openFiles()).toEqual([]);
    await on.leases.break(NAME);
    expect((await on.hold()).token).toBeGreaterThan(holder.token);
  });

  it('I10 emptied, as by a crash in the middle of the first write: begun anew', async () => {
    const { token } = await on.hold();
    await on.leases.break(NAME);
    await writeFile(on.path, 'rerunsafe-1 1 20');
    expect(await on.leases.read(NAME)).toBeUndefined();
    expect((await on.hold()).token).toBeGreaterThan(token);
  });
});

describe('I4 I5 breaking', () => {
  it('three parties: the old holder is lost and fenced, the next holds, a third is held off, and the marks go along', async () => {
    const done = await on.hold({ slot: 7 });
    await on.leases.release(NAME, { ...done, slotDone: 7 });
    const old = await on.hold();
    await fileLeases({ directory: on.directory }).break(NAME);
    const state = await on.leases.read(NAME);
    expect(state).toMatchObject({ held: false, lastSlot: 7 });
    expect(state?.token).toBeGreaterThan(old.token);
    const next = await on.hold();
    expect(next.token).toBeGreaterThan(state?.token ?? 0);
    expect(await on.ask()).toMatchObject({ kind: 'held' });
    expect(await on.renew(old)).toBe('lost');
    expect(await on.leases.release(NAME, { ...old, slotDone: 9, holdMs: LONG_MS })).toBe('lost');
    expect(await on.leases.read(NAME)).toMatchObject({ held: true, owner: next.owner, lastSlot: 7 });
    expect(await on.renew(next)).toBe('renewed');
  });

  it('under load: no two tokens are equal, none is lower than one before, nothing is left behind', async () => {
    const tokens: number[] = [];
    let over = false;
    const acquiring = Array.from({ length: 3 }, async () => {
      while (!over) {
        const owner = randomUUID();
        const got = await on.leases.acquire(NAME, { owner, leaseMs: LONG_MS });
        if (got.kind === 'acquired') {
          tokens.push(got.token);
          await on.leases.release(NAME, { owner, token: got.token });
        } else await new Promise((resolve) => setImmediate(resolve));
      }
    });
    for (let round = 0; round < 10; round += 1) {
      await Promise.all([on.leases.break(NAME), fileLeases({ directory: on.directory }).break(NAME)]);
      const known = tokens.length;
      await expect.poll(() => tokens.length).toBeGreaterThan(known);
    }
    over = true;
    await Promise.all(acquiring);
    expect(new Set(tokens).size).toBe(tokens.length);
    expect((await on.leases.read(NAME))?.token).toBe(Math.max(...tokens));
    expect((await readdir(on.directory)).sort()).toEqual([`.${fileNameOf(NAME)}.break`, fileNameOf(NAME)]);
    expect(await on.openFiles()).toEqual([]);
  });

  it('a break that was killed in the middle hinders neither the holder nor the next break', async () => {
    const holder = await on.hold();
    await writeFile(join(on.directory, `.${fileNameOf(NAME)}.new`), 'half');
    expect(await on.renew(holder)).toBe('renewed');
    await on.leases.break(NAME);
    expect(await on.renew(holder)).toBe('lost');
    expect((await on.hold()).token).toBeGreaterThan(holder.token);
  });
});
