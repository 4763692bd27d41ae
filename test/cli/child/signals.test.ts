import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, describe, expect, it } from 'vitest';
import { sendSignal } from '../../../scripts/send-signal.ts';
import { processOf, until } from './processes.ts';
import { Stage, shell } from './stage.ts';

const stage = new Stage();
afterAll(() => stage.clean());

/** Says each that it hears, and ends on TERM. */
const TALKS = `for s in INT HUP QUIT USR1 USR2; do trap "echo '<$s>'" $s; done; trap 'echo "<TERM>"; exit 0' TERM
echo runs; while :; do sleep 0.05; done`;
const count = (text: string, word: string): number => text.split(word).length - 1;

describe.concurrent('X4 signals for the guard are meant for the command', () => {
  it.each([false, true])('each is passed on once, and one to end makes it stopped, whatever its code (foreground: %s)', async (foreground) => {
    const wrapped = stage.wrap({ ...shell(TALKS), foreground });
    await wrapped.hears('runs');
    const passed = ['USR1', 'USR2', 'HUP', ...(foreground ? [] : (['INT', 'QUIT'] as const)), 'TERM'] as const;
    for (const name of passed) {
      sendSignal(await wrapped.pid(), `SIG${name}`);
      await wrapped.hears(`<${name}>`);
    }
    await expect(wrapped.ended()).resolves.toMatchObject({
      end: { kind: 'stopped', why: 'signal', signal: 'SIGHUP', code: 0 },
      children: 0,
      listeners: 0,
    });
    for (const name of passed) expect(count(wrapped.stdout(), `<${name}>`)).toBe(1);
  });

  it('USR1 and USR2 end nobody', async () => {
    const wrapped = stage.wrap(shell('trap "exit 5" USR1; echo runs; while :; do sleep 0.05; done'));
    await wrapped.hears('runs');
    sendSignal(await wrapped.pid(), 'SIGUSR1');
    expect((await wrapped.ended()).end).toMatchObject({ kind: 'exited', code: 5 });
  });

  it('the whole group hears them', async () => {
    const wrapped = stage.wrap(shell('sleep 60 & sleep 60 & echo runs; wait'));
    await wrapped.hears('runs');
    sendSignal(await wrapped.pid(), 'SIGINT');
    // sh without job control lets its background jobs ignore INT.
    expect((await wrapped.ended()).end).toMatchObject({ kind: 'stopped', why: 'signal', signal: 'SIGINT', endedBy: 'SIGINT' });
    const second = stage.wrap(shell('sleep 60 & sleep 60 & echo runs; wait'));
    await second.hears('runs');
    sendSignal(await second.pid(), 'SIGTERM');
    expect((await second.ended()).end).toMatchObject({ kind: 'stopped', why: 'signal', signal: 'SIGTERM', endedBy: 'SIGTERM' });
    await until(() => second.alive().length === 0, 'the group is dead');
  });

  it('a timeout outweighs a signal that did not help', async () => {
    const wrapped = stage.wrap({ ...shell("trap '' INT; echo runs; while :; do sleep 0.05; done"), timeoutMs: 700 });
    await wrapped.hears('runs');
    sendSignal(await wrapped.pid(), 'SIGINT');
    expect((await wrapped.ended()).end).toMatchObject({ kind: 'stopped', why: 'timeout', endedBy: 'SIGTERM' });
  });

  it('TSTP stops command and guard, CONT lets both go on', async () => {
    const wrapped = stage.wrap(shell('echo $$; read -r _; exit 6'));
    await wrapped.hears('\n');
    const [command, pid] = [Number(wrapped.stdout()), await wrapped.pid()];
    sendSignal(pid, 'SIGTSTP');
    await until(() => processOf(pid)?.state === 'T' && processOf(command)?.state === 'T', 'both are stopped');
    sendSignal(pid, 'SIGCONT');
    wrapped.process.stdin?.end('\n');
    expect((await wrapped.ended()).end).toMatchObject({ kind: 'exited', code: 6 });
  });
});

describe.concurrent('X4 at a terminal', () => {
  const atTerminal = (command: string[]): string[] => [
    'script',
    '-qec',
    `exec ${command.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ')}`,
    '/dev/null',
  ];

  it.each([true, false])('Ctrl-C reaches the command once, and the guard lives to tell (foreground: %s)', async (foreground) => {
    const script =
      'trap "echo \\"<INT>\\"" INT; trap "echo \\"<QUIT>\\"; exit 7" QUIT; test -t 0 && (: </dev/tty) 2>/dev/null && echo its terminal; echo runs; while :; do sleep 0.05; done';
    const wrapped = stage.wrap({ ...shell(script), foreground }, { through: atTerminal });
    await wrapped.hears('runs');
    wrapped.process.stdin?.write('\x03');
    await wrapped.hears('<INT>');
    await sleep(150);
    wrapped.process.stdin?.write('\x1c');
    await wrapped.hears('<QUIT>');
    const { end } = await wrapped.ended();
    expect(end).toMatchObject({ kind: 'stopped', why: 'signal', signal: 'SIGINT', code: 7 });
    expect([count(wrapped.stdout(), '<INT>'), count(wrapped.stdout(), '<QUIT>')]).toEqual([1, 1]);
    expect(wrapped.stdout().includes('its terminal')).toBe(foreground);
  });
});
