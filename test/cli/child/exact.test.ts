import { execFileSync } from 'node:child_process';
import { symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { shellFor } from '../../../src/cli/child/gate.ts';
import { runChild } from '../../../src/cli/child/run-child.ts';
import type { Hold } from '../../../src/cli/hold.ts';
import { processesWith } from './processes.ts';
import { Stage, shell } from './stage.ts';
import type { Task } from './wrapper.ts';

const stage = new Stage();
afterAll(() => stage.clean());

const SCRIPT = 'ls /proc/$$/fd; exit 0';
/** What a shell may add where it was not there. */
const ADDED = ['PWD', 'OLDPWD', 'SHLVL', '_'];

async function environmentSeen(given: NodeJS.ProcessEnv, added: Record<string, string>, cwd?: string): Promise<Record<string, string>> {
  const wrapped = stage.wrap({ command: 'env', args: ['-0'], env: added }, { env: given, ...(cwd && { cwd }) });
  await wrapped.ended();
  const { RERUNSAFE_TEST_MARK: _, ...seen } = Object.fromEntries(
    wrapped
      .stdout()
      .split('\0')
      .filter(Boolean)
      .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  );
  return seen as Record<string, string>;
}

const here = process.cwd();
const PLAIN = { PATH: process.env.PATH, HOME: '/h', PWD: here, EMPTY: '', LINES_IN_IT: 'a\nb', QUOTED: `'"$HOME\``, UNI: 'ä€😀' };

describe.concurrent('X4 the command gets exactly what the person gave', () => {
  it.each([
    ['through sh', '/bin/sh', PLAIN, {}],
    ['without PWD, as systemd has it', '/bin/sh', { PATH: PLAIN.PATH }, {}],
    ['through bash: names that dash drops', '/bin/bash', PLAIN, { 'INPUT_MY-NAME': '1', 'npm_config_//registry/:_auth': 's', 'a.b': '', '9': 'x' }],
    [
      'without a gate: what a shell sets itself',
      undefined,
      { ...PLAIN, IFS: 'x', PPID: '7', OPTIND: '4', PS1: '>', PS4: '*' },
      { BASH_ENV: '/dev/null' },
    ],
    ['without a gate: a PWD that is somewhere else', undefined, { ...PLAIN, PWD: '/usr' }, {}],
  ])('its environment, %s', async (_, by, given, added) => {
    const wanted = { ...given, IDEMPOTENCY_KEY: 'a b', ...added };
    expect(shellFor('env', wanted)).toBe(by);
    const seen = await environmentSeen(given, { IDEMPOTENCY_KEY: 'a b', ...added });
    for (const name of ADDED) if (!(name in wanted)) delete seen[name];
    expect(seen).toEqual(wanted);
  });

  it('a PWD that goes through a link stays as it was', async () => {
    const wrapped = stage.wrap({});
    await wrapped.ended();
    const link = join(wrapped.folder, 'link');
    symlinkSync(tmpdir(), link);
    expect(await environmentSeen({ PATH: PLAIN.PATH, PWD: link }, {}, tmpdir())).toMatchObject({ PWD: link });
  });

  it.each([{}, { 'A-B': '' }, { IFS: 'x' }])('its arguments, with %j in its environment', async (env) => {
    const args = ['', 'a b', '"q"', "it's", '\n', ' ', '*', '$HOME', '`x`', '\\', '-n', '--', ';', 'ä😀', 'x'.repeat(100_000)];
    const wrapped = stage.wrap({ command: 'printf', args: ['%s\\0', ...args], env: env as Record<string, string> });
    await wrapped.ended();
    expect(wrapped.stdout().split('\0').slice(0, -1)).toEqual(args);
  });

  it.each([{}, { IFS: 'x' }])('its own name, with %j in its environment', async (env) => {
    const wrapped = stage.wrap({ command: 'cat', args: ['/proc/self/cmdline'], env: env as Record<string, string> });
    await wrapped.ended();
    expect(wrapped.stdout()).toBe('cat\0/proc/self/cmdline\0');
  });

  it.each([{}, { captureBytes: 100 }, { foreground: true }])('stdin, with %j', async (how) => {
    const wrapped = stage.wrap({ command: 'cat', ...how });
    wrapped.process.stdin?.end('first\nlast');
    await wrapped.ended();
    expect(wrapped.stdout()).toBe('first\nlast');
  });

  it.each([
    [0, 'exit 0'],
    [3, 'exit 3'],
    [127, 'no-such-command-here 2>/dev/null'],
    [125, 'exit 125'],
    [255, 'exit 255'],
  ])('its exit code %i', async (code, script) => {
    expect((await stage.wrap(shell(script)).ended()).end).toMatchObject({ kind: 'exited', code, durationMs: expect.any(Number) });
  });

  it.each([{}, { IFS: 'x' }])('nothing of ours: three descriptors, with %j in its environment', async (env) => {
    const wrapped = stage.wrap({ ...shell(SCRIPT), env: env as Record<string, string> });
    await wrapped.ended();
    // Others may come from whoever started the tests.
    const withoutUs = execFileSync('sh', ['-c', SCRIPT], { encoding: 'utf8' });
    expect(wrapped.stdout()).toBe(withoutUs);
  });

  it('126: an argument that is too long for the system', async () => {
    const hold: Hold = { fence: undefined, leaseMs: 60_000, signal: new AbortController().signal, remainingMs: () => 60_000, assertHeld() {} };
    const how = { env: {}, foreground: false, killAfterMs: 123_456_700, leftBehind: 'leave', hold, onLostLease: 'kill', say() {} } as const;
    const end = await runChild({ ...how, command: 'true', args: ['x'.repeat(3_000_000)] });
    expect(end).toMatchObject({ kind: 'not-started', exitCode: 126, message: expect.stringContaining('E2BIG') });
    expect(processesWith('cmdline', 'rerunsafe-watcher').filter(({ parent }) => parent === process.pid)).toEqual([]);
  });

  it('what cannot be started has not begun', async () => {
    for (const task of [{ command: 'no-such-command-here' }, { command: '/etc/passwd' }] satisfies Task[]) {
      const { end, children, listeners } = await stage.wrap(task).ended();
      expect({ ...end, children, listeners }).toMatchObject({
        kind: 'not-started',
        exitCode: task.command.startsWith('/') ? 126 : 127,
        children: 0,
        listeners: 0,
      });
    }
  });
});
