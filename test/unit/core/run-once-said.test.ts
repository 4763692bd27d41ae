import { describe, expect, it } from 'vitest';
import { type Call, guardFrom } from '../../../src/core/guard.ts';
import { runGuarded, unwrap } from '../../../src/core/run-once.ts';
import { currentRun, memoryStore, PermanentError, type Run, runOnce, tryRunOnce } from '../../../src/index.ts';
import { type Bench, ended, fails, written } from './claims.ts';
import { bench, held, inTime } from './engine.ts';
import { runEvents } from './run-events.ts';

const operation = 'test/op';
const caught = (promise: Promise<unknown>): Promise<unknown> => promise.catch((error: unknown) => error);
async function heard(b: Bench, run: () => Promise<unknown>) {
  const { events, stop } = runEvents();
  const answer = await ended(b, run());
  stop();
  return { answer, events, names: events.map(({ event }) => event), last: events.at(-1) };
}
/** With what a wrapper adds to each call. */
const called = (b: Bench, call: Partial<Call>, work: (run: Run) => unknown = () => 1, options = {}) =>
  runGuarded(guardFrom('test', { store: b.store, operation, leaseMs: 1_000, ...options }), { key: 'k', ...call }, work, b.clock);

describe('why there is no value, as runOnce says it', () => {
  const guard = guardFrom('test', { store: memoryStore(), operation });

  it('in flight, with how long to wait', () => {
    expect(() => unwrap(guard, { kind: 'in-flight', retryAfterMs: 700 })).toThrow(
      expect.objectContaining({
        code: 'IN_FLIGHT',
        message: 'test/op: the same run may still be going on (its lease lasts). Try again in 700 ms.',
        retryAfterMs: 700,
        facts: { operation },
      }),
    );
  });

  it('I9 another input', () => {
    expect(() => unwrap(guard, { kind: 'key-reused' })).toThrow(
      expect.objectContaining({
        code: 'KEY_REUSED',
        message: 'test/op: this key was used with another input. Nothing was run; use a new key.',
        facts: { operation },
      }),
    );
  });

  it.each([
    ['unknown', 'an earlier attempt ended with no outcome, and nobody knows what it did'],
    ['attempts', 'as many attempts as maxAttempts allows ended without an outcome'],
    ['failed', 'it has failed, and is not to run again by itself'],
    ['step-not-stored', 'a step of it is done and its value could not be kept, so that no attempt gets past it'],
    ['of tomorrow', 'it is blocked (of tomorrow)'],
  ])('I8 blocked, and why: %s', (why, because) => {
    expect(() => unwrap(guard, { kind: 'blocked', id: 'r1_x' as never, why: why as never, attempt: 3 })).toThrow(
      expect.objectContaining({
        code: 'BLOCKED',
        message: `test/op: ${because}. A person has to say what became of it (resolveRun, forgetRun); nothing was run.`,
        facts: { operation, id: 'r1_x', why, attempt: 3 },
      }),
    );
  });

  it('failed: the very error; completed: the value', () => {
    const error = new Error('mine');
    expect(() => unwrap(guard, { kind: 'failed', error, replayed: true })).toThrow(error);
    expect(unwrap(guard, { kind: 'completed', value: 7, replayed: true, saved: true, attempt: 1 })).toBe(7);
  });
});

describe('what is asked before anything is begun', () => {
  it.each([
    ['runOnce', runOnce],
    ['tryRunOnce', tryRunOnce],
  ] as const)('%s: the work must be one, the options must be right, and a key must be there', async (name, run) => {
    const store = memoryStore();
    expect(await caught(run({ store, operation, key: 1 }, 7 as never))).toMatchObject({ message: `${name}: the work must be a function.` });
    expect(await caught(run({ operation } as never, fails))).toMatchObject({ message: `${name}: store is missing.` });
    expect(await caught(run({ store, operation, key: '' }, fails))).toMatchObject({ code: 'MISSING_KEY' });
    expect(await caught(run({ store, operation, key: 1, scope: '' }, fails))).toMatchObject({ code: 'MISSING_SCOPE' });
    for await (const _ of store.list({})) expect.unreachable();
  });

  it.each([1.5, -1, Number.NaN, Number.POSITIVE_INFINITY])('a lease of %d ms is refused', async (leaseMs) => {
    const b = bench();
    expect(await caught(called(b, { leaseMs }))).toMatchObject({
      code: 'INVALID_OPTIONS',
      message: `test/op: the lease must be a whole number of ms, not ${leaseMs}.`,
    });
    expect(b.store.calls).toEqual([]);
  });
});

