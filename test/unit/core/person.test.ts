import { describe, expect, it } from 'vitest';
import { forgetRun, resolveRun } from '../../../src/index.ts';
import { bench, held, inTime } from './engine.ts';

const KEY = { operation: 'test/op', key: 'k' };

/** A run that nobody can say anything of. */
async function unknown(options: Parameters<typeof bench>[0] = { onUnknown: 'block' }) {
  const b = bench(options);
  await b.run(() => Promise.reject(new Error('time-out'))).catch(() => {});
  const result = await b.run(() => 'never');
  return { b, result };
}

describe('what only a person can say', () => {
  it('I8 a blocked run says which, why and how often', async () => {
    const { result } = await unknown();
    expect(result).toEqual({ kind: 'blocked', id: expect.stringMatching(/^r1_/), why: 'unknown', attempt: 1 });
    const often = await unknown({ maxAttempts: 1 });
    expect(often.result).toMatchObject({ kind: 'blocked', why: 'attempts', attempt: 1 });
    expect(await often.b.run(() => 'never')).toMatchObject({ kind: 'blocked', why: 'attempts' });
  });

  it('resolved as done: everybody gets that outcome, the work is not run', async () => {
    const { b } = await unknown();
    expect(await resolveRun({ store: b.store, ...KEY }, { done: { receipt: 7 } })).toEqual({ kind: 'written' });
    expect(await b.run((): unknown => 'never')).toMatchObject({ value: { receipt: 7 }, replayed: true });
    expect(await resolveRun({ store: b.store, ...KEY }, 'not-done')).toEqual({ kind: 'not-needed' });
  });

  it('resolved as not done: the next call runs, with its attempts counted anew', async () => {
    const { b } = await unknown({ maxAttempts: 1 });
    await resolveRun({ store: b.store, ...KEY }, 'not-done');
    expect(await b.run((run) => run.attempt)).toMatchObject({ value: 1, replayed: false });
  });

  it('with the codec of the operation: what is said is what the work would have returned; without it, nothing is written that nobody can read', async () => {
    class Money {
      readonly cents: number;
      constructor(cents: number) {
        this.cents = cents;
      }
    }
    const codec = { encode: (money: Money) => money.cents, decode: (kept: unknown) => new Money(Number(kept)) };
    const { b } = await unknown();
    await expect(resolveRun({ store: b.store, ...KEY }, { done: new Money(7) })).rejects.toThrow(/codec of the operation/);
    expect(await resolveRun({ store: b.store, ...KEY, codec }, { done: new Money(7) })).toEqual({ kind: 'written' });
    expect(await b.run(() => 1)).toMatchObject({ value: 7, replayed: true });
  });

  it('takes the object that runOnce takes, and what is no option of either is refused', async () => {
    const { b } = await unknown();
    const guard = { store: b.store, ...KEY, onUnknown: 'block', leaseMs: 1_000, retentionMs: 60_000 } as const;
    expect(await resolveRun(guard, { done: 1 })).toEqual({ kind: 'written' });
    await expect(forgetRun({ ...guard, forced: true } as never)).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
  });

  it('I4 a run that is going on is left alone; with force its owner is fenced', async () => {
    const b = bench({ leaseMs: 5_000 });
    const work = held<string>();
    const running = b.run(work.work);
    await work.started;
    expect(await forgetRun({ store: b.store, ...KEY })).toMatchObject({ kind: 'running', retryAfterMs: expect.any(Number) });
    expect(await forgetRun({ store: b.store, ...KEY, force: true })).toEqual({ kind: 'written' });
    expect(await b.run(() => 'new')).toMatchObject({ value: 'new', replayed: false });
    work.end('old');
    expect(await inTime(b.clock, running)).toMatchObject({ value: 'new', replayed: true });
  });

  it('I5 forgetting keeps the token and nothing else', async () => {
    const { b } = await unknown();
    const tokens: number[] = [];
    const look = async () => {
      for await (const { record } of b.store.list({})) {
        tokens.push(record.token);
        return record;
      }
      throw new Error('no row');
    };
    await look();
    await forgetRun({ store: b.store, ...KEY });
    const left = await look();
    expect(left).toMatchObject({ state: 'released', attempt: 0 });
    for (const gone of ['label', 'fingerprint', 'outcome', 'steps', 'holder', 'blockedWhy']) expect(left).not.toHaveProperty(gone);
    expect(tokens[1]).toBeGreaterThan(tokens[0] as number);
    expect(await forgetRun({ store: b.store, operation: 'test/op', key: 'other' })).toEqual({ kind: 'absent' });
  });

  it('I7 an answer that is lost and sent again is no conflict', async () => {
    const { b } = await unknown();
    b.plan.replace = { [b.store.counts.replace + 1]: 'retried-lost-answer' };
    expect(await resolveRun({ store: b.store, ...KEY }, { done: 1 })).toEqual({ kind: 'written' });
  });

  it.each([['maybe'], [{ done: () => 1 }], [null], [{}]])('refuses what is no answer: %j', async (as) => {
    const { b } = await unknown();
    await expect(resolveRun({ store: b.store, ...KEY }, as as never)).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
    expect(await b.run(() => 'never')).toMatchObject({ kind: 'blocked' });
  });
});

describe('mistakes that are told before anything is claimed', () => {
  it.each([['undefined'], ['null'], ['NaN'], ['[object Object]'], [['tenant', 'undefined']]])(
    'what String() leaves of nothing is no key and no scope: %j',
    async (text) => {
      const b = bench();
      await expect(b.run(() => 1, { key: text })).rejects.toMatchObject({ code: 'MISSING_KEY', message: expect.stringContaining('test/op') });
      expect(b.store.calls).toHaveLength(0);
    },
  );

  it('a step that is not awaited neither ends the process nor is kept in silence', async () => {
    const b = bench();
    const late = held<number>();
    const warnings: string[] = [];
    const listener = (warning: Error & { code?: string }) => warnings.push(String(warning.code));
    process.on('warning', listener);
    await b.run((run) => {
      void run.step('forgotten', late.work);
      return 1;
    });
    late.end(1);
    await b.clock.settle();
    await b.clock.settle();
    process.off('warning', listener);
    expect(warnings).toContain('RERUNSAFE_STEP_NOT_AWAITED');
  });
});
