import { describe, expect, it } from 'vitest';
import { RerunSafeError, storeMisconfigured } from '../../../src/core/errors.ts';
import type { Stored } from '../../../src/core/ports.ts';
import type { RecordToWrite } from '../../../src/core/record.ts';
import { forgetRun } from '../../../src/index.ts';
import { answering, type Bench, ended, fails, operations, written } from './claims.ts';
import { bench, held, inTime } from './engine.ts';

const LEASE = 1_000;
const OWN = 950;

describe('a claim whose answer came late', () => {
  /** The first answer is lost, and the second, a conflict with oneself, comes when so much of the lease has passed. */
  function lateBy(passedMs: number, options: Parameters<typeof bench>[0] = {}): Bench {
    const b = bench({ leaseMs: LEASE, ...options });
    const startMs = b.clock.nowMs();
    b.plan.create = { 1: 'lost-answer' };
    b.plan.after = (operation, n) => {
      if (operation === 'create' && n === 2) b.clock.freezeMonotonic(startMs + passedMs - b.clock.nowMs());
    };
    return b;
  }

  it.each([OWN, OWN + 1, LEASE])('I6 I7 found after %d ms, it is given back and made anew', async (passedMs) => {
    const b = lateBy(passedMs);
    expect(
      await ended(
        b,
        b.run(() => 1),
      ),
    ).toMatchObject({ kind: 'completed', value: 1, saved: true });
    expect(written(b).map(({ state }) => state)).toEqual(['running', 'running', 'released', 'running', 'completed']);
    const [, second, , made] = written(b).map(({ owner }) => owner);
    expect(made).not.toBe(second);
  });

  it('I6 I7 found a ms before its deadline, it is the claim', async () => {
    const b = lateBy(OWN - 1);
    expect(
      await ended(
        b,
        b.run(() => 1, { renew: 'none' }),
      ),
    ).toMatchObject({ kind: 'completed', value: 1, attempt: 1 });
    expect(written(b).map(({ state }) => state)).toEqual(['running', 'running', 'completed']);
  });

  it.each([
    ['not taken, three times', undefined, 3],
    ['refused for good, once', storeMisconfigured('no table.'), 1],
    ['failing for no reason known, once', new Error('bug'), 1],
  ])('I8 and the giving back is %s: nobody can say that nothing was changed', async (_, failure, tries) => {
    const b = lateBy(OWN);
    b.plan.before = (operation) => {
      if (operation === 'replace') throw failure ?? new RerunSafeError('STORE_UNAVAILABLE', 'down');
    };
    expect(await ended(b, b.run(fails))).toMatchObject({
      code: 'WRITE_UNKNOWN',
      message: expect.stringContaining('came too late and could not be given back; the work was not started'),
      cause: failure ?? { code: 'STORE_UNAVAILABLE' },
    });
    expect(b.store.counts.replace).toBe(tries);
  });

  it('I10 and the invocation is over: given back once, not tried again', async () => {
    const b = lateBy(OWN, { remainingMs: () => startedMs + OWN - b.clock.nowMs() });
    const startedMs = b.clock.nowMs();
    b.plan.before = (operation) => {
      if (operation === 'replace') throw new RerunSafeError('STORE_UNAVAILABLE', 'down');
    };
    expect(await ended(b, b.run(fails))).toMatchObject({ code: 'WRITE_UNKNOWN' });
    expect(b.store.counts.replace).toBe(1);
  });

  it('I4 I6 a first answer that came late: given back, and never again under that name', async () => {
    const b = bench({ leaseMs: LEASE });
    b.plan.after = (operation, n) => {
      if (operation === 'create' && n === 1) b.clock.freezeMonotonic(OWN);
    };
    await ended(
      b,
      b.run(() => 1),
    );
    expect(operations(b).slice(0, 4)).toEqual(['create', 'replace', 'read', 'replace']);
    const [late, given, made] = written(b).map(({ owner }) => owner);
    expect([given === late, made === late]).toEqual([true, false]);
  });

  it('I4 and somebody else has it by then: decided anew from what stands there, without another look', async () => {
    const b = lateBy(OWN);
    b.plan.before = async (operation, n) => {
      if (operation === 'replace' && n === 1) await forgetRun({ store: b.store, operation: 'test/op', key: 'k', force: true });
    };
    expect(
      await ended(
        b,
        b.run(() => 1),
      ),
    ).toMatchObject({ kind: 'completed', value: 1, attempt: 1 });
    expect(operations(b)).toEqual(['create', 'create', 'replace', 'read', 'replace', 'replace', 'replace']);
  });

  it('I8 a takeover that is given back is as unknown as it was found', async () => {
    const b = bench({ leaseMs: LEASE });
    const first = held<number>();
    void b.run(first.work, { renew: 'none' });
    await first.started;
    await b.clock.advance(LEASE + 1);
    b.plan.after = (operation, n) => {
      if (operation === 'replace' && n === 1) b.clock.freezeMonotonic(OWN);
    };
    const result = await ended(
      b,
      b.run((run) => run.attempt),
    );
    expect(result).toMatchObject({ kind: 'completed', value: 3 });
    expect(written(b)[3]).toMatchObject({ state: 'running', leaseMs: 0, attempt: 2 });
  });

  it('I7 a record under our name that we never sent is nobody we know', async () => {
    const b = bench();
    await ended(b, b.run(fails));
    const copied = answering(b, async (_, standing) => {
      const { record, ageMs } = standing as Stored;
      const mine = written(b).at(-1) as RecordToWrite;
      return { ok: false, reason: 'conflict', current: { record: { ...record, state: 'running', owner: mine.owner }, version: 'v', ageMs } };
    });
    expect(await ended(b, copied.run(fails, { leaseMs: 60_000 }))).toMatchObject({
      code: 'WRITE_UNKNOWN',
      message: expect.stringContaining('did not send'),
    });
  });
});

