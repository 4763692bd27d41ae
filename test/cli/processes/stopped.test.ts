import { describe, expect, it } from 'vitest';
import { sendSignal } from '../../../scripts/send-signal.ts';
import { processOf, until } from '../child/processes.ts';
import { cliStage } from './stage.ts';

const LEASE = ['--lease', '1200ms', '--kill-after', '300ms'];
const TAKES_OVER = ['--on-unknown', 'retry', '--wait', '20s'];

describe('a guard that is stopped (SIGSTOP) for longer than its lease, and goes on', () => {
  const stage = cliStage();

  it.concurrent.each([
    ['alone', false],
    ['with its command, as when the machine sleeps', true],
  ] as const)('I4 I6 %s: somebody else has taken over, its command is stopped, exit 125, and the newer outcome stands', async (_, both) => {
    const guard = stage.guard({ options: [...LEASE, '--on-unknown', 'retry'], ticks: true });
    const pid = await guard.command();
    guard.kill('SIGSTOP');
    if (both) sendSignal(-pid, 'SIGSTOP');
    const next = await stage.guard({ options: TAKES_OVER, isShort: true }, guard).ended;
    expect(next).toMatchObject({ code: 0, report: { became: 'succeeded', attempt: 2 } });
    expect(processOf(pid)).toBeDefined();
    if (both) sendSignal(-pid, 'SIGCONT');
    guard.kill('SIGCONT');
    expect(await guard.ended).toMatchObject({ code: 125, report: { became: 'unknown', attempt: 1 } });
    await until(() => processOf(pid) === undefined, 'its command is dead');
    expect(guard.seen().filter(({ what, attempt }) => what === 'out' && attempt === 1)).toEqual([]);
    const { stdout } = await stage.ask('status', guard.key, '--json');
    expect(JSON.parse(stdout)).toMatchObject({ state: 'done', attempt: 2, token: next.report?.token });
  });

  it.concurrent('I2 I4 its command has ended with 0 in the meantime: the outcome of the one that took over stands, and it says so (0) or that its lease was lost (125)', async () => {
    const guard = stage.guard({ options: [...LEASE, '--on-unknown', 'retry'] });
    const pid = await guard.command();
    guard.kill('SIGSTOP');
    const next = await stage.guard({ options: TAKES_OVER, isShort: true }, guard).ended;
    expect(next.code).toBe(0);
    guard.finish();
    await until(() => processOf(pid) === undefined, 'its command has ended');
    guard.kill('SIGCONT');
    // Which of the two depends on what it sees first: the end of its command, or that of its lease.
    const { code, report } = await guard.ended;
    expect([
      [0, 'already-done'],
      [125, 'unknown'],
    ]).toContainEqual([code, report?.became]);
    const { stdout } = await stage.ask('show', guard.key, '--json');
    expect(JSON.parse(stdout)).toMatchObject({ state: 'done', attempt: 2, token: next.report?.token });
  });

  it.concurrent('I8 nobody has taken over: its command is stopped, exit 125, and the next is blocked', async () => {
    const guard = stage.guard({ options: LEASE });
    const pid = await guard.command();
    guard.kill('SIGSTOP');
    await until(() => processOf(guard.pid)?.state === 'T', 'it is stopped');
    // The next one waits until the lease is over, and then finds out.
    expect(await stage.guard({ options: ['--wait', '20s'], isShort: true }, guard).ended).toMatchObject({ code: 76 });
    guard.kill('SIGCONT');
    expect((await guard.ended).code).toBe(125);
    await until(() => processOf(pid) === undefined, 'its command is dead');
    expect(await stage.state(guard.key)).toBe('blocked');
  });

  it.concurrent('I6 under a lock: its command is stopped, exit 125, and the one that has the lock now is not disturbed', async () => {
    const options = ['--mode', 'lock', '--wait', '20s'];
    const guard = stage.guard({ options: [...options, ...LEASE] });
    await guard.command();
    guard.kill('SIGSTOP');
    const next = stage.guard({ options }, guard);
    const pid = await next.command();
    guard.kill('SIGCONT');
    expect((await guard.ended).code).toBe(125);
    expect(processOf(pid)).toBeDefined();
    next.finish();
    expect((await next.ended).code).toBe(0);
  });
});
