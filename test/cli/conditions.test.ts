import { spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { sendSignal } from '../../scripts/send-signal.ts';
import { type ConditionsToCheck, checkConditions } from '../../src/cli/conditions.ts';
import { EXIT } from '../../src/cli/exit-codes.ts';

let cwd: string;
let said: string[];
const check = (given: Partial<ConditionsToCheck>) =>
  checkConditions({ creates: [], verify: [], cwd, env: process.env, say: (sentence) => said.push(sentence), ...given });

beforeEach(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'rerunsafe-conditions-'));
  said = [];
});
afterEach(() => rm(cwd, { recursive: true, force: true }));

async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  for (const began = performance.now(); !(await holds()); ) {
    if (performance.now() - began > 5_000) throw new Error('it never came about');
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
function isRunning(pid: number): boolean {
  // A dead process that nobody has fetched is still there.
  const state = spawnSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' }).stdout.trim();
  return state !== '' && !state.startsWith('Z');
}

describe('what has to be there', () => {
  it('a file, a folder, a link that leads somewhere, and a path from the root hold', async () => {
    await writeFile(join(cwd, 'file'), '');
    await mkdir(join(cwd, 'folder'));
    await symlink('folder', join(cwd, 'link'));
    expect(await check({ creates: ['file', 'folder', './folder/', 'link', join(cwd, 'file')] })).toEqual([]);
  });

  it('each that is not there is named', async () => {
    await writeFile(join(cwd, 'file'), '');
    await symlink('gone', join(cwd, 'dangling'));
    expect(await check({ creates: ['gone', 'file', 'file/below', 'dangling'] })).toEqual([
      'gone is not there (--creates)',
      'file/below is not there (--creates)',
      'dangling is not there (--creates)',
    ]);
  });

  it('what cannot be looked at does not hold, and is not said to be away', async () => {
    await symlink('circle', join(cwd, 'circle'));
    expect(await check({ creates: ['circle'] })).toEqual(['circle cannot be looked at: ELOOP (--creates)']);
  });

  it('nothing asked, all holds', async () => {
    expect(await check({})).toEqual([]);
  });

  it.each([{ creates: [''] }, { creates: ['a', ' '] }, { verify: [''] }, { verify: ['true', '\n'] }])('an empty one is a slip: %j', async (given) => {
    await expect(check(given)).rejects.toMatchObject({ exitCode: EXIT.usage });
  });
});

describe('commands that look', () => {
  it.each([
    ['true', []],
    ['test -d . && cd / && [ "$WORD" = "a b" ]', []],
    // Nothing to read: it would wait for a person.
    ['! read line', []],
    ['exit 3', ['"exit 3" ended with 3 (--verify)']],
    ['no-such-command-here 2>&-', ['"no-such-command-here 2>&-" ended with 127 (--verify)']],
    ['kill -SEGV $$', ['"kill -SEGV $$" was ended by SIGSEGV (--verify)']],
  ])('%s', async (command, expected) => {
    expect(await check({ verify: [command], env: { ...process.env, WORD: 'a b' } })).toEqual(expected);
  });

  it('all are asked, in their order and in the working folder', async () => {
    const unmet = await check({ creates: ['x'], verify: ['echo 1 >> log; false', 'echo 2 >> log', 'echo 3 >> log; exit 2'] });
    expect(unmet).toEqual([
      'x is not there (--creates)',
      '"echo 1 >> log; false" ended with 1 (--verify)',
      '"echo 3 >> log; exit 2" ended with 2 (--verify)',
    ]);
    expect(await readFile(join(cwd, 'log'), 'utf8')).toBe('1\n2\n3\n');
  });

  it('the time limit ends the whole group, and is said', async () => {
    const began = performance.now();
    const unmet = await check({ verify: ['sleep 20 & echo $! > pid; trap "" TERM; wait'], timeLimitMs: 300 });
    expect(performance.now() - began).toBeLessThan(3_000);
    expect(unmet).toEqual([expect.stringMatching(/gave no answer within 300ms \(--verify\)$/)]);
    expect(said).toEqual([expect.stringMatching(/^--verify ".*" was killed: it gave no answer within 300ms$/)]);
    const pid = Number(await readFile(join(cwd, 'pid'), 'utf8'));
    expect(pid).toBeGreaterThan(1);
    await until(() => !isRunning(pid));
  });

  it('what goes on in the background is not waited for', async () => {
    const began = performance.now();
    expect(await check({ verify: ['sleep 20 & echo $! > pid'] })).toEqual([]);
    expect(performance.now() - began).toBeLessThan(3_000);
    const pid = Number(await readFile(join(cwd, 'pid'), 'utf8'));
    expect(isRunning(pid)).toBe(true);
    sendSignal(pid, 'SIGTERM');
  });

  it('a check can be ended from outside, and then does not hold', async () => {
    const stop = new AbortController();
    const checked = check({ verify: [': > begun; sleep 20', 'true'], signal: stop.signal });
    await until(() =>
      readFile(join(cwd, 'begun')).then(
        () => true,
        () => false,
      ),
    );
    stop.abort();
    expect(await checked).toEqual(['": > begun; sleep 20" was stopped (--verify)', '"true" was stopped (--verify)']);
  });

  it.each([
    ['no sh', () => ({ env: { PATH: cwd } })],
    ['no folder', () => ({ cwd: join(cwd, 'gone') })],
  ])('what cannot be asked is no answer: %s', async (_, given) => {
    await expect(check({ verify: ['true'], ...given() })).rejects.toMatchObject({
      exitCode: EXIT.config,
      message: expect.stringContaining('--verify cannot be asked'),
    });
  });

  it('a check does not outlive the guard that leaves', async () => {
    const module = join(import.meta.dirname, '../../src/cli/conditions.ts');
    const script = `import { existsSync } from 'node:fs';
      import { checkConditions } from ${JSON.stringify(module)};
      setInterval(() => existsSync('pid') && process.exit(5), 5);
      await checkConditions({ creates: [], verify: ['sleep 20 & echo $! > pid.new; mv pid.new pid; wait'], cwd: '.', env: process.env, say() {} });`;
    expect(spawnSync(process.execPath, ['--input-type=module', '-e', script], { cwd, timeout: 10_000 }).status).toBe(5);
    const pid = Number(await readFile(join(cwd, 'pid'), 'utf8'));
    expect(pid).toBeGreaterThan(1);
    await until(() => !isRunning(pid));
  });

  it("what they print is on the error stream: the other one is the command's", () => {
    const module = join(import.meta.dirname, '../../src/cli/conditions.ts');
    const script = `import { checkConditions } from ${JSON.stringify(module)};
      console.log(JSON.stringify(await checkConditions({ creates: [], verify: ['echo out; echo err >&2'], cwd: '.', env: process.env, say() {} })));`;
    const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], { cwd, encoding: 'utf8' });
    expect(stdout).toBe('[]\n');
    expect(stderr).toContain('out\nerr\n');
  });
});