describe('a claim in doubt', () => {
  it.each([
    [60_000, Number.POSITIVE_INFINITY, 10_000],
    [3_000, Number.POSITIVE_INFINITY, 2_950],
    [60_000, 4_000, 4_000],
  ])('I10 with a lease of %d ms and %d ms of the invocation left it is given up before %d ms', async (leaseMs, leftMs, mostMs) => {
    const b = bench({ leaseMs });
    b.plan.create = () => 'lost-request';
    const startMs = b.clock.nowMs();
    let gaveUpMs = 0;
    const call = b
      .run(fails, { remainingMs: () => leftMs - (b.clock.nowMs() - startMs) })
      .catch((error: unknown) => error)
      .finally(() => {
        gaveUpMs = b.clock.nowMs() - startMs;
      });
    expect(await inTime(b.clock, call)).toMatchObject({ code: 'WRITE_UNKNOWN', message: expect.stringContaining('the work was not started') });
    expect(gaveUpMs).toBeLessThanOrEqual(mostMs);
    expect(gaveUpMs).toBeGreaterThan(mostMs - 1_300);
    expect(operations(b).at(-1)).toBe('read');
  });

  it('I6 I12 cancelled meanwhile: the reason, and what had landed is given back', async () => {
    const b = bench({ leaseMs: 60_000 });
    b.plan.create = { 1: 'lost-answer' };
    const caller = new AbortController();
    const reason = new Error('cancelled');
    b.plan.after = () => caller.abort(reason);
    expect(await ended(b, b.run(fails, { signal: caller.signal }))).toBe(reason);
    expect(operations(b)).toEqual(['create', 'read', 'replace']);
    expect(written(b).at(-1)).toMatchObject({ state: 'released' });
  });

  it('I6 I12 cancelled in the pause before the next try: the same', async () => {
    const b = bench({ leaseMs: 60_000 });
    b.plan.create = { 1: 'lost-answer' };
    const caller = new AbortController();
    const reason = new Error('cancelled');
    const call = b.run(fails, { signal: caller.signal }).catch((error: unknown) => error);
    await b.clock.settle();
    caller.abort(reason);
    expect(await inTime(b.clock, call)).toBe(reason);
    expect(operations(b)).toEqual(['create', 'read', 'replace']);
    expect(b.clock.pendingTimers()).toBe(0);
  });

  it("I4 what stands there is somebody else's, or over: it is left alone", async () => {
    const b = bench({ leaseMs: 3_000 });
    await b.run(() => 1);
    b.plan.create = () => 'lost-request';
    expect(await ended(b, b.run(fails))).toMatchObject({ code: 'WRITE_UNKNOWN' });
    expect(operations(b).slice(2)).not.toContain('replace');
  });
});