describe('what a call adds to its guard', () => {
  it('comes first: lease, holder, wait, remaining time, signal; a retention is longer than the lease', async () => {
    const b = bench();
    const { signal } = new AbortController();
    let leftMs: number | undefined;
    const call = { leaseMs: 200_000_000, holder: 'host 1', remainingMs: () => 300, signal };
    await called(
      b,
      call,
      (run) => {
        leftMs = run.remainingMs();
      },
      { remainingMs: () => 900, signal: AbortSignal.abort() },
    );
    expect(leftMs).toBe(300);
    expect(written(b)[0]).toMatchObject({ leaseMs: 200_000_000, holder: 'host 1' });
    expect(written(b)[1]).toMatchObject({ state: 'completed', retentionMs: 200_000_001 });
    await called(b, { ...call, key: 'error' }, () => Promise.reject(new PermanentError('no')));
    expect(written(b).at(-1)).toMatchObject({ state: 'completed', retentionMs: 200_000_001 });
    await caught(called(b, { ...call, key: 'released' }, fails));
    expect(written(b).at(-1)).toMatchObject({ state: 'released', retentionMs: 200_000_001 });
  });

  it('or is left to the guard', async () => {
    const b = bench();
    const reason = new Error('cancelled');
    expect(await caught(called(b, {}, fails, { signal: AbortSignal.abort(reason) }))).toBe(reason);
    let left: number[] = [];
    await called(b, {}, (run) => (left = [run.remainingMs()]), { remainingMs: () => 300 });
    await called(b, { key: 'other' }, (run) => left.push(run.remainingMs()));
    expect(left).toEqual([300, 950]);
    expect(written(b)[0]).toMatchObject({ leaseMs: 1_000, holder: `process ${process.pid}`, label: 'k' });
  });

  it('I9 a fingerprint is one’s own, what a wrapper made of the input, or what is made of it here', async () => {
    const b = bench();
    const of = async (call: Partial<Call>) => {
      await called(b, { key: written(b).length + 1, ...call });
      return written(b).at(-1)?.fingerprint;
    };
    const own = await of({ fingerprint: 'mine', inputFingerprint: 'v1:wrapper', input: 1 });
    expect(own).toMatch(/^own:/);
    expect(await of({ inputFingerprint: 'v1:wrapper', input: 1 })).toBe('v1:wrapper');
    expect(await of({ input: 1 })).toMatch(/^(?!own:|v1:wrapper)./);
    expect(await of({})).toBeUndefined();
  });

  it.each([
    [true, 'a/b'],
    [false, undefined],
    ['order', 'order'],
  ])('the label %j is kept as %j', async (label, expected) => {
    const b = bench();
    await called(b, { key: ['a', 'b'] }, () => 1, { label });
    expect(written(b).map((record) => record.label)).toEqual([expected, expected]);
  });

  it('waits for one that is in flight', async () => {
    const b = bench();
    const first = held<number>();
    const running = called(b, {}, first.work);
    await first.started;
    expect(await called(b, { waitMs: 0 }, fails, { onInFlight: { waitMs: 5_000 } })).toMatchObject({ kind: 'in-flight' });
    const { answer, names } = await heard(b, async () => {
      const waiting = called(b, { waitMs: 5_000 }, fails);
      await b.clock.advance(100);
      first.end(1);
      return waiting;
    });
    expect(answer).toMatchObject({ value: 1, replayed: true });
    expect(names).toEqual(['completed', 'waited']);
    await running;
  });
});

