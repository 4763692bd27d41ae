import { chmodSync, chownSync, mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { checkDirectory, makeDirectory, openPlace } from '../../../src/leases/file/place.ts';
import { fileSubject } from './file-subject.ts';

const on = fileSubject();
const SET_UP = 'The store cannot be used as it is set up: ';
const SHARED = ['user', 'group', 'everyone'] as const;
const modeOf = (path: string): number => statSync(path).mode & 0o7777;
const said = (call: Promise<unknown>): Promise<string | undefined> =>
  call.then(
    () => undefined,
    ({ message }: Error) => message,
  );
const isRoot = process.geteuid?.() === 0;

afterEach(() => void vi.restoreAllMocks());

describe('a directory for leases', () => {
  it.each([
    ['user', { fileMode: 0o600, ownOnly: true, oneName: false }],
    ['group', { fileMode: 0o660, ownOnly: false, oneName: true }],
    ['everyone', { fileMode: 0o666, ownOnly: false, oneName: true }],
  ] as const)('shared with %s: whose files are used, and how new ones are made', async (sharedWith, access) => {
    const place = await openPlace(on.directory, sharedWith);
    expect(place).toMatchObject({ directory: on.directory, access });
    expect([place.stamp().wallMs > 0, typeof place.locks.tryLock]).toEqual([true, 'function']);
  });

  it('that is none, or not there, is refused in words', async () => {
    const file = join(on.root, 'file');
    writeFileSync(file, '');
    expect(await said(checkDirectory(file, 'user'))).toBe(`${SET_UP}${file} is no directory.`);
    const missing = join(on.root, 'missing');
    expect(await said(openPlace(missing, 'user'))).toBe(
      `${SET_UP}look at the directory for leases: ENOENT at ${missing}. The directory does not exist. Call setUp() once, or make it when you deploy.`,
    );
  });

  it.each<[number, (typeof SHARED)[number][]]>([
    [0o700, ['user', 'group', 'everyone']],
    [0o755, ['user', 'group', 'everyone']],
    [0o1777, ['user', 'group', 'everyone']],
    [0o1770, ['user', 'group', 'everyone']],
    [0o770, ['group', 'everyone']],
    [0o2770, ['group', 'everyone']],
    [0o777, []],
    [0o702, []],
  ])('I6 of mode %o is taken for %j; for others it lets locks be deleted that are held', async (mode, takenFor) => {
    chmodSync(on.directory, mode);
    for (const sharedWith of SHARED) {
      const words = await said(checkDirectory(on.directory, sharedWith));
      if (takenFor.includes(sharedWith)) expect(words, sharedWith).toBeUndefined();
      else if ((mode & 0o002) !== 0)
        expect(words).toBe(`${SET_UP}in ${on.directory} anybody may delete or replace lock files. Run: chmod +t ${on.directory}`);
      else
        expect(words).toBe(
          `${SET_UP}in ${on.directory} its group may delete or replace lock files. Run: chmod go-w ${on.directory}, or see the option sharedWith`,
        );
    }
  });

  it('I6 of another user: refused, unless it is root’s, or of a group that shares it', async () => {
    if (!isRoot) return expect(await said(checkDirectory(on.directory, 'user'))).toBeUndefined();
    const stranger = `${SET_UP}${on.directory} belongs to another user (12345), who could take away locks that are held. Run: chown root ${on.directory}, or use one of your own`;
    const as = (uid: number, gid: number, groups: number[] = []): void => {
      vi.spyOn(process, 'geteuid').mockReturnValue(uid);
      vi.spyOn(process, 'getegid').mockReturnValue(gid);
      vi.spyOn(process, 'getgroups').mockReturnValue(groups);
    };
    const asked = () => Promise.all(SHARED.map((sharedWith) => said(checkDirectory(on.directory, sharedWith))));
    as(777, 777);
    expect(await asked(), 'of root').toEqual([undefined, undefined, undefined]);
    chownSync(on.directory, 12_345, 54_321);
    expect(await asked()).toEqual([stranger, stranger, stranger]);
    as(12_345, 777);
    expect(await asked(), 'of one’s own').toEqual([undefined, undefined, undefined]);
    for (const [gid, groups] of [
      [54_321, []],
      [777, [1, 54_321]],
    ] as const) {
      as(777, gid, [...groups]);
      expect(await asked()).toEqual([stranger, undefined, stranger]);
    }
    chmodSync(on.directory, 0o1772);
    expect(await asked(), 'open to all').toEqual([stranger, stranger, stranger]);
  });
});

describe('setting it up', () => {
  it.each([
    ['user', 0o700, 0o700],
    ['group', 0o2770, 0o755],
    ['everyone', 0o1777, 0o755],
  ] as const)('for %s: with its mode, and parents that those get through who may use it', async (sharedWith, mode, ofParents) => {
    const before = process.umask(0o077);
    try {
      const directory = join(on.root, 'a', 'b', 'leases');
      await makeDirectory(directory, sharedWith);
      expect([modeOf(directory), modeOf(join(on.root, 'a', 'b')), modeOf(join(on.root, 'a'))]).toEqual([mode, ofParents, ofParents]);
      await makeDirectory(directory, sharedWith);
      expect(await readdir(join(on.root, 'a', 'b'))).toEqual(['leases']);
    } finally {
      process.umask(before);
    }
  });

  it('for one user: parents as the umask says, and no matter what its own mode is', async () => {
    const before = process.umask(0o002);
    try {
      await makeDirectory(join(on.root, 'mine', 'leases'), 'user');
      expect(modeOf(join(on.root, 'mine'))).toBe(0o775);
    } finally {
      process.umask(before);
    }
    chmodSync(on.directory, 0o500);
    expect(await said(makeDirectory(on.directory, 'user'))).toBeUndefined();
  });

  it('somebody else who makes it meanwhile was first: nothing is left behind', async () => {
    const directory = join(on.root, 'both');
    let over = false;
    const made = makeDirectory(directory, 'user').finally(() => {
      over = true;
    });
    const isUnderWay = (): boolean => readdirSync(on.root).some((name) => name.startsWith('.rerunsafe-'));
    while (!over && !isUnderWay()) await new Promise((resolve) => setImmediate(resolve));
    mkdirSync(join(directory, 'lease'), { recursive: true, mode: 0o700 });
    await made;
    expect((await readdir(on.root)).sort()).toEqual(['both', 'leases']);
  });

  it('a link to nowhere in its place is no directory: said, and nothing is left behind', async () => {
    symlinkSync(join(on.root, 'nowhere'), join(on.root, 'link'));
    expect(await said(makeDirectory(join(on.root, 'link'), 'user'))).toContain('make the directory for leases: ENOTDIR');
    expect((await readdir(on.root)).sort()).toEqual(['leases', 'link']);
  });

  it('on Windows it is for the access list to say who may', async () => {
    const platform = Object.getOwnPropertyDescriptor(process, 'platform') as PropertyDescriptor;
    Object.defineProperty(process, 'platform', { ...platform, value: 'win32' });
    try {
      chmodSync(on.directory, 0o777);
      expect(await said(checkDirectory(on.directory, 'user'))).toBeUndefined();
      chmodSync(on.directory, 0o755);
      expect(await said(makeDirectory(on.directory, 'everyone'))).toBeUndefined();
    } finally {
      Object.defineProperty(process, 'platform', platform);
    }
  });

  it('changes nothing of what is there', async () => {
    mkdirSync(join(on.root, 'a'), { mode: 0o750 });
    await makeDirectory(join(on.root, 'a', 'leases'), 'everyone');
    expect(modeOf(join(on.root, 'a'))).toBe(0o750);
    chmodSync(on.directory, 0o1777);
    await makeDirectory(on.directory, 'group');
    expect(modeOf(on.directory)).toBe(0o1777);
  });

  it.each([
    [0o755, 'group', '755', '2770'],
    [0o1755, 'everyone', '1755', '1777'],
    [0o1770, 'everyone', '1770', '1777'],
  ] as const)('one of mode %o that is to be shared with %s: said how to open it', async (mode, sharedWith, is, shouldBe) => {
    chmodSync(on.directory, mode);
    expect(await said(makeDirectory(on.directory, sharedWith))).toBe(
      `${SET_UP}${on.directory} has the mode ${is}, and can so not be shared with ${sharedWith}. Run: chmod ${shouldBe} ${on.directory}`,
    );
    expect(await said(makeDirectory(on.directory, 'user'))).toBe(undefined);
  });

  it('one that lets locks be deleted is refused, and so is what is none', async () => {
    chmodSync(on.directory, 0o777);
    expect(await said(makeDirectory(on.directory, 'everyone'))).toContain('chmod +t');
    const file = join(on.root, 'file');
    writeFileSync(file, '');
    expect(await said(makeDirectory(file, 'user'))).toBe(`${SET_UP}${file} is no directory.`);
    expect(await said(makeDirectory(join(file, 'below'), 'user'))).toMatch(/make the directory for leases: (ENOTDIR|EEXIST)/);
    const loop = join(on.root, 'loop');
    symlinkSync(loop, loop);
    expect(await said(makeDirectory(loop, 'user'))).toContain('make the directory for leases: ELOOP');
    expect((await readdir(on.root)).sort()).toEqual(['file', 'leases', 'loop']);
  });
});
