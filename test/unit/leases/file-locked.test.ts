import { rmSync } from 'node:fs';
import { type FileHandle, open, readFile, rm, writeFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { LockedFile, lockFile, readContents } from '../../../src/leases/file/locked-file.ts';
import type { KernelLocks } from '../../../src/leases/file/native-lock.ts';
import { ASIDE_OFFSET, decode, encode, FILE_BYTES, SLOT_BYTES } from '../../../src/leases/file/slots.ts';
import { fileSubject } from './file-subject.ts';

const on = fileSubject();
const ACCESS = { fileMode: 0o600, ownOnly: true, oneName: false };
const locksOf = (more: Partial<KernelLocks> = {}): KernelLocks => ({ tryLock: () => true, isLocked: () => false, unlock() {}, ...more });
const refusal = (call: Promise<unknown>): Promise<unknown> => call.catch((error: unknown) => error);

/** A file whose system does what the test says. */
function handed(more: Partial<Record<'read' | 'write' | 'stat' | 'close', (...given: never[]) => unknown>>, locks = locksOf()) {
  const asked: string[] = [];
  const usual = {
    read: () => ({ bytesRead: 0 }),
    write: (_: Buffer, __: number, length: number) => ({ bytesWritten: length }),
    stat: () => ({}),
    close() {},
  };
  const call =
    (what: keyof typeof usual) =>
    async (...given: never[]): Promise<unknown> => {
      asked.push(what);
      return ({ ...usual, ...more }[what] as (...given: never[]) => unknown)(...given);
    };
  const sync = async (): Promise<void> => void asked.push('sync');
  const handle = { fd: 5, read: call('read'), write: call('write'), stat: call('stat'), close: call('close'), sync } as unknown as FileHandle;
  return { asked, handle, file: new LockedFile(on.path, handle, locks) };
}

describe('a file under a lock', () => {
  it('I5 keeps the last value, in one slot and then the other; what may be lost lies aside', async () => {
    const file = (await lockFile(on.path, { access: ACCESS, locks: locksOf() })) as LockedFile;
    expect([file.path, await file.read()]).toEqual([on.path, { kind: 'empty' }]);
    for (const [n, slot] of [
      [1, 0],
      [2, 1],
      [3, 0],
    ] as const) {
      await file.write({ n });
      expect(await file.read()).toEqual({ kind: 'kept', entry: { seq: n, slot, body: { n } } });
    }
    await file.write({ n: 4 });
    await file.write({ n: 5 });
    await file.writeAside({ renewed: true });
    const bytes = await readFile(on.path);
    expect(decode(bytes)).toEqual({ kind: 'kept', entry: { seq: 5, slot: 0, body: { n: 5 } }, aside: { renewed: true } });
    expect([bytes.indexOf('"n":4') > SLOT_BYTES, bytes.indexOf('renewed') > ASIDE_OFFSET]).toEqual([true, true]);
    await file.close();
    expect(await on.openFiles()).toEqual([]);
  });

  it('is durable when it was written; what lies aside need not be', async () => {
    const at = handed({});
    await at.file.write({ n: 1 });
    expect(at.asked).toEqual(['write', 'sync']);
    await at.file.writeAside({ n: 1 });
    expect(at.asked).toEqual(['write', 'sync', 'write']);
  });

  it('I5 where the system writes a part, the rest follows; where it writes nothing, that is said', async () => {
    const pieces: [number, number, number][] = [];
    const length = encode(1, { n: 1 }).length;
    const some = handed({
      write: (bytes: Buffer, from: number, count: number, at: number) => {
        expect(bytes.length).toBe(length);
        pieces.push([from, count, at]);
        return { bytesWritten: Math.min(40, count) };
      },
    });
    await some.file.write({ n: 1 });
    expect(pieces).toEqual(Array.from({ length: Math.ceil(length / 40) }, (_, n) => [n * 40, length - n * 40, n * 40]));
    const none = handed({ write: () => ({ bytesWritten: 0 }) });
    expect(await refusal(none.file.write({ n: 1 }))).toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringContaining(`only 0 of ${length} bytes were written`),
    });
    expect(none.asked).toEqual(['write']);
  });

  it('is read to its end, however little comes at a time, and no further than its length', async () => {
    const bytes = Buffer.alloc(FILE_BYTES + 100);
    encode(1, { n: 1 }).copy(bytes);
    encode(2, { n: 2 }).copy(bytes, SLOT_BYTES);
    const slow = handed({
      read: (into: Buffer, at: number, most: number, from: number) => {
        const count = Math.min(1_000, most, bytes.length - from);
        bytes.copy(into, at, from, from + count);
        return { bytesRead: count };
      },
    });
    expect(await readContents(slow.handle)).toMatchObject({ kind: 'kept', entry: { seq: 2 } });
    expect(slow.asked).toHaveLength(Math.ceil(FILE_BYTES / 1_000));
    const short = handed({ read: (_: Buffer, __: number, ___: number, from: number) => ({ bytesRead: from === 0 ? 5 : 0 }) });
    expect(await readContents(short.handle)).toEqual({ kind: 'empty' });
  });
});

