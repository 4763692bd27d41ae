import { closeSync, mkdirSync, openSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { ifAbsent, targetOf } from '../../../src/leases/file/fenced-target.ts';
import { loadKernelLocks } from '../../../src/leases/file/native-lock.ts';
import { fileSubject } from './file-subject.ts';

const on = fileSubject();
const at = (...names: string[]): string => join(on.root, ...names);
const refused = (path: string): Promise<Error> =>
  targetOf(path).then(
    () => new Error('taken'),
    (error) => error,
  );

describe('which file a fenced write is about', () => {
  beforeEach(() => {
    on.root = realpathSync(on.root);
    mkdirSync(at('real'));
    writeFileSync(at('real', 'a'), 'a');
    symlinkSync(at('real'), at('way'));
  });

  it('one that is there, or not yet, by its real name, whichever way leads to its directory', async () => {
    for (const name of ['a', 'new']) {
      expect(await targetOf(at('real', name))).toBe(at('real', name));
      expect(await targetOf(at('way', name))).toBe(at('real', name));
      expect(await targetOf(`${at('way')}/../real/${name}`)).toBe(at('real', name));
    }
  });

  it('I4 the one that a link leads to, from wherever it is looked at, also where it is not there', async () => {
    for (const name of ['a', 'gone']) {
      symlinkSync(at('real', name), at(`absolute-${name}`));
      symlinkSync(`real/${name}`, at(`relative-${name}`));
      symlinkSync(`../real/${name}`, at('real', `up-${name}`));
      expect(await targetOf(at(`absolute-${name}`))).toBe(at('real', name));
      expect(await targetOf(at(`relative-${name}`))).toBe(at('real', name));
      expect(await targetOf(at('way', `up-${name}`))).toBe(at('real', name));
    }
  });

  it('I4 behind a link `..` is not what it looks like', async () => {
    mkdirSync(at('real', 'deep'));
    symlinkSync(at('real', 'deep'), at('in'));
    symlinkSync('in/../gone', at('link'));
    expect(await targetOf(at('link'))).toBe(at('real', 'gone'));
  });

  const chain = (links: number, end: string): string => {
    let last = end;
    for (let n = 0; n < links; n += 1) {
      symlinkSync(last, at(`link-${links}-${n}`));
      last = at(`link-${links}-${n}`);
    }
    return last;
  };

  it('forty links are followed, and no more', async () => {
    expect(await targetOf(chain(40, at('gone')))).toBe(at('gone'));
    const path = chain(41, at('gone'));
    expect(await refused(path)).toMatchObject({
      code: 'STORE_MISCONFIGURED',
      message: `The store cannot be used as it is set up: ${path} leads from one symbolic link to the next, in a circle or more than 40 times. Nothing was touched.`,
    });
  });

  it('links in a circle are refused, and so is what is no regular file', async () => {
    symlinkSync(at('two'), at('one'));
    symlinkSync(at('one'), at('two'));
    expect(await refused(at('one'))).toMatchObject({ code: 'STORE_MISCONFIGURED' });
    expect(await refused(at('real'))).toMatchObject({
      code: 'STORE_MISCONFIGURED',
      message: `The store cannot be used as it is set up: ${at('real')} is no regular file. It was not touched.`,
    });
    expect(await refused(at('way'))).toMatchObject({ message: expect.stringContaining(`${at('real')} is no regular file`) });
  });

  it('without a directory there is none', async () => {
    expect(await refused(at('nowhere', 'a'))).toMatchObject({ code: 'ENOENT' });
  });

  it('only that it is absent counts as that', () => {
    expect(ifAbsent(Object.assign(new Error('x'), { code: 'ENOENT' }))).toBeUndefined();
    const other = Object.assign(new Error('x'), { code: 'EACCES' });
    expect(() => ifAbsent(other)).toThrow(other);
  });
});

describe("the kernel's locks", () => {
  it('I6 are for one open file, seen by all others, and gone when it is unlocked or closed', async () => {
    const locks = await loadKernelLocks();
    const path = at('lock');
    const [one, two] = [openSync(path, 'w+'), openSync(path, 'r+')];
    const reader = openSync(path, 'r');
    expect([locks.isLocked(two), locks.tryLock(one), locks.tryLock(two), locks.isLocked(two), locks.isLocked(reader)]).toEqual([
      false,
      true,
      false,
      true,
      true,
    ]);
    locks.unlock(one);
    expect([locks.isLocked(reader), locks.isLocked(reader), locks.tryLock(two), locks.tryLock(one)]).toEqual([false, false, true, false]);
    closeSync(two);
    expect([locks.isLocked(reader), locks.tryLock(one)]).toEqual([false, true]);
    closeSync(one);
    closeSync(reader);
  });

  it('what is no open file has none, and that is said', async () => {
    const locks = await loadKernelLocks();
    expect(() => locks.tryLock(-1)).toThrow();
    expect(() => locks.isLocked(-1)).toThrow();
  });
});
