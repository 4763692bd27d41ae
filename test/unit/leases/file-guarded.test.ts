import { chmodSync, chownSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { fencedClaimFile, fencedDeleteFile, fencedWriteFile } from '../../../src/leases/file/index.ts';
import { type LockedFile, lockFile } from '../../../src/leases/file/locked-file.ts';
import { loadKernelLocks } from '../../../src/leases/file/native-lock.ts';
import { decode, encode, SLOT_BYTES } from '../../../src/leases/file/slots.ts';
import { fileSubject } from './file-subject.ts';

const on = fileSubject();
const target = (): string => join(on.root, 'report.csv');
const fence = (token: number, id = 'nightly') => ({ id, owner: `owner ${token}`, token });
const said = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => undefined,
    ({ code, message, facts, cause }) => ({ code, message, facts, cause }),
  );
const text = (): string => readFileSync(target(), 'utf8');
const marked = async (): Promise<unknown> => decode(await readFile(`${target()}.fence`)).entry;

describe('the fence of a file', () => {
  it('I4 keeps the highest token, and whose lease it was, and is written only when that grows', async () => {
    await fencedWriteFile(target(), fence(3), 'one');
    expect(await marked()).toEqual({ seq: 1, slot: 0, body: { token: 3, lease: 'nightly' } });
    await fencedWriteFile(target(), fence(3), 'two');
    await fencedClaimFile(target(), fence(3));
    expect(await marked()).toMatchObject({ seq: 1 });
    await fencedDeleteFile(target(), fence(4, 'n'.repeat(600)));
    expect(await marked()).toEqual({ seq: 2, slot: 1, body: { token: 4, lease: 'n'.repeat(512) } });
  });

  it('I4 a stale holder is told both tokens, and to stop', async () => {
    await fencedClaimFile(target(), fence(3));
    const calls = [
      () => fencedWriteFile(target(), fence(2), 'x'),
      () => fencedClaimFile(target(), fence(2)),
      () => fencedDeleteFile(target(), fence(2)),
    ];
    for (const call of calls) {
      expect(await said(call())).toMatchObject({
        code: 'STALE_TOKEN',
        message: `A newer holder of nightly has touched ${target()} (token 3, ours is 2). Nothing was written: the lease is over, stop the work.`,
        facts: { id: 'nightly', token: 2, storedToken: 3 },
      });
    }
    expect(await readdir(on.root)).not.toContain('report.csv');
  });

  it.each([
    ['damaged', Buffer.alloc(3 * SLOT_BYTES, 'x')],
    ['of something else', encode(1, { token: 'x' })],
  ])('I4 one that is %s lets nobody through, and says what to do', async (_, bytes) => {
    await fencedWriteFile(target(), fence(1), 'one');
    writeFileSync(`${target()}.fence`, bytes);
    expect(await said(fencedWriteFile(target(), fence(2), 'two'))).toMatchObject({
      code: 'STORE_MISCONFIGURED',
      message: `The store cannot be used as it is set up: ${target()}.fence cannot be read: it is damaged, or was written by something else. Which token is the highest is not known any more, so nobody may write. Once no earlier holder can be at work, delete it: the next write makes a new one.`,
    });
    expect(text()).toBe('one');
  });

  it('one that was made and never written, and one that says nothing, are as none', async () => {
    for (const bytes of [Buffer.alloc(0), encode(1, {})]) {
      writeFileSync(`${target()}.fence`, bytes);
      await fencedWriteFile(target(), fence(0), 'one');
      expect(text()).toBe('one');
    }
  });

  it('I10 who writes for long is named to who waits', async () => {
    const access = { fileMode: undefined, ownOnly: false, oneName: false };
    const writer = (await lockFile(`${target()}.fence`, { access, locks: await loadKernelLocks() })) as LockedFile;
    expect(await said(fencedClaimFile(target(), fence(1), { waitMs: 20 }))).toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringContaining(`another process has been writing ${target()} for 20 ms`),
    });
    await writer.close();
  });
});

