import { chmodSync, chownSync, linkSync, mkdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { type FileHandle, open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { type Access, create, isAt, openToRead, openToWrite, syncDirectory } from '../../../src/leases/file/open.ts';
import { fileSubject } from './file-subject.ts';

const on = fileSubject();
const AS_IT_IS: Access = { fileMode: undefined, ownOnly: false, oneName: false };
const at = (...names: string[]): string => join(on.root, ...names);
const refusal = (call: Promise<unknown>): Promise<unknown> => call.catch((error: unknown) => error);
const modeOf = (path: string): number => statSync(path).mode & 0o777;
const closed = async (handle: FileHandle | undefined): Promise<boolean> => {
  await handle?.close();
  return handle !== undefined;
};

afterEach(() => void vi.restoreAllMocks());

describe('a file that others may have put there', () => {
  it('that is not there is not made by who reads, and is by who writes', async () => {
    expect(await openToRead(at('a'), AS_IT_IS)).toBeUndefined();
    expect(await readdir(on.root)).toEqual(['leases']);
    const handle = await openToWrite(at('a'), { ...AS_IT_IS, fileMode: 0o640 });
    await handle.write('text');
    await handle.close();
    expect(modeOf(at('a'))).toBe(0o640);
    const again = await openToWrite(at('a'), AS_IT_IS);
    expect((await again.readFile()).toString()).toBe('text');
    await again.write('TEXT', 0);
    await again.close();
    const read = await openToRead(at('a'), AS_IT_IS);
    expect(read).toBeDefined();
    expect(await refusal((read as FileHandle).write('x'))).toMatchObject({ code: 'EBADF' });
    await read?.close();
  });

  it('is made with the mode asked for, whatever the umask, or as the umask says; and only where there is none', async () => {
    const before = process.umask(0o027);
    try {
      expect(await closed(await create(at('asked'), { fileMode: 0o666 }))).toBe(true);
      expect(await closed(await create(at('usual'), { fileMode: undefined }))).toBe(true);
    } finally {
      process.umask(before);
    }
    expect([modeOf(at('asked')), modeOf(at('usual'))]).toEqual([0o666, 0o640]);
    expect(await create(at('asked'), { fileMode: 0o600 })).toBeUndefined();
    expect(await refusal(create(at('nowhere', 'a'), { fileMode: 0o600 }))).toMatchObject({ code: 'ENOENT' });
  });

  const words = (what: string) => ({
    code: 'STORE_MISCONFIGURED',
    message: `The store cannot be used as it is set up: ${what}. It was not written to.`,
  });

  it('I12 a directory, a link, a second name: refused, and nothing stays open', async () => {
    mkdirSync(at('directory'));
    writeFileSync(at('file'), 'precious');
    symlinkSync(at('file'), at('link'));
    linkSync(at('file'), at('second'));
    expect(await refusal(openToRead(at('directory'), AS_IT_IS))).toMatchObject(words(`${at('directory')} is no regular file`));
    for (const openIt of [openToRead, openToWrite]) expect(await refusal(openIt(at('link'), AS_IT_IS))).toMatchObject({ code: 'ELOOP' });
    const oneName = { ...AS_IT_IS, oneName: true };
    for (const openIt of [openToRead, openToWrite]) {
      expect(await refusal(openIt(at('file'), oneName))).toMatchObject(words(`${at('file')} has a second name (a hard link)`));
    }
    expect(await on.openFiles()).toEqual([]);
    expect(await closed(await openToRead(at('file'), AS_IT_IS))).toBe(true);
    rmSync(at('second'));
    expect(await closed(await openToRead(at('file'), oneName))).toBe(true);
  });

  it('of another user: refused where only our own are used; those of root, and all for root, are taken', async () => {
    writeFileSync(at('file'), '');
    const isRoot = process.geteuid?.() === 0;
    if (isRoot) chownSync(at('file'), 12_345, 12_345);
    const owner = statSync(at('file')).uid;
    const own = { ...AS_IT_IS, ownOnly: true };
    const asUser = async (uid: number, path = at('file'), access: Access = own): Promise<unknown> => {
      vi.spyOn(process, 'geteuid').mockReturnValue(uid);
      return refusal(openToRead(path, access).then(closed));
    };
    expect(await asUser(owner + 1)).toMatchObject(words(`${at('file')} belongs to another user (${owner})`));
    expect(await on.openFiles()).toEqual([]);
    expect([await asUser(owner), await asUser(0), await asUser(owner + 1, at('file'), AS_IT_IS)]).toEqual([true, true, true]);
    if (isRoot) {
      writeFileSync(at('of root'), '');
      expect(await asUser(owner, at('of root'))).toBe(true);
    }
  });

  it('that may not be opened: told, after a moment in which its maker may change the mode', async () => {
    if (process.geteuid?.() === 0) return expect(await refusal(openToRead('/proc/self/mem/x', AS_IT_IS))).toMatchObject({ code: 'ENOTDIR' });
    writeFileSync(at('file'), '');
    chmodSync(at('file'), 0o000);
    expect(await refusal(openToRead(at('file'), AS_IT_IS))).toMatchObject({ code: 'EACCES' });
    setTimeout(() => chmodSync(at('file'), 0o600), 3);
    expect(await closed(await openToRead(at('file'), AS_IT_IS))).toBe(true);
  });
});

describe('I4 whether a path still leads to an open file', () => {
  it('not when it was deleted, replaced by another file, or by a link to it', async () => {
    writeFileSync(at('a'), '');
    const handle = await open(at('a'), 'r');
    expect(await isAt(handle, at('a'))).toBe(true);
    linkSync(at('a'), at('same'));
    expect(await isAt(handle, at('same'))).toBe(true);
    rmSync(at('a'));
    expect(await isAt(handle, at('a'))).toBe(false);
    writeFileSync(at('a'), '');
    expect(await isAt(handle, at('a'))).toBe(false);
    rmSync(at('a'));
    symlinkSync(at('same'), at('a'));
    expect(await isAt(handle, at('a'))).toBe(false);
    expect(await refusal(isAt(handle, at('same', 'below')))).toMatchObject({ code: 'ENOTDIR' });
    const stat = async (): Promise<unknown> => ({ ino: statSync(at('same'), { bigint: true }).ino, dev: -1n });
    expect(await isAt({ stat } as never, at('same')), 'of another file system').toBe(false);
    await handle.close();
  });
});

describe('the directory', () => {
  it('is brought to the disk, and left closed; one that is not there is told', async () => {
    await syncDirectory(on.root);
    expect(await refusal(syncDirectory(at('nowhere')))).toMatchObject({ code: 'ENOENT' });
    expect(await on.openFiles()).toEqual([]);
  });
});