describe('I12 a file that is given up', () => {
  it('is so after what is under way, once, and nothing is written to it any more', async () => {
    const unlocked: number[] = [];
    const at = handed({}, locksOf({ unlock: (fd) => void unlocked.push(fd) }));
    const writing = at.file.write({ n: 1 });
    const closing = at.file.close();
    expect(at.file.close()).toBe(closing);
    const late = { code: 'STORE_UNAVAILABLE', message: expect.stringContaining('the file was closed') };
    expect(await refusal(at.file.write({ n: 2 }))).toMatchObject(late);
    expect(await refusal(at.file.writeAside({ n: 2 }))).toMatchObject(late);
    expect(await refusal(at.file.read())).toMatchObject(late);
    await Promise.all([writing, closing]);
    expect([at.asked, unlocked]).toEqual([['write', 'sync', 'close'], [5]]);
  });

  it('never fails to be', async () => {
    const fails = (): never => {
      throw new Error('x');
    };
    const at = handed({ close: fails }, locksOf({ unlock: fails }));
    await at.file.close();
    expect(at.asked).toEqual(['close']);
  });

  it('I4 is not at its path for anybody, also where that is seen only as it is looked at; another failure to look is told', async () => {
    const at = handed({});
    void at.file.close();
    expect([await at.file.isAt(), at.asked]).toEqual([false, ['close']]);
    const failure = new Error('EIO');
    const broken = handed({ stat: () => Promise.reject(failure) });
    expect(await refusal(broken.file.isAt())).toBe(failure);
    const between = handed({
      stat: () => {
        void between.file.close();
        throw failure;
      },
    });
    expect(await between.file.isAt()).toBe(false);
  });

  it('I4 nor is one that was deleted', async () => {
    const file = (await lockFile(on.path, { access: ACCESS, locks: locksOf() })) as LockedFile;
    expect(await file.isAt()).toBe(true);
    await rm(on.path);
    expect(await file.isAt()).toBe(false);
    await file.close();
  });
});

describe('who asks for a lock', () => {
  it('that somebody has is told so after three looks, or when the time is up; nothing stays open', async () => {
    let looks = 0;
    const locks = locksOf({ tryLock: () => ++looks < 0 });
    expect([await lockFile(on.path, { access: ACCESS, locks }), looks]).toEqual(['held', 3]);
    const since = performance.now();
    expect(await lockFile(on.path, { access: ACCESS, locks, waitMs: 60 })).toBe('held');
    expect(performance.now() - since).toBeGreaterThanOrEqual(58);
    expect(await on.openFiles()).toEqual([]);
  });

  it('gets it when it comes free meanwhile', async () => {
    let looks = 0;
    const file = await lockFile(on.path, { access: ACCESS, locks: locksOf({ tryLock: () => ++looks > 2 }) });
    expect([file instanceof LockedFile, looks]).toEqual([true, 3]);
    expect(await on.openFiles()).toHaveLength(1);
    await (file as LockedFile).close();
  });

  it('I12 does not begin once given up, and stops waiting with the reason', async () => {
    const reason = new Error('enough');
    expect(await refusal(lockFile(on.path, { access: ACCESS, locks: locksOf(), signal: AbortSignal.abort(reason) }))).toBe(reason);
    await expect(readFile(on.path)).rejects.toMatchObject({ code: 'ENOENT' });
    const controller = new AbortController();
    const locks = locksOf({ tryLock: () => controller.abort(reason) as never });
    expect(await refusal(lockFile(on.path, { access: ACCESS, locks, waitMs: 60_000, signal: controller.signal }))).toBe(reason);
    expect(await on.openFiles()).toEqual([]);
  });

  it('I4 a lock on a file that is gone is none: it is made anew, fifty times and not for ever', async () => {
    let tries = 0;
    const unlocked: number[] = [];
    const locks = locksOf({
      tryLock: () => {
        tries += 1;
        if (tries > 100) throw new Error('asked for ever');
        rmSync(on.path);
        return true;
      },
      unlock: (fd) => void unlocked.push(fd),
    });
    expect(await refusal(lockFile(on.path, { access: ACCESS, locks }))).toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringContaining(`${on.path} is deleted or replaced as often as it is opened`),
    });
    expect([tries, unlocked.length, await on.openFiles()]).toEqual([50, 50, []]);
  });

  it('a failure to lock is told, and nothing stays open', async () => {
    const failure = new Error('ENOLCK');
    const tryLock = (): never => {
      throw failure;
    };
    expect(await refusal(lockFile(on.path, { access: ACCESS, locks: locksOf({ tryLock }) }))).toBe(failure);
    expect(await on.openFiles()).toEqual([]);
  });

  it('takes one that is there as it is', async () => {
    await writeFile(on.path, encode(1, { n: 1 }));
    const file = (await lockFile(on.path, { access: ACCESS, locks: locksOf() })) as LockedFile;
    expect(await file.read()).toMatchObject({ kind: 'kept', entry: { seq: 1 } });
    await file.close();
    const handle = await open(on.path, 'r');
    expect(await readContents(handle)).toMatchObject({ entry: { seq: 1 } });
    await handle.close();
  });
});
