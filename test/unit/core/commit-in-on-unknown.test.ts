import { describe, expect, it } from 'vitest';
import { splitOptions } from '../../../src/core/guard.ts';
import { runGuarded } from '../../../src/core/run-once.ts';
import { type CommitRequest, type Run, resolveRun } from '../../../src/index.ts';
import { bench, inTime } from './engine.ts';

const sendTo =
  ({ store }: ReturnType<typeof bench>) =>
  async ({ id, record, version }: CommitRequest) =>
    version === undefined ? store.create(id, record) : store.replace(id, record, version);

describe('onUnknown that commits what it has found', () => {
  it.each<[string, unknown]>([
    ['{ done }', { done: 'B' }],
    ["'block'", 'block'],
    ["'not-done'", 'not-done'],
    ['nonsense', 'nonsense'],
    ['a throw', new Error('afterwards')],
  ])('I1 I3 that is the outcome, whatever it answers after it: %s', async (_, answer) => {
    const b = bench({ renew: 'none' });
    b.run(() => new Promise(() => {})).catch(() => {});
    await b.clock.advance(1_001);
    let ran = 0;
    const onUnknown = async (run: Run<string>) => {
      await run.commit('A', sendTo(b));
      if (answer instanceof Error) throw answer;
      return answer as 'block';
    };
    const work = () => {
      ran += 1;
      return 'work';
    };
    expect(await inTime(b.clock, b.run<string>(work, { onUnknown: onUnknown as never }))).toMatchObject({
      kind: 'completed',
      value: 'A',
      saved: true,
    });
    expect(await b.run(work)).toMatchObject({ value: 'A', replayed: true });
    expect(ran).toBe(0);
  });
});

describe('a codec and a commit', () => {
  it('I2 the first caller gets what the codec makes of it, like all others', async () => {
    const b = bench();
    const codec = { encode: (value: { cents: number }) => Math.round(value.cents), decode: (kept: unknown) => ({ cents: Number(kept) }) };
    const { guard, call } = splitOptions('test', { store: b.store, operation: 'test/op', key: 'codec', leaseMs: 1_000, codec });
    const work = async (run: Run) => {
      await (run as Run<{ cents: number }>).commit({ cents: 1.4 }, sendTo(b));
      return { cents: 9 };
    };
    expect(await runGuarded(guard, call, work, b.clock)).toMatchObject({ value: { cents: 1 }, replayed: false });
    expect(await runGuarded(guard, call, work, b.clock)).toMatchObject({ value: { cents: 1 }, replayed: true });
  });
});

describe('a blocked run', () => {
  it('I3 is kept for as long as an outcome: what a person says of it becomes one', async () => {
    const b = bench({ maxAttempts: 1, retentionMs: { completed: 3_600_000, released: 2_000 } });
    await b.run(() => Promise.reject(new Error('no'))).catch(() => {});
    expect(await b.run(() => 'never')).toMatchObject({ kind: 'blocked', why: 'attempts' });
    expect(await resolveRun({ store: b.store, operation: 'test/op', key: 'k' }, { done: 'found' })).toEqual({ kind: 'written' });
    await b.clock.advance(3_000_000);
    expect(await b.run(() => 'again')).toMatchObject({ value: 'found', replayed: true });
  });
});
