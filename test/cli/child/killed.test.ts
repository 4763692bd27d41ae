import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, describe, expect, it } from 'vitest';
import { sendSignal } from '../../../scripts/send-signal.ts';
import { processOf, until } from './processes.ts';
import { Stage, shell, type Wrapped } from './stage.ts';

const stage = new Stage();
afterAll(() => stage.clean());

const nothingRuns = async (wrapped: Wrapped): Promise<void> => {
  await until(() => wrapped.alive().length === 0, 'the command is dead');
  await until(() => wrapped.watchers().length === 0, 'the watcher has ended');
};
/** Ends by itself some time, whatever becomes of the test. */
const SLEEPS = 'echo runs; exec sleep 60';

describe.concurrent('X4 a guard that is killed with SIGKILL leaves nothing running unguarded', () => {
  it.each(['gate', 'watcher', 'watched'] as const)('killed before the go (%s): the command has not begun, and never does', async (diesAt) => {
    const wrapped = stage.wrap({ diesAt, ...shell(SLEEPS) });
    await expect(wrapped.ended()).rejects.toThrow('SIGKILL');
    expect(wrapped.lines()).toEqual([{ atGate: expect.any(Number) }]);
    await nothingRuns(wrapped);
    expect(wrapped.stdout()).toBe('');
  });

  it('killed right after the go', async () => {
    const wrapped = stage.wrap({ diesAt: 'go', ...shell('exec sleep 60') });
    await expect(wrapped.ended()).rejects.toThrow('SIGKILL');
    await nothingRuns(wrapped);
  });

  it('killed at 20 moments that nobody chose', async () => {
    const began: Wrapped[] = [];
    const killOne = async (moment: number): Promise<void> => {
      const wrapped = stage.wrap(shell('sleep 60 & sleep 60'));
      const pid = await wrapped.pid();
      await sleep(moment * 2 + Math.random() * 2);
      sendSignal(pid, 'SIGKILL');
      began.push(wrapped);
    };
    for (let batch = 0; batch < 20; batch += 4) await Promise.all([0, 1, 2, 3].map((one) => killOne(batch + one)));
    await Promise.all(began.map(nothingRuns));
    expect(began).toHaveLength(20);
  });

  it.each(['INPUT_MY-NAME', 'IFS'])('an environment that does not pass through sh (%s), killed while the command runs', async (name) => {
    const wrapped = stage.wrap({ ...shell('sleep 60 & echo runs; sleep 60'), env: { [name]: '1' } });
    await wrapped.hears('runs');
    // IFS goes past the gate, and its first words may come before the watcher knows it.
    if (name === 'IFS') await sleep(100);
    sendSignal(await wrapped.pid(), 'SIGKILL');
    await nothingRuns(wrapped);
  });

  it('a command that does not hear TERM gets KILL when its time is up', async () => {
    const wrapped = stage.wrap({ ...shell("trap '' TERM; echo runs; while :; do sleep 0.1; done"), killAfterMs: 700 });
    await wrapped.hears('runs');
    sendSignal(await wrapped.pid(), 'SIGKILL');
    await until(() => wrapped.alive().length === 0, 'dead by KILL');
  });

  it('a command that was stopped is ended, too', async () => {
    const wrapped = stage.wrap(shell('echo $$; sleep 60'));
    await wrapped.hears('\n');
    sendSignal(-Number(wrapped.stdout()), 'SIGSTOP');
    sendSignal(await wrapped.pid(), 'SIGKILL');
    await nothingRuns(wrapped);
  });

  it('while it waits for what the command left: the rest is ended', async () => {
    const wrapped = stage.wrap({ ...shell('sleep 60 & echo left'), leftBehind: 'wait' });
    await until(() => wrapped.said().length > 0, 'it waits');
    sendSignal(await wrapped.pid(), 'SIGKILL');
    await nothingRuns(wrapped);
  });

  it('in the foreground the process itself is ended, and only that', async () => {
    const wrapped = stage.wrap({ ...shell('sleep 50 & echo $! $$; exec sleep 60'), foreground: true });
    await wrapped.hears('\n');
    const [left = 0, leader = 0] = wrapped.stdout().split(' ').map(Number);
    sendSignal(await wrapped.pid(), 'SIGKILL');
    await until(() => processOf(leader) === undefined, 'the command is dead');
    await until(() => wrapped.watchers().length === 0, 'the watcher has ended');
    expect(processOf(left)).toBeDefined();
  });

  it('one that ends says goodbye: what the command left on purpose is not killed', async () => {
    const wrapped = stage.wrap({ ...shell('sleep 60 >/dev/null 2>&1 & echo $!') });
    expect((await wrapped.ended()).end).toMatchObject({ kind: 'exited', code: 0 });
    expect(wrapped.watchers()).toEqual([]);
    await sleep(200);
    expect(processOf(Number(wrapped.stdout()))).toBeDefined();
  });

  it('Ctrl-C, HUP and the like for the watcher do nothing', async () => {
    const wrapped = stage.wrap(shell('echo runs; sleep 60'));
    await wrapped.hears('runs');
    const [watcher] = wrapped.watchers();
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2'] as const) sendSignal(watcher?.pid ?? 0, signal);
    sendSignal(await wrapped.pid(), 'SIGKILL');
    await nothingRuns(wrapped);
  });
});
