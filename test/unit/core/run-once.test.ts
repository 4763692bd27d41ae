import { describe, expect, it } from 'vitest';
import { currentRun, PermanentError, type Run, runOnce, tryRunOnce } from '../../../src/index.ts';
import { memoryStore } from '../../../src/stores/memory/index.ts';
import { incompressible } from '../../support/incompressible.ts';
import { VALUES } from '../../support/values.ts';
import { bench, eventsOf, held, inTime } from './engine.ts';

describe('runOnce', () => {
  it.each(VALUES)('I2 I3 hands %s back from a replay exactly as it was first given', async (_, value) => {
    const { run } = bench();
    let runs = 0;
    const work = () => {
      runs += 1;
      return value;
    };
    const first = await run(work);
    const second = await run(work);
    expect(first).toStrictEqual({ kind: 'completed', value, replayed: false, saved: true, attempt: 1 });
    expect(second).toStrictEqual({ kind: 'completed', value, replayed: true, saved: true, attempt: 1 });
    expect(runs).toBe(1);
  });

  it('gives each caller a copy of its own', async () => {
    const { run } = bench();
    const first = await run(() => ({ list: [1] }));
    if (first.kind === 'completed') first.value.list.push(2);
    const second = await run(() => ({ list: [9] }));
    if (second.kind === 'completed') second.value.list.push(3);
    expect(await run(() => ({ list: [9] }))).toMatchObject({ value: { list: [1] } });
  });

  class Odd {
    x = 1;
  }
  it.each([
    ['a function', () => 1],
    ['a class instance', new Odd()],
    ['a symbol', Symbol('s')],
    ['a promise inside', { p: Promise.resolve(1) }],
    ['a weak map', new WeakMap()],
    ['an array with a property', Object.assign([1], { extra: true })],
  ])('completes without the value for %s: the first caller gets it, later ones are told, nothing runs again', async (_, value) => {
    const { run } = bench();
    let runs = 0;
    const work = () => {
      runs += 1;
      return value as unknown;
    };
    expect(await run(work)).toMatchObject({ kind: 'completed', value, saved: true });
    await expect(run(work)).rejects.toMatchObject({ code: 'RESULT_NOT_STORED' });
    expect(runs).toBe(1);
  });

  it('completes without a value that is too large for the store', async () => {
    const store = memoryStore({ maxRecordBytes: 10_000 });
    const options = { store, operation: 'o', key: 1 };
    let runs = 0;
    const work = () => {
      runs += 1;
      return incompressible(20_000);
    };
    expect(await tryRunOnce(options, work)).toMatchObject({ kind: 'completed', saved: true });
    await expect(runOnce(options, work)).rejects.toMatchObject({ code: 'RESULT_NOT_STORED', facts: { reason: 'too-large' } });
    expect(runs).toBe(1);
  });

  it('I9 refuses the same key with another input, while running and after', async () => {
    const { run } = bench();
    const first = held<number>();
    const running = run(first.work, { input: { a: 1, b: 2 } });
    await first.started;
    expect(await run(() => 2, { input: { a: 2 } })).toEqual({ kind: 'key-reused' });
    expect(await run(() => 2, { input: { b: 2, a: 1 } })).toMatchObject({ kind: 'in-flight' });
    first.end(1);
    await running;
    expect(await run(() => 2, { input: { a: 2 } })).toEqual({ kind: 'key-reused' });
    expect(await run(() => 2, { input: { b: 2, a: 1 } })).toMatchObject({ value: 1, replayed: true });
    expect(await run(() => 2)).toMatchObject({ value: 1, replayed: true });
  });

  it('takes key and input once, before the work: work that changes its input changes nothing', async () => {
    const { run } = bench();
    const input = { a: 1 };
    await run(
      () => {
        input.a = 2;
      },
      { input },
    );
    expect(await run(() => undefined, { input: { a: 1 } })).toMatchObject({ replayed: true });
  });

  it('refuses a duplicate in flight, or lets it wait for the outcome', async () => {
    const { run, clock } = bench();
    const first = held<string>();
    const running = run(first.work);
    await first.started;
    expect(await run(() => 'no')).toEqual({ kind: 'in-flight', retryAfterMs: 1_000 });
    const waiting = run(() => 'no', { onInFlight: { waitMs: 5_000 } });
    await clock.advance(400);
    first.end('yes');
    expect(await inTime(clock, waiting)).toMatchObject({ value: 'yes', replayed: true });
    expect(await running).toMatchObject({ value: 'yes', replayed: false });
  });

  it('a wait that is over says in flight; a wait whose first caller gave up runs the work itself', async () => {
    const { run, clock } = bench();
    const first = held<string>();
    const running = run(first.work);
    await first.started;
    const short = run(() => 'no', { onInFlight: { waitMs: 300 } });
    expect(await inTime(clock, short)).toMatchObject({ kind: 'in-flight' });
    const long = run(() => 'second', { onInFlight: { waitMs: 5_000 } });
    await clock.advance(100);
    first.fail(new Error('no luck'));
    await expect(running).rejects.toThrow('no luck');
    expect(await inTime(clock, long)).toMatchObject({ value: 'second', attempt: 2 });
  });

  it('waiting callers of one process share one poll', async () => {
    const { run, clock, store } = bench();
    const first = held<string>();
    const running = run(first.work);
    await first.started;
    const waiting = Array.from({ length: 50 }, () => run(() => 'no', { onInFlight: { waitMs: 60_000 } }));
    await clock.advance(10_000);
    first.end('yes');
    for (const one of waiting) expect(await inTime(clock, one)).toMatchObject({ value: 'yes' });
    await running;
    expect(store.counts.read).toBeLessThan(25);
  });

  it('currentRun finds the run from anywhere below', async () => {
    const { run } = bench();
    let seen: Run | undefined;
    await run(async (own) => {
      await Promise.resolve();
      seen = currentRun();
      expect(seen?.key).toBe(own.key);
    });
    expect(seen?.operation).toBe('test/op');
    expect(currentRun()).toBeUndefined();
  });

  it('derived keys are the same in every attempt and different for each name, key and scope', async () => {
    const { run } = bench();
    const keys: string[] = [];
    await run((own) => {
      keys.push(own.keyFor('a'), own.keyFor('b'), own.key);
      throw new Error('once more');
    }).catch(() => {});
    await run((own) => void keys.push(own.keyFor('a'), own.keyFor('b'), own.key));
    expect(keys.slice(0, 3)).toEqual(keys.slice(3));
    expect(new Set(keys).size).toBe(3);
  });
});

