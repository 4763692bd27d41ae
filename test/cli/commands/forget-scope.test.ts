import { describe, expect, it } from 'vitest';
import { forgetScope } from '../../../src/cli/commands/forget-scope.ts';
import { UsageError } from '../../../src/cli/usage-error.ts';
import { runOnce } from '../../../src/index.ts';
import { commandStage, OPERATION, printed } from './stage.ts';

describe('forget-scope', () => {
  const stage = commandStage();
  const done = (key: string, scope?: string) =>
    runOnce({ store: stage.store, operation: OPERATION, key, ...(scope === undefined ? {} : { scope }) }, async () => key);
  const labels = async (): Promise<unknown[]> => {
    const found = [];
    for await (const { record } of stage.store.list({})) found.push(record.label);
    return found.filter((label) => label !== undefined).sort();
  };

  it('forgets what is kept for it and nothing else, says how much, and that a purge removes the rest', async () => {
    await Promise.all([done('1', 'anna'), done('2', 'anna'), done('3', 'bert'), done('4')]);
    const words = printed();
    expect(await forgetScope({ place: stage.place, scope: 'anna', why: 'she asked', out: words.out })).toBe(0);
    expect(words.lines()).toEqual([
      'scope "anna": 2 forgotten, 0 running',
      'What lay in parts beside its record, and what is left of each record, goes with `rerunsafe purge` in an hour.',
    ]);
    expect(await labels()).toEqual(['3', '4']);
    const json = printed({ json: true });
    expect(await forgetScope({ place: stage.place, scope: 'anna', out: json.out })).toBe(0);
    expect(json.json()).toEqual([{ forgotten: 0, running: 0, failed: 0 }]);
  });

  it('exits with 75 where something is running, and leaves it alone; not so with force', async () => {
    let end = (): void => {};
    let begun = (): void => {};
    const hasBegun = new Promise<void>((resolve) => {
      begun = resolve;
    });
    const running = runOnce({ store: stage.store, operation: OPERATION, key: 'runs', scope: 'carla' }, () => {
      begun();
      return new Promise<void>((resolve) => {
        end = resolve;
      });
    }).catch((error) => error.code);
    await hasBegun;
    const words = printed();
    expect(await forgetScope({ place: stage.place, scope: 'carla', out: words.out })).toBe(75);
    expect(words.text()).toMatch(/^scope "carla": 0 forgotten, 1 running and left alone: say it again when they have ended, or use --force\n/);
    expect(await forgetScope({ place: stage.place, scope: 'carla', force: true, out: printed().out })).toBe(0);
    end();
    expect(await running).toBe('LEASE_LOST');
  });

  it('of an operation, where that is said; an empty scope is refused', async () => {
    await done('5', 'dora');
    expect(await forgetScope({ place: stage.place, scope: 'dora', operation: 'other', out: printed().out })).toBe(0);
    expect(await labels()).toContain('5');
    await expect(forgetScope({ place: stage.place, scope: '', out: printed().out })).rejects.toThrow(UsageError);
  });
});
