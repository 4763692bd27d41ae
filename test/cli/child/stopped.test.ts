import { afterAll, describe, expect, it } from 'vitest';
import { sendSignal } from '../../../scripts/send-signal.ts';
import { processOf, until } from './processes.ts';
import { Stage, shell } from './stage.ts';

const stage = new Stage();
afterAll(() => stage.clean());

const DEAF = "trap '' TERM; echo runs; while :; do sleep 0.05; done";
const DEAF_WITH_A_CLOCK = "trap '' TERM; while :; do date +%s%3N; sleep 0.02; done";
const lastSign = (stdout: string): number => Number(stdout.trim().split('\n').at(-1));
const NOTHING_LEFT = { children: 0, listeners: 0 };

describe.concurrent('X4 a command is stopped when its time or its lease is over', () => {
  it('trap 2: the whole tree is ended, not the shell alone', async () => {
    const wrapped = stage.wrap({ ...shell('sleep 60 & sh -c "sleep 60; :"; :'), timeoutMs: 600 });
    await expect(wrapped.ended()).resolves.toMatchObject({ end: { kind: 'stopped', why: 'timeout', endedBy: 'SIGTERM' }, ...NOTHING_LEFT });
    expect(wrapped.alive()).toEqual([]);
    expect(wrapped.watchers()).toEqual([]);
    expect(wrapped.said()).toEqual(['the command did not end within 600 ms: stopping it']);
  });

  it('one that takes TERM as a wish gets KILL', async () => {
    const wrapped = stage.wrap({ ...shell(DEAF), timeoutMs: 200, killAfterMs: 300 });
    expect((await wrapped.ended()).end).toMatchObject({ kind: 'stopped', why: 'timeout', endedBy: 'SIGKILL' });
    expect(wrapped.alive()).toEqual([]);
  });

  it('one that ends with 0 on TERM was stopped all the same', async () => {
    const wrapped = stage.wrap({ ...shell("trap 'echo ends; exit 0' TERM; while :; do sleep 0.05; done"), timeoutMs: 600 });
    expect((await wrapped.ended()).end).toMatchObject({ kind: 'stopped', why: 'timeout', code: 0 });
    expect(wrapped.stdout()).toBe('ends\n');
  });

  it('the process is quick, what it has started is deaf: that gets its KILL', async () => {
    const wrapped = stage.wrap({ ...shell(`sh -c "$1" & exec sleep 60`, DEAF), timeoutMs: 600, killAfterMs: 400 });
    expect((await wrapped.ended()).end).toMatchObject({ kind: 'stopped', why: 'timeout', endedBy: 'SIGTERM' });
    expect(wrapped.alive()).toEqual([]);
  });

  it('one that somebody stopped with SIGSTOP is ended', async () => {
    const wrapped = stage.wrap({ ...shell('kill -s STOP $$'), timeoutMs: 400 });
    expect((await wrapped.ended()).end).toMatchObject({ kind: 'stopped', why: 'timeout', endedBy: 'SIGTERM' });
  });

  it('the last words of one that was stopped are captured', async () => {
    const wrapped = stage.wrap({ ...shell("trap 'echo last; exit 1' TERM; while :; do sleep 0.05; done"), timeoutMs: 600, captureBytes: 100 });
    const { end } = await wrapped.ended();
    expect(end.tail).toContainEqual(['stdout', Buffer.from('last\n').toString('base64')]);
  });

  it('I2 a lease that is not renewed: deaf or not, the command is dead when it ends', async () => {
    const wrapped = stage.wrap({ ...shell(DEAF_WITH_A_CLOCK), leaseMs: 6000, renewed: false });
    const { end, leaseEndsAt } = await wrapped.ended();
    expect(end).toMatchObject({ kind: 'stopped', why: 'lease-lost', endedBy: 'SIGKILL' });
    expect(lastSign(wrapped.stdout())).toBeGreaterThan(0);
    expect(lastSign(wrapped.stdout())).toBeLessThan(leaseEndsAt as number);
    expect(wrapped.said()).toHaveLength(1);
  });

  it('I2 a lease that is lost while the command takes its time after the timeout hastens the end', async () => {
    const wrapped = stage.wrap({ ...shell(DEAF_WITH_A_CLOCK), leaseMs: 6000, renewed: false, timeoutMs: 600, killAfterMs: 60_000 });
    const { end, leaseEndsAt } = await wrapped.ended();
    expect(end).toMatchObject({ kind: 'stopped', why: 'timeout', endedBy: 'SIGKILL' });
    expect(lastSign(wrapped.stdout())).toBeGreaterThan(0);
    expect(lastSign(wrapped.stdout())).toBeLessThan(leaseEndsAt as number);
  });

  it('a lease that was taken stops it at once', async () => {
    const wrapped = stage.wrap({ command: 'sleep', args: ['60'], abortAfterMs: 300 });
    expect((await wrapped.ended()).end).toMatchObject({ kind: 'stopped', why: 'lease-lost', endedBy: 'SIGTERM' });
  });

  it('or is told to the person, once, and it goes on', async () => {
    const wrapped = stage.wrap({ ...shell('sleep 1; exit 4'), leaseMs: 400, renewed: false, abortAfterMs: 200, onLostLease: 'warn' });
    expect((await wrapped.ended()).end).toMatchObject({ kind: 'exited', code: 4 });
    expect(wrapped.said()).toEqual(['the lease is lost. The command goes on, and somebody else may start it, too']);
  });

  it('after a sleep (the guard does not run while the lease ends) it hears TERM as soon as we wake', async () => {
    const wrapped = stage.wrap({ ...shell("trap 'echo TERM; exit 0' TERM; echo runs; while :; do sleep 0.05; done"), leaseMs: 2500, renewed: false });
    await wrapped.hears('runs');
    const pid = await wrapped.pid();
    sendSignal(pid, 'SIGSTOP');
    const wokenMs = performance.now() + 2700;
    await until(() => performance.now() > wokenMs, 'the lease is over');
    expect(wrapped.stdout()).toBe('runs\n');
    sendSignal(pid, 'SIGCONT');
    expect((await wrapped.ended()).end).toMatchObject({ kind: 'stopped', why: 'lease-lost', code: 0 });
    expect(wrapped.stdout()).toBe('runs\nTERM\n');
  });

  it('one that somebody else killed says by which signal', async () => {
    const wrapped = stage.wrap(shell('kill -s KILL $$'));
    expect((await wrapped.ended()).end).toMatchObject({ kind: 'signalled', signal: 'SIGKILL' });
  });
});