describe('waiting for somebody else', () => {
  it.each(['unavailable', 'lost-request'] as const)('I10 a look that meets %j is tried again until the wait is over', async (fault) => {
    const b = bench({ leaseMs: 60_000 });
    const work = held<number>();
    const running = b.run(work.work);
    await work.started;
    b.plan.read = { 1: fault, 2: fault };
    const waiting = b.run(() => 2, { onInFlight: { waitMs: 1_000 } });
    await b.clock.advance(400);
    work.end(1);
    expect(await inTime(b.clock, waiting)).toMatchObject({ value: 1, replayed: true });
    await running;
    expect(b.clock.pendingTimers()).toBe(0);
  });

  it('I10 I12 a look that hangs is given up, and the wait goes on; it keeps the process alive', async () => {
    const b = bench({ leaseMs: 60_000 });
    const work = held<number>();
    const running = b.run(work.work);
    await work.started;
    b.plan.read = { 1: 'hang' };
    const kept: (boolean | undefined)[] = [];
    const { after } = b.clock.timers;
    b.clock.timers.after = (ms, callback, options) => {
      kept.push(options?.keepAlive);
      return after(ms, callback, options);
    };
    const waiting = b.run(() => 2, { onInFlight: { waitMs: 20_000 } });
    await b.clock.advance(6_000);
    b.clock.timers.after = after;
    expect(kept.length).toBeGreaterThan(3);
    expect(new Set(kept.slice(2, 5))).toEqual(new Set([true]));
    work.end(1);
    expect(await inTime(b.clock, waiting)).toMatchObject({ value: 1, replayed: true });
    await running;
  });

  it('I12 cancelled: a wait ends at once, and leaves no timer', async () => {
    const b = bench({ leaseMs: 60_000 });
    const work = held<number>();
    const running = b.run(work.work, { renew: 'none' });
    await work.started;
    const caller = new AbortController();
    const reason = new Error('cancelled');
    let end: unknown;
    const timers = b.clock.pendingTimers();
    void b
      .run(() => 2, { onInFlight: { waitMs: 20_000 }, signal: caller.signal })
      .catch((error: unknown) => {
        end = error;
      });
    await b.clock.settle();
    caller.abort(reason);
    await b.clock.settle();
    expect([end, b.clock.pendingTimers()]).toEqual([reason, timers]);
    work.end(1);
    await running;
  });

  it('I8 a look that fails for good ends the wait', async () => {
    const b = bench({ leaseMs: 60_000 });
    const work = held<number>();
    const running = b.run(work.work);
    await work.started;
    b.plan.before = (operation) => {
      if (operation === 'read') throw storeMisconfigured('no table.');
    };
    expect(
      await ended(
        b,
        b.run(() => 2, { onInFlight: { waitMs: 1_000 } }),
      ),
    ).toMatchObject({ code: 'STORE_MISCONFIGURED' });
    work.end(1);
    await running;
  });

  it('I10 a wait lasts as long as was asked for, and no longer than the invocation', async () => {
    const b = bench({ leaseMs: 60_000 });
    const work = held<number>();
    const running = b.run(work.work);
    await work.started;
    for (const [options, mostMs] of [
      [{ onInFlight: { waitMs: 500 } }, 500],
      [{ onInFlight: { waitMs: 5_000 }, remainingMs: (endMs: number) => endMs - b.clock.nowMs() }, 300],
    ] as const) {
      const startMs = b.clock.nowMs();
      const remainingMs = 'remainingMs' in options ? { remainingMs: () => options.remainingMs(startMs + 300) } : {};
      let tookMs = 0;
      const call = b
        .run(() => 2, { onInFlight: options.onInFlight, ...remainingMs })
        .finally(() => {
          tookMs = b.clock.nowMs() - startMs;
        });
      expect(await inTime(b.clock, call, 10_000, 10)).toMatchObject({ kind: 'in-flight' });
      expect(tookMs).toBe(mostMs);
    }
    work.end(1);
    await running;
  });
});
