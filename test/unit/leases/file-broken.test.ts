import { createHash } from 'node:crypto';
import { chmod, chown, mkdir, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { fileNameOf } from '../../../src/leases/file/file-name.ts';
import { fileLeases } from '../../../src/leases/file/index.ts';
import { lockFile } from '../../../src/leases/file/locked-file.ts';
import { breakLease } from '../../../src/leases/file/operate.ts';
import { openPlace } from '../../../src/leases/file/place.ts';
import { stampClock } from '../../../src/leases/file/stamp.ts';
import { fileSubject, LONG_MS, NAME } from './file-subject.ts';

const on = fileSubject();

describe('a request that lacks what it needs', () => {
  const good = { owner: 'o', token: 1, leaseMs: 1_000 };

  it.each([
    ['no leaseMs', { leaseMs: undefined }],
    ['a leaseMs that is no number', { leaseMs: Number.NaN }],
    ['no owner', { owner: undefined }],
  ])('I6 %s: refused by acquire and renew before anything is touched', async (_, wrong) => {
    for (const call of [on.leases.acquire(NAME, { ...good, ...wrong } as never), on.leases.renew(NAME, { ...good, ...wrong } as never)]) {
      await expect(call).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
    }
    expect(await readdir(on.directory)).toEqual([]);
  });

  it('no name, no owner, no token, a label that is no string: refused, and a lease that is held goes on', async () => {
    const holder = await on.hold();
    const calls = [
      on.leases.acquire(undefined as never, good),
      on.leases.renew(undefined as never, good),
      on.leases.release(undefined as never, good),
      on.leases.read(undefined as never),
      on.leases.break(undefined as never),
      on.leases.acquire('other', { ...good, label: 5 as never }),
      on.leases.renew(NAME, { ...holder } as never),
      on.leases.renew(NAME, { owner: holder.owner, leaseMs: 1_000 } as never),
      on.leases.release(NAME, { token: holder.token } as never),
      on.leases.release(NAME, { owner: holder.owner } as never),
    ];
    for (const call of calls) await expect(call).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
    expect(await on.renew(holder)).toBe('renewed');
    expect(await readdir(on.directory)).toEqual([fileNameOf(NAME)]);
  });
});

it('a lease of the longest length has a timer that Node can keep', async () => {
  const warnings: string[] = [];
  const onWarning = ({ name }: Error): void => void warnings.push(name);
  process.on('warning', onWarning);
  try {
    const leaseMs = on.leases.limits.maxLeaseMs;
    const holder = await on.hold({ leaseMs });
    expect(await on.leases.renew(NAME, { ...holder, leaseMs })).toBe('renewed');
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(warnings).toEqual([]);
    expect(await on.ask()).toMatchObject({ kind: 'held' });
    await on.leases.release(NAME, holder);
  } finally {
    process.off('warning', onWarning);
  }
});

if (process.platform === 'linux') {
  it('moments of two time namespaces are not counted from each other: the name of the start tells them apart', async () => {
    expect((await stampClock())().boot).toMatch(/^[0-9a-f-]{36} time:\[\d+\]$/);
  });
}

describe('setUp', () => {
  it.each([0o022, 0])('eight at once, under the umask %o: all succeed, and the directory is as asked for', async (umask) => {
    const before = process.umask(umask);
    try {
      for (let round = 0; round < 20; round += 1) {
        const parent = join(on.root, `at-once-${round}`, 'a');
        const directory = join(parent, 'leases');
        await Promise.all(Array.from({ length: 8 }, () => fileLeases({ directory, sharedWith: 'everyone' }).setUp()));
        expect((await stat(directory)).mode & 0o7777).toBe(0o1777);
        expect((await stat(parent)).mode & 0o7777).toBe(0o755);
        expect(await readdir(parent)).toEqual(['leases']);
      }
    } finally {
      process.umask(before);
    }
  });

  it('what is there already, also an empty directory, is not replaced; a file is refused', async () => {
    const { ino } = await stat(on.directory);
    await on.leases.setUp();
    expect((await stat(on.directory)).ino).toBe(ino);
    const file = join(on.root, 'file');
    await writeFile(file, 'precious');
    await expect(fileLeases({ directory: file }).setUp()).rejects.toMatchObject({ code: 'STORE_MISCONFIGURED' });
    expect((await readdir(on.root)).sort()).toEqual(['file', 'leases']);
  });
});

describe('whose directory it is', () => {
  it.each(['user', 'group', 'everyone'] as const)(
    'I6 shared with %s: that of a stranger is refused, who could take locks away that are held',
    async (sharedWith) => {
      if (process.geteuid?.() !== 0) return expect((await stat(on.directory)).uid).toBe(process.geteuid?.());
      const leases = fileLeases({ directory: on.directory, sharedWith });
      await chmod(on.directory, sharedWith === 'user' ? 0o755 : 0o1777);
      await chown(on.directory, 12_345, 12_345);
      await expect(on.ask(leases)).rejects.toMatchObject({ code: 'STORE_MISCONFIGURED', message: expect.stringContaining('12345') });
      await expect(leases.setUp()).rejects.toMatchObject({ code: 'STORE_MISCONFIGURED' });
      expect(await readdir(on.directory)).toEqual([]);
    },
  );

  it('shared with group: one that a member of the group has made is used', async () => {
    if (process.geteuid?.() !== 0) return expect(await on.ask()).toMatchObject({ kind: 'acquired' });
    await chown(on.directory, 12_345, process.getegid?.() ?? 0);
    await chmod(on.directory, 0o2770);
    expect(await on.ask(fileLeases({ directory: on.directory, sharedWith: 'group' }))).toMatchObject({ kind: 'acquired' });
  });

  it('I6 in which the group may delete a lock that is held, though it is shared with nobody: refused', async () => {
    await chmod(on.directory, 0o770);
    await expect(on.ask()).rejects.toMatchObject({ code: 'STORE_MISCONFIGURED', message: expect.stringContaining('chmod') });
  });
});

describe('I4 a break', () => {
  it('is not hindered by what others have put at names that could be guessed', async () => {
    const leases = fileLeases({ directory: on.directory, sharedWith: 'everyone' });
    const holder = await on.hold({ from: leases });
    await mkdir(join(on.directory, `.${fileNameOf(NAME)}.new`));
    await symlink('/etc/passwd', join(on.directory, '.break'));
    await leases.break(NAME);
    expect(await leases.renew(NAME, { ...holder, leaseMs: LONG_MS })).toBe('lost');
  });

  it('that is blocked says what stands in the way; those of other leases go on', async () => {
    const holder = await on.hold();
    const path = join(on.directory, `.${fileNameOf(NAME)}.break`);
    const blocker = await lockFile(path, await openPlace(on.directory, 'user'));
    if (blocker === 'held') throw new Error(blocker);
    const blocked = expect(on.leases.break(NAME)).rejects.toMatchObject({ code: 'STORE_MISCONFIGURED', message: expect.stringContaining(path) });
    await on.leases.acquire('other', { owner: 'o', leaseMs: LONG_MS });
    await on.leases.break('other');
    expect(await on.leases.read('other')).toMatchObject({ held: false });
    await blocked;
    await blocker.close();
    await rm(path);
    await symlink('/etc/passwd', path);
    await expect(on.leases.break(NAME)).rejects.toMatchObject({ code: 'STORE_MISCONFIGURED', message: expect.stringContaining(path) });
    expect(await on.renew(holder)).toBe('renewed');
    await rm(path);
    await on.leases.break(NAME);
    expect(await on.renew(holder)).toBe('lost');
  }, 20_000);

  it('that fails once the new file is in place does not say that nothing was changed', async () => {
    const old = await on.hold();
    const { ino } = await stat(on.path);
    const place = await openPlace(on.directory, 'user');
    // The directory itself is opened only once the file is renamed, to make the name durable.
    const failing = { ...place, directory: join(on.root, 'gone') };
    await expect(breakLease(failing, NAME, on.path, undefined)).rejects.toMatchObject({ code: 'WRITE_UNKNOWN' });
    expect((await stat(on.path)).ino).not.toBe(ino);
    expect((await on.hold()).token).toBeGreaterThan(old.token);
  });
});

const entry = (seq: number, text: string): string => {
  const sum = createHash('sha256').update(`${seq} ${text}`).digest('hex').slice(0, 32);
  return `rerunsafe-1 ${seq} ${Buffer.byteLength(text)} ${sum}\n${text}\n`;
};
const record = { name: NAME, token: 5, state: 'released', leaseMs: 0, at: { wallMs: 1, upMs: 1 } };

describe('I4 I5 an entry that no provider has written, though its checksum is right', () => {
  const put = async (text: string): Promise<void> => {
    await on.leases.release(NAME, await on.hold());
    await writeFile(on.path, text);
  };

  it.each([
    ['is no JSON', entry(1, 'not json')],
    ['has a slot that is no number', entry(1, JSON.stringify({ ...record, lastSlot: 'abc' }))],
    ['has a label that is no text', entry(1, JSON.stringify({ ...record, label: { a: 1 } }))],
    ['has a count that cannot go on', entry(Number.MAX_SAFE_INTEGER, JSON.stringify(record))],
  ])('and %s: refused with what to do; a break mends it', async (_, text) => {
    await put(text);
    await expect(on.ask()).rejects.toMatchObject({ code: 'STORE_MISCONFIGURED', message: expect.stringContaining('Break the lease') });
    await on.leases.break(NAME);
    const { token } = await on.hold();
    expect(token).toBeGreaterThan(Date.now() - LONG_MS);
    expect((await on.leases.read(NAME))?.token).toBe(token);
  });

  it('and has a token above which there is none: neither acquired nor broken, since no later holder could be told from it', async () => {
    await put(entry(1, JSON.stringify({ ...record, token: Number.MAX_SAFE_INTEGER })));
    for (const call of [() => on.ask(), () => on.leases.break(NAME)]) {
      await expect(call()).rejects.toMatchObject({ code: 'STORE_MISCONFIGURED', message: expect.stringContaining('another name') });
    }
    expect(await on.openFiles()).toEqual([]);
  });
});