describe.concurrent('X4 trap 3: what a command leaves running is dealt with as the person says', () => {
  const LEAVES = 'sleep 60 & echo $!; exit 2';
  const quiet = 'sleep 60 >/dev/null 2>&1 & echo $!; exit 2';

  it('leave: it goes on, and a sentence says so', async () => {
    const wrapped = stage.wrap(shell(quiet));
    await expect(wrapped.ended()).resolves.toMatchObject({ end: { kind: 'exited', code: 2 }, ...NOTHING_LEFT });
    expect(wrapped.said()).toEqual([expect.stringContaining('left processes running')]);
    expect(processOf(Number(wrapped.stdout()))).toBeDefined();
  });

  it('end: it is ended, if need be by KILL', async () => {
    const wrapped = stage.wrap({ ...shell(`sh -c "$1" & ${LEAVES}`, DEAF), leftBehind: 'end', killAfterMs: 300 });
    await expect(wrapped.ended()).resolves.toMatchObject({ end: { kind: 'exited', code: 2 }, ...NOTHING_LEFT });
    expect(wrapped.alive()).toEqual([]);
  });

  it('wait: until the last of them has ended', async () => {
    const wrapped = stage.wrap({ ...shell('(sleep 0.6; echo last) & exit 2'), leftBehind: 'wait', captureBytes: 100 });
    await expect(wrapped.ended()).resolves.toMatchObject({ end: { kind: 'exited', code: 2 }, ...NOTHING_LEFT });
    expect(wrapped.stdout()).toBe('last\n');
  });

  it('wait: no longer than the timeout', async () => {
    const wrapped = stage.wrap({ ...shell(LEAVES), leftBehind: 'wait', timeoutMs: 500 });
    expect((await wrapped.ended()).end).toMatchObject({ kind: 'stopped', why: 'timeout', code: 2 });
    expect(wrapped.alive()).toEqual([]);
  });

  it('wait: no longer than the lease', async () => {
    const wrapped = stage.wrap({ ...shell(LEAVES), leftBehind: 'wait', leaseMs: 1200, renewed: false });
    expect((await wrapped.ended()).end).toMatchObject({ kind: 'stopped', why: 'lease-lost', code: 2 });
    expect(wrapped.alive()).toEqual([]);
  });

  it('a command that leaves nothing is waited for no longer', async () => {
    const { end } = await stage.wrap({ command: 'true', leftBehind: 'wait' }).ended();
    expect(end).toMatchObject({ kind: 'exited', code: 0 });
  });
});
