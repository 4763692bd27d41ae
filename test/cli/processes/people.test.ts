import { describe, expect, it } from 'vitest';
import { processOf, until } from '../child/processes.ts';
import { cliStage, type Guarded } from './stage.ts';

const SHORT = ['--lease', '1500ms', '--kill-after', '300ms'];

describe('people and a command that runs', () => {
  const stage = cliStage();

  /** Told by its next renewal, and before its lease could have ended: it ends, and says that it was the guard. */
  async function isStopped(guard: Guarded, pid: number): Promise<void> {
    const { code, report } = await guard.ended;
    expect([code, report?.became]).toEqual([125, 'unknown']);
    await until(() => processOf(pid) === undefined, 'the command is dead');
    expect(guard.seen().map(({ what }) => what)).not.toContain('out');
  }

  it.concurrent('I4 I8 resolve is refused while it runs (75), and changes nothing: it ends as done', async () => {
    const guard = stage.guard();
    await guard.command();
    expect((await stage.ask('resolve', guard.key, '--as', 'not-done')).code).toBe(75);
    expect((await stage.ask('forget', guard.key)).code).toBe(75);
    guard.finish();
    expect((await guard.ended).code).toBe(0);
    expect(await stage.state(guard.key)).toBe('done');
  });

  it.concurrent('I4 resolve --force --as done while it runs: its command is stopped, exit 125, and the word stands', async () => {
    const guard = stage.guard({ options: SHORT });
    const pid = await guard.command();
    expect((await stage.ask('resolve', guard.key, '--as', 'done', '--force')).code).toBe(0);
    await isStopped(guard, pid);
    expect(await stage.state(guard.key)).toBe('done');
    const next = await stage.guard({ isShort: true }, guard).ended;
    expect(next).toMatchObject({ code: 0, report: { became: 'already-done' } });
  });

  it.concurrent('I4 resolve --force --as not-done while it runs: its command is stopped, exit 125; the next runs', async () => {
    const guard = stage.guard({ options: SHORT });
    const pid = await guard.command();
    expect((await stage.ask('resolve', guard.key, '--as', 'not-done', '--force')).code).toBe(0);
    await isStopped(guard, pid);
    expect(await stage.guard({ isShort: true }, guard).ended).toMatchObject({ code: 0, report: { became: 'succeeded', attempt: 1 } });
  });

  it.concurrent('I4 I5 forget --force while it runs: its command is stopped, exit 125; the next runs at once, with a higher token, and stays done', async () => {
    const guard = stage.guard({ options: SHORT });
    const pid = await guard.command();
    const forgotten = await stage.ask('forget', guard.key, '--force');
    expect(forgotten.code).toBe(0);
    expect(forgotten.stdout).toContain('its command is stopped when its guard next renews');
    const next = stage.guard({ isShort: true }, guard);
    expect(await next.ended).toMatchObject({ code: 0, report: { became: 'succeeded' } });
    await isStopped({ ...guard, seen: () => guard.seen().filter((one) => one.pid === pid) }, pid);
    const [first, second] = guard.seen().filter(({ what }) => what === 'in');
    expect(second?.token).toBeGreaterThan(first?.token ?? Number.POSITIVE_INFINITY);
    expect(await stage.state(guard.key)).toBe('done');
  });

  it.concurrent('I4 a command that ended well after it was forgotten is no outcome: exit 125, and forgotten it stays', async () => {
    const guard = stage.guard({ options: ['--lease', '60s'] });
    await guard.command();
    expect((await stage.ask('forget', guard.key, '--force')).code).toBe(0);
    guard.finish();
    expect(await guard.ended).toMatchObject({ code: 125, report: { became: 'refused', code: 'LEASE_LOST' } });
    expect(guard.seen().at(-1)?.what).toBe('out');
    expect(await stage.state(guard.key)).toBe('forgotten');
  });

  it.concurrent('I4 I6 unlock while it runs: its command is stopped, exit 125; another token is left alone (75)', async () => {
    const guard = stage.guard({ options: ['--mode', 'lock', ...SHORT] });
    const pid = await guard.command();
    const token = guard.seen()[0]?.token ?? 0;
    expect((await stage.ask('unlock', guard.key)).code).toBe(64);
    expect((await stage.ask('unlock', guard.key, '--token', String(token - 1))).code).toBe(75);
    expect(processOf(pid)).toBeDefined();
    expect((await stage.ask('unlock', guard.key, '--token', String(token))).code).toBe(0);
    await isStopped(guard, pid);
    const next = stage.guard({ isShort: true, options: ['--mode', 'lock'] }, guard);
    expect((await next.ended).code).toBe(0);
    expect(guard.seen().at(-1)?.token).toBeGreaterThan(token);
  });

  it.concurrent('I4 unlock of a slot while it runs: the slot is not marked done by the one that lost it', async () => {
    const options = ['--mode', 'slot', '--slot', '1h', '--at', '2026-03-01T10:20:00Z'];
    const guard = stage.guard({ options: [...options, ...SHORT] });
    const pid = await guard.command();
    expect((await stage.ask('unlock', guard.key, '--force')).code).toBe(0);
    await isStopped(guard, pid);
    expect(await stage.guard({ isShort: true, options }, guard).ended).toMatchObject({ code: 0, report: { became: 'succeeded' } });
  });
});