describe('what is told of a call', () => {
  it('a refusal, with its error; what no error of ours is, is not told', async () => {
    const b = bench();
    b.plan.create = () => 'unavailable';
    const { answer, events } = await heard(b, () => b.run(fails));
    expect(answer).toMatchObject({ code: 'STORE_UNAVAILABLE' });
    expect(events).toEqual([{ event: 'refused', operation, id: expect.stringMatching(/^r1_/), store: 'memory', error: answer }]);
    const bug = new TypeError('bug');
    b.plan.before = () => {
      throw bug;
    };
    const other = await heard(b, () => b.run(fails));
    expect(other.answer).toBe(bug);
    expect(other.events).toEqual([]);
  });

  it('in flight, another input, blocked, replayed: each by its name, with the attempt where there is one', async () => {
    const b = bench({ onUnknown: 'block', leaseMs: 60_000 });
    const first = held<number>();
    const running = b.run(first.work, { input: 1 });
    await first.started;
    expect((await heard(b, () => b.run(fails, { input: 1 }))).names).toEqual(['in-flight']);
    expect((await heard(b, () => b.run(fails, { input: 2 }))).names).toEqual(['key-reused']);
    first.end(1);
    await running;
    expect((await heard(b, () => b.run(fails, { input: 1 }))).last).toMatchObject({ event: 'replayed', attempt: 1 });
    await caught(b.run(fails, { key: 'b' }));
    const { answer, last } = await heard(b, () => b.run(fails, { key: 'b' }));
    expect(last).toMatchObject({ event: 'blocked', attempt: 1 });
    expect(answer).toEqual({ kind: 'blocked', id: last?.id, why: 'unknown', attempt: 1 });
  });

  it('a value that cannot be handed out again is a refusal', async () => {
    const b = bench();
    await b.run(() => () => 1);
    const { answer, names, last } = await heard(b, () => b.run(fails));
    expect(answer).toMatchObject({ code: 'RESULT_NOT_STORED' });
    expect([names, last?.error]).toEqual([['refused'], answer]);
  });
});

describe('without a guard', () => {
  it('where the store is down, and that was chosen: told, with the reason', async () => {
    const b = bench({ onStoreDown: 'run' });
    b.plan.create = () => 'unavailable';
    let seen: unknown[] = [];
    const { answer, events } = await heard(b, () =>
      b.run((run) => {
        seen = [currentRun() === run, run.operation, run.remainingMs()];
        return 1;
      }),
    );
    expect(answer).toEqual({ kind: 'completed', value: 1, replayed: false, saved: false, attempt: 1 });
    expect(seen).toEqual([true, operation, Number.POSITIVE_INFINITY]);
    expect(events).toMatchObject([{ event: 'unguarded', error: { code: 'STORE_UNAVAILABLE' } }]);
  });

  it('nor where a write is in doubt, or the store is not set up', async () => {
    const b = bench({ onStoreDown: 'run' });
    b.plan.create = () => 'lost-request';
    b.plan.read = () => 'unavailable';
    expect(await inTime(b.clock, caught(b.run(fails)))).toMatchObject({ code: 'WRITE_UNKNOWN' });
  });

  it('RERUNSAFE_DISABLED=1 switches it off, loudly, once; nothing else does', async () => {
    const warnings: (Error & { code?: string })[] = [];
    const listener = (warning: Error): void => void warnings.push(warning);
    process.on('warning', listener);
    const before = process.env.RERUNSAFE_DISABLED;
    const b = bench();
    try {
      process.env.RERUNSAFE_DISABLED = '1';
      for (const value of [1, 2]) expect(await b.run(() => value)).toEqual({ kind: 'completed', value, replayed: false, saved: false, attempt: 1 });
      expect(b.store.calls).toEqual([]);
      process.env.RERUNSAFE_DISABLED = 'true';
      expect(await b.run(() => 3)).toMatchObject({ saved: true });
      expect(b.store.calls).toHaveLength(2);
    } finally {
      if (before === undefined) delete process.env.RERUNSAFE_DISABLED;
      else process.env.RERUNSAFE_DISABLED = before;
    }
    await new Promise((resolve) => setImmediate(resolve));
    process.off('warning', listener);
    const disabled = warnings.filter(({ code }) => code === 'RERUNSAFE_DISABLED');
    expect(disabled).toHaveLength(1);
    expect(disabled[0]?.message).toBe('RERUNSAFE_DISABLED=1: no key is guarded; every call runs the work. Leases are taken all the same.');
  });
});