describe('cost', () => {
  it('I11 on a store that answers a refusal with the record: first run 2, replay 1, in flight 1, key reused 1, takeover 3', async () => {
    const { run, store, clock } = bench();
    const cost = async (work: () => Promise<unknown>): Promise<number> => {
      const before = store.calls.length;
      await work();
      return store.calls.length - before;
    };
    expect(await cost(() => run(() => 1, { input: 1 }))).toBe(2);
    expect(await cost(() => run(() => 1, { input: 1 }))).toBe(1);
    expect(await cost(() => run(() => 1, { input: 2 }))).toBe(1);
    const first = held<number>();
    void run(first.work, { key: 'other', renew: 'none' });
    await first.started;
    expect(await cost(() => run(() => 1, { key: 'other' }))).toBe(1);
    await clock.advance(1_001);
    expect(await cost(() => run(() => 1, { key: 'other' }))).toBe(3);
  });
});

describe('cancellation', () => {
  it('I12 before the claim: nothing is asked of the store; during it: given back, nothing runs; while waiting: the wait ends', async () => {
    const { run, store, plan, clock } = bench();
    let runs = 0;
    const work = () => ++runs;
    await expect(run(work, { signal: AbortSignal.abort(new Error('early')) })).rejects.toThrow('early');
    expect(store.calls).toHaveLength(0);
    const during = new AbortController();
    plan.after = () => during.abort(new Error('during'));
    await expect(inTime(clock, run(work, { signal: during.signal }))).rejects.toThrow('during');
    delete plan.after;
    const first = held<number>();
    const running = run(first.work);
    await first.started;
    const waiting = new AbortController();
    const waiter = run(work, { onInFlight: { waitMs: 60_000 }, signal: waiting.signal });
    waiter.catch(() => {});
    await clock.advance(500);
    waiting.abort(new Error('waiting'));
    await expect(inTime(clock, waiter)).rejects.toThrow('waiting');
    first.end(1);
    expect(await inTime(clock, running)).toMatchObject({ value: 1 });
    expect(runs).toBe(0);
    expect(clock.pendingTimers()).toBe(0);
  });

  it("aborts the run's signal with the caller's reason", async () => {
    const { run } = bench();
    const controller = new AbortController();
    const reason = new Error('stop');
    await run(
      (own) => {
        controller.abort(reason);
        expect(own.signal.reason).toBe(reason);
      },
      { signal: controller.signal },
    );
  });
});

describe('events', () => {
  it('tell what happened, in order', async () => {
    const { run, clock } = bench();
    const events = await eventsOf(async () => {
      await run(() => 1, { input: 1 });
      await run(() => 1, { input: 1 });
      await run(() => 1, { input: 2 });
      await run(
        () => {
          throw new Error('x');
        },
        { key: 2 },
      ).catch(() => {});
      await run(
        () => {
          throw new PermanentError('x');
        },
        { key: 3 },
      );
      void run(() => new Promise(() => {}), { key: 4, renew: 'none' });
      await clock.advance(1_500);
      await run(() => 1, { key: 4 });
    });
    expect(events).toEqual([
      'claimed',
      'completed',
      'replayed',
      'key-reused',
      'claimed',
      'released',
      'claimed',
      'remembered',
      'claimed',
      'lease-lost',
      'taken-over',
      'completed',
    ]);
  });
});
