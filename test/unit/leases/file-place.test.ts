import { execFile } from 'node:child_process';
import { chmod, link, mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { fileLeases } from '../../../src/leases/file/index.ts';
import { fileSubject, LONG_MS, NAME } from './file-subject.ts';

const run = promisify(execFile);
const on = fileSubject();

describe('the directory and its files', () => {
  it('missing: says to call setUp, which makes it; set up again, nothing changes', async () => {
    const deep = join(on.root, 'a', 'b', 'leases');
    const late = fileLeases({ directory: deep });
    await expect(on.ask(late)).rejects.toMatchObject({ code: 'STORE_MISCONFIGURED', message: expect.stringContaining('setUp()') });
    await late.setUp?.();
    const holder = await on.hold({ from: late });
    await late.setUp?.();
    expect(await late.renew(NAME, { ...holder, leaseMs: LONG_MS })).toBe('renewed');
  });

  it.each([
    ['user', 0o700, 0o600],
    ['group', 0o2770, 0o660],
    ['everyone', 0o1777, 0o666],
  ] as const)('shared with %s: the modes are as asked for, whatever the umask', async (sharedWith, ofDirectory, ofFiles) => {
    const before = process.umask(0o077);
    try {
      const directory = join(on.root, 'a', 'b', 'shared');
      const shared = fileLeases({ directory, sharedWith });
      await shared.setUp();
      await on.hold({ from: shared });
      await shared.break(NAME);
      const modeOf = async (...below: string[]): Promise<number> => (await stat(join(on.root, 'a', ...below))).mode & 0o7777;
      expect(await modeOf('b', 'shared')).toBe(ofDirectory);
      for (const name of await readdir(directory)) expect(await modeOf('b', 'shared', name)).toBe(ofFiles);
      const passable = sharedWith === 'user' ? 0o700 : 0o755;
      expect([await modeOf(), await modeOf('b')]).toEqual([passable, passable]);
    } finally {
      process.umask(before);
    }
  });

  it('I6 in which anybody may delete a lock that is held: refused, with the command that mends it', async () => {
    await chmod(on.directory, 0o777);
    await expect(on.ask()).rejects.toMatchObject({ code: 'STORE_MISCONFIGURED', message: expect.stringContaining(`chmod +t ${on.directory}`) });
    await chmod(on.directory, 0o1777);
    expect(await on.ask()).toMatchObject({ kind: 'acquired' });
  });

  it('that is there, but not open to those it is to be shared with: said when it is set up, and not changed', async () => {
    await chmod(on.directory, 0o755);
    await expect(fileLeases({ directory: on.directory, sharedWith: 'everyone' }).setUp()).rejects.toMatchObject({
      code: 'STORE_MISCONFIGURED',
      message: expect.stringContaining(`chmod 1777 ${on.directory}`),
    });
    expect((await stat(on.directory)).mode & 0o7777).toBe(0o755);
  });

  it.each(['a symbolic link', 'a pipe', 'a directory', 'a second name of another file'])(
    '%s in the place of a lock file is refused, and what it leads to is not written to',
    async (what) => {
      const shared = fileLeases({ directory: on.directory, sharedWith: 'everyone' });
      const victim = join(on.root, 'victim');
      await writeFile(victim, 'precious');
      if (what === 'a symbolic link') await symlink(victim, on.path);
      else if (what === 'a pipe') await run('mkfifo', [on.path]);
      else if (what === 'a directory') await mkdir(on.path);
      else await link(victim, on.path);
      for (const call of [() => on.ask(shared), () => shared.read(NAME), () => shared.break(NAME)]) {
        await expect(call()).rejects.toMatchObject({ code: 'STORE_MISCONFIGURED' });
      }
      expect(await readFile(victim, 'utf8')).toBe('precious');
      expect(await on.openFiles()).toEqual([]);
    },
  );

  it('options that make no sense are refused at once: above all a path that depends on where a process was started', () => {
    for (const options of [
      {},
      { directory: 'locks' },
      { directory: '' },
      { directory: '/locks', sharedWith: 'all' },
      { directory: '/locks', mode: 1 },
    ]) {
      expect(() => fileLeases(options as never)).toThrow(expect.objectContaining({ code: 'INVALID_OPTIONS' }));
    }
    expect(() => fileLeases({ directory: 'host' })).not.toThrow();
  });

  it('requests that make no sense are refused', async () => {
    const good = { owner: 'o', leaseMs: 1_000 };
    const bad = [{ owner: '' }, { owner: 'x'.repeat(257) }, { leaseMs: 99 }, { leaseMs: Number.NaN }, { slot: 1.5 }];
    for (const one of bad) await expect(on.leases.acquire(NAME, { ...good, ...one })).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
    for (const name of ['', 'x'.repeat(513)]) await expect(on.leases.acquire(name, good)).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
    expect(await readdir(on.directory)).toEqual([]);
  });
});

it('importing loads no native code; where the package is missing, the first call says what to install', async () => {
  const module = new URL('../../../src/leases/file/index.ts', import.meta.url).href;
  const missing = `import { registerHooks } from 'node:module';
    registerHooks({ resolve(what, context, next) { if (what === 'fs-native-extensions') throw new Error('not found'); return next(what, context); } });`;
  const program = `const { fileLeases } = await import(${JSON.stringify(module)});
    const leases = fileLeases({ directory: ${JSON.stringify(on.directory)} });
    const native = process.report.getReport().sharedObjects.filter((name) => name.includes('fs-native'));
    console.log(JSON.stringify([native, await leases.read("x").catch(({ code, message }) => ({ code, message }))]));`;
  const args = ['--no-warnings', '--import', `data:text/javascript,${encodeURIComponent(missing)}`, '--input-type=module', '-e', program];
  const { stdout } = await run(process.execPath, args);
  expect(JSON.parse(stdout)).toEqual([[], { code: 'STORE_MISCONFIGURED', message: expect.stringContaining('npm install fs-native-extensions') }]);
});
