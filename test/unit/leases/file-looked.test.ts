import { renameSync, writeFileSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { look } from '../../../src/leases/file/look.ts';
import { encode, SLOT_BYTES } from '../../../src/leases/file/slots.ts';
import { fileSubject } from './file-subject.ts';

const on = fileSubject();
const ACCESS = { fileMode: 0o600, ownOnly: true, oneName: false };

/** As it lies in the file after so many writes. */
function fileOf(writes: number): Buffer {
  const file = Buffer.alloc(Math.min(writes, 2) * SLOT_BYTES);
  for (let n = 0; n < writes; n += 1) encode(n + 1, { n }).copy(file, (n % 2) * SLOT_BYTES);
  return file;
}

/** Looks, with what happens in the middle of each look. */
async function seen(between: (look: number) => boolean = () => false) {
  let looks = 0;
  const isLocked = (): boolean => between(++looks);
  const found = await look({ access: ACCESS, locks: { isLocked, tryLock: () => true, unlock() {} } }, on.path);
  expect(await on.openFiles()).toEqual([]);
  return { found, looks };
}

describe('who looks at a lease', () => {
  it('that nobody has ever had finds nothing', async () => {
    expect(await seen()).toEqual({ found: undefined, looks: 0 });
  });

  it.each([true, false])('sees in one look what stands there, and whether somebody has the lock: %s', async (locked) => {
    await writeFile(on.path, fileOf(3));
    expect(await seen(() => locked)).toMatchObject({ found: { locked, contents: { kind: 'kept', entry: { seq: 3 } } }, looks: 1 });
  });

  it('sees one that was just made, and has nothing in it yet', async () => {
    await writeFile(on.path, '');
    expect(await seen()).toEqual({ found: { locked: false, contents: { kind: 'empty' } }, looks: 1 });
  });

  it('looks again where it was written meanwhile, and tells what stands there then', async () => {
    await writeFile(on.path, fileOf(1));
    const result = await seen((n) => {
      if (n < 3) writeFileSync(on.path, fileOf(n + 1));
      return n < 3;
    });
    expect(result).toMatchObject({ found: { locked: false, contents: { entry: { seq: 3, body: { n: 2 } } } }, looks: 3 });
  });

  it('looks again where the first value of all was written meanwhile', async () => {
    await writeFile(on.path, '');
    const result = await seen((n) => {
      if (n === 1) writeFileSync(on.path, fileOf(1));
      return false;
    });
    expect(result).toMatchObject({ found: { contents: { entry: { seq: 1 } } }, looks: 2 });
  });

  it('I5 looks again where another file took its place', async () => {
    await writeFile(on.path, fileOf(2));
    const result = await seen((n) => {
      if (n > 1) return false;
      writeFileSync(`${on.path}.new`, fileOf(2));
      renameSync(`${on.path}.new`, on.path);
      return true;
    });
    expect(result).toMatchObject({ found: { locked: false }, looks: 2 });
  });

  it('I10 looks ten times at what is being written all the time, or cannot be read, and then tells what it saw last', async () => {
    await writeFile(on.path, fileOf(1));
    const busy = await seen((n) => {
      writeFileSync(on.path, fileOf(n + 1));
      return true;
    });
    expect(busy).toMatchObject({ found: { locked: true, contents: { entry: { seq: 11 } } }, looks: 10 });
    await writeFile(on.path, 'x'.repeat(3 * SLOT_BYTES));
    expect(await seen()).toEqual({ found: { locked: false, contents: { kind: 'unreadable' } }, looks: 10 });
    expect((await readFile(on.path)).length).toBe(3 * SLOT_BYTES);
  });

  it('I12 leaves nothing open where looking fails', async () => {
    await writeFile(on.path, fileOf(1));
    const fails = seen(() => {
      throw new Error('no locks');
    });
    await expect(fails).rejects.toThrow('no locks');
    expect(await on.openFiles()).toEqual([]);
  });
});
