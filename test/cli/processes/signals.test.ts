import { existsSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { processOf, until } from '../child/processes.ts';
import { cliStage, type Guarded } from './stage.ts';
import { letGo, reached } from './wrappers.ts';

const SIGNALS = [
  ['SIGTERM', 143],
  ['SIGINT', 130],
] as const;

describe.each(SIGNALS)('%s for a guard', (signal, code) => {
  const stage = cliStage();

  const nothingRan = (guard: Guarded): void => expect(guard.seen()).toEqual([]);
  const isFree = async (guard: Guarded): Promise<void> => {
    expect(await stage.guard({ isShort: true }, guard).ended).toMatchObject({ code: 0, report: { became: 'succeeded', attempt: 1 } });
  };

  it.concurrent.each(['claim', 'claimed'] as const)(`I12 at the moment "%s": exit ${code}, nothing was run, and the next one runs`, async (at) => {
    const guard = stage.guard({ at });
    await reached(guard.folder);
    guard.kill(signal);
    letGo(guard.folder);
    expect(await guard.ended).toMatchObject({ code, report: { became: 'refused' } });
    nothingRan(guard);
    expect(['none', 'not-done']).toContain(await stage.state(guard.key));
    await isFree(guard);
  });

  it.concurrent(`I12 while it waits for another one: exit ${code} at once, and the other one is not disturbed`, async () => {
    const other = stage.guard();
    await other.command();
    const guard = stage.guard({ at: 'claim', options: ['--wait', '60s'] }, other);
    await reached(guard.folder);
    letGo(guard.folder);
    // It has asked by then, and waits: nothing outside tells when.
    await new Promise((resolve) => setTimeout(resolve, 200));
    guard.kill(signal);
    expect(await guard.ended).toMatchObject({ code, report: { became: 'refused' } });
    expect(await stage.state(other.key)).toBe('running');
    other.finish();
    expect((await other.ended).code).toBe(0);
    expect(other.seen().map(({ what }) => what)).toEqual(['in', 'out']);
  });

  it.concurrent(`I12 I8 while the command runs: it gets the signal, exit ${code}, nobody knows what it did, and the next is blocked`, async () => {
    const guard = stage.guard();
    const pid = await guard.command();
    guard.kill(signal);
    expect(await guard.ended).toMatchObject({ code, report: { became: 'unknown' } });
    expect(processOf(pid)).toBeUndefined();
    expect(guard.seen().map(({ what }) => what)).toEqual(['in']);
    expect(await stage.state(guard.key)).toBe('lapsed');
    expect((await stage.guard({ isShort: true }, guard).ended).code).toBe(76);
    expect(guard.seen()).toHaveLength(1);
  });

  it.concurrent(`I12 I8 when the command waits at its gate: exit ${code}, and what it did is not guessed`, async () => {
    const guard = stage.guard({ at: 'gate' });
    const [gate = 0] = await reached(guard.folder);
    guard.kill(signal);
    letGo(guard.folder);
    expect(await guard.ended).toMatchObject({ code, report: { became: 'unknown' } });
    expect(processOf(gate)).toBeUndefined();
    expect(await stage.state(guard.key)).toBe('lapsed');
  });

  it.concurrent(`I12 I8 while --verify runs: that ends, exit ${code}, and it is not done`, async () => {
    const mark = stage.wrappers.path(`verifying-${signal}`);
    const guard = stage.guard({ isShort: true, options: ['--verify', `touch ${mark}; sleep 60`] });
    await until(() => existsSync(mark), 'it is verified', 20_000);
    guard.kill(signal);
    expect(await guard.ended).toMatchObject({ code, report: { became: 'unknown' } });
    expect(guard.seen().at(-1)?.what).toBe('out');
    expect(await stage.state(guard.key)).toBe('lapsed');
  });

  it.concurrent.each(['ended', 'written'] as const)(
    'I12 I3 when the command has ended with 0, at the moment "%s": exit 0, and it is done',
    async (at) => {
      const guard = stage.guard({ at, isShort: true });
      await reached(guard.folder);
      guard.kill(signal);
      letGo(guard.folder);
      expect(await guard.ended).toMatchObject({ code: 0, report: { became: 'succeeded', saved: true } });
      expect(await stage.state(guard.key)).toBe('done');
    },
  );

  it.concurrent(`I12 under a lock, while the command runs: exit ${code}, and the lock is free at once`, async () => {
    const options = ['--mode', 'lock', '--lease', '60s'];
    const guard = stage.guard({ options });
    await guard.command();
    guard.kill(signal);
    expect((await guard.ended).code).toBe(code);
    expect((await stage.guard({ options, isShort: true }, guard).ended).code).toBe(0);
  });
});