describe('a write under a fence', () => {
  it('takes text and bytes, and leaves nothing else beside the file', async () => {
    await fencedWriteFile(target(), fence(1), 'Füße');
    expect(text()).toBe('Füße');
    await fencedWriteFile(target(), fence(1), new Uint8Array([104, 105]));
    expect(text()).toBe('hi');
    expect((await readdir(on.root)).sort()).toEqual(['leases', 'report.csv', 'report.csv.fence']);
    expect(await on.openFiles()).toEqual([]);
  });

  it('gives a new file what the umask leaves, one that stands there keeps its own mode, and another is taken when told', async () => {
    const modeOf = (): number => statSync(target()).mode & 0o7777;
    const before = process.umask(0o026);
    try {
      await fencedWriteFile(target(), fence(1), 'x');
      expect(modeOf()).toBe(0o640);
      chmodSync(target(), 0o606);
      await fencedWriteFile(target(), fence(1), 'x');
      expect(modeOf()).toBe(0o606);
      await fencedWriteFile(target(), fence(1), 'x', { mode: 0 });
      expect(modeOf()).toBe(0);
    } finally {
      process.umask(before);
    }
  });

  it('keeps the owner, each part of it', async () => {
    if (process.geteuid?.() !== 0) return expect(await said(fencedWriteFile(target(), fence(1), 'x'))).toBeUndefined();
    await fencedWriteFile(target(), fence(1), 'x');
    for (const [uid, gid] of [
      [12_345, 0],
      [0, 54_321],
    ] as const) {
      chownSync(target(), uid, gid);
      await fencedWriteFile(target(), fence(1), 'y');
      expect(statSync(target())).toMatchObject({ uid, gid });
    }
  });

  it('I4 that fails has changed nothing, and leaves nothing behind', async () => {
    await fencedWriteFile(target(), fence(1), 'one');
    mkdirSync(`${target()}.fence-new`);
    const error = await said(fencedWriteFile(target(), fence(1), 'two'));
    expect(error).toMatchObject({ message: expect.stringContaining('write a file under a fence') });
    expect(text()).toBe('one');
    expect(await on.openFiles()).toEqual([]);
  });

  it('deletes what is there, and is content where there is nothing', async () => {
    await fencedWriteFile(target(), fence(1), 'one');
    await fencedDeleteFile(target(), fence(1));
    await fencedDeleteFile(target(), fence(1));
    expect((await readdir(on.root)).sort()).toEqual(['leases', 'report.csv.fence']);
    expect(await fencedClaimFile(target(), fence(1))).toStrictEqual({ data: undefined });
    symlinkSync(join(on.root, 'nowhere', 'a'), join(on.root, 'link'));
    expect(await said(fencedClaimFile(join(on.root, 'link'), fence(1)))).toMatchObject({
      code: 'STORE_MISCONFIGURED',
      message: expect.stringContaining('claim a file: ENOENT'),
    });
    expect(await said(fencedDeleteFile(join(on.root, 'link'), fence(1)))).toMatchObject({
      message: expect.stringContaining('delete a file under a fence: ENOENT'),
    });
  });
});

describe('what is asked of a fenced write', () => {
  const table: [Parameters<typeof fencedWriteFile>, string][] = (
    [
      [['', fence(1), 'x'], 'path must be a path'],
      [['a\0b', fence(1), 'x'], 'path must be a path'],
      [[7, fence(1), 'x'], 'path must be a path'],
      [[undefined, fence(1), 'x'], 'path is missing'],
      [['/a', undefined, 'x'], 'fence.id is missing; fence.token is missing'],
      [['/a', null, 'x'], 'fence.id is missing; fence.token is missing'],
      [['/a', { id: 7, token: -1 }, 'x'], 'fence.id must be a string; fence.token must be a whole number, at least 0'],
      [['/a', fence(1), undefined], 'data is missing'],
      [['/a', fence(1), [1, 2]], 'data must be a string or a Uint8Array'],
      [['/a', fence(1), new Uint16Array(1)], 'data must be a string or a Uint8Array'],
      [['/a', fence(1), 'x', { waitMs: -1 }], 'waitMs must be a whole number, at least 0, at most 2147483647'],
      [['/a', fence(1), 'x', { mode: 0o1000 }], 'mode must be a whole number, at least 0, at most 511'],
      [['/a', fence(1), 'x', { signal: {} }], 'signal must be an AbortSignal'],
    ] as [unknown[], string][]
  ).map(([given, words]) => [given as Parameters<typeof fencedWriteFile>, words]);

  it.each(table)('%j: refused in words', async (given, words) => {
    expect(await said(fencedWriteFile(...given))).toMatchObject({ code: 'INVALID_OPTIONS', message: `fencedWriteFile: ${words}.` });
  });

  it('by whatever it is asked', async () => {
    expect(await said(fencedClaimFile('', fence(1)))).toMatchObject({ message: 'fencedClaimFile: path must be a path.' });
    expect(await said(fencedDeleteFile('', fence(1)))).toMatchObject({ message: 'fencedDeleteFile: path must be a path.' });
  });
});
