import { createHash } from 'node:crypto';
import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { fileLeases } from '../../../src/leases/file/index.ts';
import { fileSubject, LONG_MS, NAME } from './file-subject.ts';

const on = fileSubject();
const GOOD = { owner: 'me', token: 1, leaseMs: LONG_MS };
const SET_UP = 'The store cannot be used as it is set up: ';
const said = (call: Promise<unknown>): Promise<string | undefined> =>
  call.then(
    () => undefined,
    ({ message }: Error) => message,
  );
const all = (from = on.leases): [what: string, call: () => Promise<unknown>][] => [
  ['acquire', () => from.acquire(NAME, GOOD)],
  ['renew', () => from.renew(NAME, GOOD)],
  ['release', () => from.release(NAME, GOOD)],
  ['read', () => from.read(NAME)],
  ['break', () => from.break(NAME)],
];

describe('a provider of leases in files', () => {
  it('says who it is, and for how long it gives leases; wrong options are refused at once', () => {
    expect([on.leases.name, on.leases.limits]).toEqual(['file', { minLeaseMs: 100, maxLeaseMs: 2_147_483_647 }]);
    expect(() => fileLeases({ directory: 'a' })).toThrow(expect.objectContaining({ code: 'INVALID_OPTIONS' }));
  });

  it('a directory that was not there may be there the next time', async () => {
    const directory = join(on.root, 'late');
    const late = fileLeases({ directory });
    for (const [, call] of all(late)) expect(await said(call())).toContain('look at the directory for leases: ENOENT');
    mkdirSync(directory, { mode: 0o700 });
    expect(await late.acquire(NAME, GOOD)).toMatchObject({ kind: 'acquired' });
    expect(await late.release(NAME, GOOD)).toBe('released');
  });

  it('I8 what fails is said with what was tried, by whatever it was', async () => {
    const { token } = await on.leases.acquire(NAME, GOOD).then((got) => got as { token: number });
    renameSync(on.directory, `${on.directory}-away`);
    writeFileSync(on.directory, '');
    for (const [what, call] of all()) {
      const expected = what === 'renew' ? undefined : `${SET_UP}${what} the lease: ENOTDIR`;
      if (expected !== undefined) expect(await said(call())).toMatch(new RegExp(`^${expected}`));
      else expect(await call()).toBe('lost');
    }
    const renewed = on.leases.renew(NAME, { ...GOOD, token });
    expect(await said(renewed)).toMatch(new RegExp(`^${SET_UP}renew the lease: ENOTDIR`));
  });

  it('I5 an entry that is no JSON, though its checksum is right, wants a person', async () => {
    const sum = createHash('sha256').update('1 no').digest('hex').slice(0, 32);
    writeFileSync(on.path, `rerunsafe-1 1 2 ${sum}\nno\n`);
    for (const [what, call] of all().filter(([each]) => each === 'acquire' || each === 'read')) {
      expect(await said(call())).toBe(`${SET_UP}${what} the lease: the lock file holds an entry that is no JSON. Break the lease.`);
    }
  });

  it('keeps the first 256 characters of a label; each lease is a file of its own, and each owner has his own', async () => {
    await on.leases.acquire(NAME, { ...GOOD, label: 'x'.repeat(300) });
    expect((await on.leases.read(NAME))?.label).toBe('x'.repeat(256));
    expect(await on.leases.acquire('other', GOOD)).toMatchObject({ kind: 'acquired' });
    expect(await on.leases.acquire(NAME, { ...GOOD, owner: 'you' })).toMatchObject({ kind: 'held' });
    expect(await on.leases.release(NAME, { ...GOOD, owner: 'you' })).toBe('lost');
    expect(await on.leases.release(NAME, GOOD)).toBe('released');
  });

  it('I1 a slot, its mark and the minimum hold reach the file', async () => {
    await on.leases.acquire(NAME, { ...GOOD, slot: 5 });
    expect(await on.leases.release(NAME, { ...GOOD, slotDone: 5, holdMs: LONG_MS })).toBe('released');
    expect(await on.leases.read(NAME)).toMatchObject({ held: true, lastSlot: 5 });
    await on.leases.break(NAME);
    expect(await on.leases.acquire(NAME, { ...GOOD, slot: 5 })).toStrictEqual({ kind: 'slot-done' });
  });

  it('I12 a break that was given up before it began changes nothing', async () => {
    await on.leases.acquire(NAME, GOOD);
    expect(await said(on.leases.break(NAME, { signal: AbortSignal.abort(new Error('enough')) }))).toContain('(break the lease: enough)');
    expect(await on.leases.read(NAME)).toMatchObject({ held: true, owner: 'me' });
  });

  it.each<[string, object, string]>([
    ['acquire', { owner: '' }, 'owner must be a string of 1 to 256 characters'],
    ['acquire', { leaseMs: 99 }, 'leaseMs must be from 100 to 2147483647 ms'],
    ['acquire', { label: 7 }, 'label must be a string'],
    ['acquire', { slot: -1 }, 'slot must be a whole number, at least 0'],
    ['renew', { owner: '' }, 'owner must be a string of 1 to 256 characters'],
    ['renew', { token: -1 }, 'token must be a whole number, at least 0'],
    ['renew', { leaseMs: 99 }, 'leaseMs must be from 100 to 2147483647 ms'],
    ['release', { owner: '' }, 'owner must be a string of 1 to 256 characters'],
    ['release', { token: -1 }, 'token must be a whole number, at least 0'],
    ['release', { slotDone: -1 }, 'slotDone must be a whole number, at least 0'],
    ['release', { holdMs: -1 }, `holdMs must be from 0 to ${Math.floor(Number.MAX_SAFE_INTEGER / 2)} ms`],
  ])('%s with %j is refused in words', async (what, wrong, words) => {
    const call = (on.leases[what as 'acquire'] as (name: string, given: object) => Promise<unknown>)(NAME, { ...GOOD, ...wrong });
    expect(await said(call)).toBe(`a file lease: ${words}.`);
  });
});
