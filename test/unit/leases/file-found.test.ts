import { execFile } from 'node:child_process';
import { chmod, link, lstat, mkdir, readdir, readFile, readlink, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { fencedClaimFile, fencedDeleteFile, fencedWriteFile } from '../../../src/leases/file/index.ts';
import { decode, encode, SLOT_BYTES } from '../../../src/leases/file/slots.ts';
import { fileSubject, NAME } from './file-subject.ts';

const SCRIPT = fileURLToPath(new URL('file-found-task.ts', import.meta.url));
const on = fileSubject();
const run = promisify(execFile);
const target = (): string => join(on.root, 'report.csv');
const fence = (token: number) => ({ id: 'nightly', owner: `owner ${token}`, token });
const text = (path = target()): Promise<string> => readFile(path, 'utf8');
const STALE = { code: 'STALE_TOKEN', facts: { token: 1, storedToken: 2 } };

/** In a process in which no file grows beyond so many KiB. */
async function limited(limitKiB: number, task: string, path: string): Promise<string[]> {
  const command = `ulimit -f ${limitKiB} && exec "$0" "$@"`;
  const { stdout } = await run('bash', ['-c', command, process.execPath, SCRIPT, task, path], { timeout: 20_000 });
  return stdout.trim().split('\n');
}

describe('links to a file under a fence', () => {
  it('I4 a link to what was deleted still leads to the one fence: a stale holder cannot bring it back', async () => {
    await mkdir(join(on.root, 'data'));
    const real = join(on.root, 'data', 'report.csv');
    await symlink('step', target());
    await symlink(join('data', '..', 'data', 'report.csv'), join(on.root, 'step'));
    await writeFile(real, 'before');
    await fencedDeleteFile(target(), fence(2));
    await expect(fencedWriteFile(target(), fence(1), 'late')).rejects.toMatchObject(STALE);
    await expect(fencedWriteFile(real, fence(1), 'late')).rejects.toMatchObject(STALE);
    expect(await readdir(join(on.root, 'data'))).toEqual(['report.csv.fence']);
    expect((await readdir(on.root)).sort()).toEqual(['data', 'leases', 'report.csv', 'step']);
  });

  it('I4 the first write through a link makes the file that the link names', async () => {
    await mkdir(join(on.root, 'data'));
    await symlink(join(on.root, 'data', 'a'), target());
    await fencedWriteFile(target(), fence(1), 'one');
    expect(await readlink(target())).toBe(join(on.root, 'data', 'a'));
    expect((await readdir(join(on.root, 'data'))).sort()).toEqual(['a', 'a.fence']);
    expect(await text()).toBe('one');
  });

  it('links in a circle are refused, and nothing is made', async () => {
    await symlink('b', join(on.root, 'a'));
    await symlink('a', join(on.root, 'b'));
    await expect(fencedWriteFile(join(on.root, 'a'), fence(1), 'x')).rejects.toMatchObject({
      code: 'STORE_MISCONFIGURED',
      message: expect.stringContaining('circle'),
    });
    expect((await readdir(on.root)).sort()).toEqual(['a', 'b', 'leases']);
  });

  it('a hard link is cut: the other name keeps the old contents', async () => {
    await writeFile(target(), 'old');
    await link(target(), join(on.root, 'other'));
    await fencedWriteFile(target(), fence(2), 'new');
    expect([await text(), await text(join(on.root, 'other'))]).toEqual(['new', 'old']);
    expect((await lstat(target())).nlink).toBe(1);
  });

  it('I12 a pipe in the place of the file is refused at once, and nothing is made', async () => {
    await run('mkfifo', [target()]);
    const calls = [
      () => fencedClaimFile(target(), fence(1)),
      () => fencedWriteFile(target(), fence(1), 'x'),
      () => fencedDeleteFile(target(), fence(1)),
    ];
    for (const call of calls) await expect(call()).rejects.toMatchObject({ code: 'STORE_MISCONFIGURED' });
    expect((await readdir(on.root)).sort()).toEqual(['leases', 'report.csv']);
  });
});

describe('where there is no room', () => {
  it('I4 a claim of which only a part was written is no claim', async () => {
    expect(await limited(9, 'fence', target())).toEqual(['fulfilled', 'STORE_UNAVAILABLE']);
    expect(await text()).toBe('by 10');
    await fencedClaimFile(target(), fence(10));
  });

  it('I4 a lease of which only a part was written is not acquired', async () => {
    const [answer] = await limited(1, 'lease', on.directory);
    expect(['STORE_UNAVAILABLE', 'WRITE_UNKNOWN']).toContain(answer);
    expect(await on.leases.read?.(NAME)).toBeUndefined();
  });

  it('a write that finds no room leaves the old file, and nothing beside it', async () => {
    await fencedWriteFile(target(), fence(1), 'old');
    expect(await limited(20, 'data', target())).toEqual(['STORE_UNAVAILABLE']);
    expect(await text()).toBe('old');
    expect((await readdir(on.root)).sort()).toEqual(['leases', 'report.csv', 'report.csv.fence']);
  });

  it('I4 where the directory cannot be read, a write is refused before anything has changed', async () => {
    await fencedWriteFile(target(), fence(1), 'old');
    const shut = join(on.root, 'shut');
    await mkdir(shut);
    await chmod(shut, 0o300);
    const script = `
      const { fencedWriteFile } = await import(process.argv[1]);
      await import('fs-native-extensions');
      if (process.geteuid() === 0) process.seteuid(65534);
      for (const text of ['one', 'two']) await fencedWriteFile(process.argv[2], { id: 'n', owner: 'o', token: 1 }, text).catch((error) => console.log(error.code));
    `;
    const file = join(import.meta.dirname, '../../../src/leases/file/index.ts');
    await chmod(on.root, 0o755);
    if (process.geteuid?.() === 0) await run('chown', ['65534', shut]);
    const cwd = join(import.meta.dirname, '../../..');
    const { stdout } = await run(process.execPath, ['--input-type=module', '-e', script, file, join(shut, 'f')], { cwd, timeout: 20_000 });
    expect(stdout.trim().split('\n')).toEqual(['STORE_MISCONFIGURED', 'STORE_MISCONFIGURED']);
    await chmod(shut, 0o700);
    expect(await readdir(shut)).toEqual(['f.fence']);
  });
});

describe('what is damaged', () => {
  it('I4 no byte of the only entry can be damaged so that it is forgotten', () => {
    const whole = encode(1, { token: 100, lease: 'n' });
    for (let at = 0; at < whole.length; at += 1) {
      for (let flip = 1; flip < 256; flip += 1) {
        const file = Buffer.from(whole);
        file[at] = (file[at] ?? 0) ^ flip;
        expect(decode(file).kind).toBe(at === whole.length - 1 ? 'kept' : 'unreadable');
      }
    }
    expect(decode(Buffer.from('something else')).kind).toBe('unreadable');
    expect(decode(Buffer.alloc(SLOT_BYTES, 'x')).kind).toBe('unreadable');
  });

  it('I10 a first write torn at any byte is as if it had never been, also where zeros stand for the rest', () => {
    const whole = encode(1, { token: 100, label: 'ä€😀' });
    for (let written = 0; written < whole.length - 1; written += 1) {
      for (const length of [written, whole.length, SLOT_BYTES]) {
        const file = Buffer.alloc(length);
        whole.copy(file, 0, 0, written);
        expect(decode(file).kind).toBe('empty');
      }
    }
  });

  it('I4 a fence with one wrong bit lets nobody through, and says what to do', async () => {
    await fencedWriteFile(target(), fence(2), 'two');
    const bytes = await readFile(`${target()}.fence`);
    bytes[bytes.length - 5] = (bytes[bytes.length - 5] ?? 0) ^ 1;
    await writeFile(`${target()}.fence`, bytes);
    await expect(fencedWriteFile(target(), fence(1), 'late')).rejects.toMatchObject({
      code: 'STORE_MISCONFIGURED',
      message: expect.stringContaining('delete it'),
    });
    expect(await text()).toBe('two');
  });

  it('I2 a lease with one wrong bit is refused: its marks of slots are not forgotten', async () => {
    const holder = await on.hold();
    await on.leases.release(NAME, { ...holder, slotDone: 7 });
    await on.leases.break(NAME);
    const bytes = await readFile(on.path);
    bytes[90] = (bytes[90] ?? 0) ^ 1;
    await writeFile(on.path, bytes);
    await expect(on.hold({ slot: 7 })).rejects.toMatchObject({ code: 'STORE_MISCONFIGURED', message: expect.stringContaining('Break the lease') });
  });
});

it('data that is neither text nor bytes is refused before anything is touched', async () => {
  const wrong: unknown[] = [
    new Float64Array([1.5, 300]),
    new Uint16Array([1000]),
    new DataView(new ArrayBuffer(8)),
    [256, 'x'],
    { length: 3 },
    5,
    {},
  ];
  for (const data of [...wrong, undefined, null, new String('abc'), new ArrayBuffer(2)]) {
    await expect(fencedWriteFile(target(), fence(1), data as never)).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
  }
  expect(await readdir(on.root)).toEqual(['leases']);
  await fencedWriteFile(target(), fence(1), '');
  expect(await text()).toBe('');
});
