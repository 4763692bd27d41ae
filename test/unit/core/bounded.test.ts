import { describe, expect, it } from 'vitest';
import { bounded, tryLimitMs, withinInvocation } from '../../../src/core/bounded.ts';
import { renewalLimitMs } from '../../../src/core/renewal.ts';
import { elapsedMs, instant, ownMarginMs, ownRemainingMs, pause, settledWithin, unlessAborted } from '../../../src/core/system.ts';
import { pauseBeforeMs } from '../../../src/core/waits.ts';
import { virtualClock } from '../../../src/testing/index.ts';
import { countedSignal } from './counted-signal.ts';

const never = new Promise<never>(() => {});
describe('a call to a store', () => {
  it.each([
    [300, 300],
    [60_000, 15_000],
    [0, 1],
  ])('I10 I12 with a limit of %d ms and no answer: unknown after %d ms, and the call is told', async (limitMs, afterMs) => {
    const clock = virtualClock();
    let told: AbortSignal | undefined;
    const ended = bounded(clock, limitMs, ({ signal }) => {
      told = signal;
      return never;
    }).catch((error: unknown) => error);
    await clock.advance(afterMs - 1);
    expect([told?.aborted, clock.pendingTimers()]).toEqual([false, 1]);
    await clock.advance(1);
    expect(await ended).toMatchObject({ code: 'WRITE_UNKNOWN', message: expect.stringContaining(`no answer within ${afterMs} ms`) });
    expect(told?.reason).toBe(await ended);
    expect(clock.pendingTimers()).toBe(0);
  });

  it('I12 an answer, and a failure, are handed on; neither timer nor listener stays', async () => {
    const clock = virtualClock();
    const { signal, listeners } = countedSignal();
    expect(await bounded(clock, 300, async () => 7, signal)).toBe(7);
    const failure = new Error('refused');
    await expect(bounded(clock, 300, () => Promise.reject(failure), signal)).rejects.toBe(failure);
    expect([clock.pendingTimers(), listeners()]).toEqual([0, 0]);
  });

  it('I12 while it lasts the process stays alive', async () => {
    const clock = virtualClock();
    const kept: unknown[] = [];
    const timers: typeof clock.timers = {
      after(ms, callback, options) {
        kept.push(options);
        return clock.timers.after(ms, callback);
      },
    };
    await bounded({ ...clock, timers }, 300, async () => 1);
    const slept = pause({ ...clock, timers }, 100);
    await clock.advance(100);
    await slept;
    expect(kept).toEqual([{ keepAlive: true }, { keepAlive: true }]);
  });

  it('I12 given up before, and a call that throws at once: nothing is left unheard', async () => {
    const unheard: unknown[] = [];
    const listener = (reason: unknown): void => void unheard.push(reason);
    process.on('unhandledRejection', listener);
    const failure = new Error('at once');
    const call = (): never => {
      throw failure;
    };
    await expect(bounded(virtualClock(), 300, call, AbortSignal.abort())).rejects.toBe(failure);
    await new Promise((resolve) => setImmediate(resolve));
    process.off('unhandledRejection', listener);
    expect(unheard).toEqual([]);
  });

  it('I8 I12 given up by the caller: unknown at once, also where it was given up before', async () => {
    const clock = virtualClock();
    const { signal, abort } = countedSignal();
    const ended = bounded(clock, 300, () => never, signal).catch((error: unknown) => error);
    abort(new Error('cancelled'));
    expect(await ended).toMatchObject({ code: 'WRITE_UNKNOWN', message: expect.stringContaining('the call was given up') });
    await expect(bounded(clock, 300, () => never, signal)).rejects.toMatchObject({ code: 'WRITE_UNKNOWN' });
    expect(clock.pendingTimers()).toBe(0);
  });

  it('I10 no call goes much beyond its invocation, and each leaves time for another', () => {
    expect([withinInvocation(5_000, 1_000), withinInvocation(500, 1_000), withinInvocation(5_000, -3), withinInvocation(100, 0)]).toEqual([
      1_000, 500, 200, 100,
    ]);
    expect([tryLimitMs(60_000), tryLimitMs(400)]).toEqual([15_000, 250]);
    expect([renewalLimitMs(60_000), renewalLimitMs(1_200), renewalLimitMs(300)]).toEqual([10_000, 250, 150]);
  });

  it('I10 pauses grow by half, from 50 ms to 1 s, give or take a quarter', () => {
    const at = (random: number, round: number): number => pauseBeforeMs(round, { ...virtualClock(), random: () => random });
    expect([at(0.5, 0), at(0.5, 1), at(0.5, 2), at(0.5, 40), at(0.5, 4_000)]).toEqual([50, 75, 112.5, 1_000, 1_000]);
    expect([at(0, 0), at(1, 0)]).toEqual([37.5, 62.5]);
  });
});

describe('time as an owner sees it', () => {
  it('I6 what has passed is what the clock says that says more, and never less than nothing', () => {
    const clock = virtualClock();
    const since = instant(clock.clock);
    expect(elapsedMs(since, clock.clock)).toBe(0);
    clock.freezeMonotonic(40);
    expect(elapsedMs(since, clock.clock)).toBe(40);
    clock.stepWall(-3_600_000);
    expect(elapsedMs(since, clock.clock)).toBe(0);
  });

  it('I6 an owner stops 1 % early, and at least 50 ms', () => {
    const clock = virtualClock();
    expect([ownMarginMs(1_000), ownMarginMs(60_000)]).toEqual([50, 600]);
    expect(ownRemainingMs(instant(clock.clock), 60_000, clock.clock)).toBe(59_400);
  });

  it('I12 a pause ends with its time or with the signal, and leaves nothing behind', async () => {
    const clock = virtualClock();
    const { signal, abort, listeners } = countedSignal();
    const slept = pause(clock, 100, signal);
    await clock.advance(100);
    await slept;
    expect([clock.pendingTimers(), listeners()]).toEqual([0, 0]);
    const reason = new Error('cancelled');
    const woken = pause(clock, 100, signal).catch((error: unknown) => error);
    abort(reason);
    expect(await woken).toBe(reason);
    expect(clock.pendingTimers()).toBe(0);
    await expect(pause(clock, 100, signal)).rejects.toBe(reason);
    expect(clock.pendingTimers()).toBe(0);
  });

  it('I12 waiting for what may not settle ends with it, with the time or with the signal, and never fails', async () => {
    const clock = virtualClock();
    await settledWithin(clock, Promise.resolve(), 100);
    await settledWithin(clock, Promise.reject(new Error('failed')), 100);
    expect(clock.pendingTimers()).toBe(0);
    let over = false;
    const timed = settledWithin(clock, never, 100).then(() => {
      over = true;
    });
    await clock.advance(99);
    expect(over).toBe(false);
    await clock.advance(1);
    await timed;
    const caller = new AbortController();
    const cancelled = settledWithin(clock, never, 100, caller.signal);
    caller.abort();
    await cancelled;
    expect(clock.pendingTimers()).toBe(0);
  });

  it('I12 unless aborted: the answer, the failure or the reason, and nobody listens on', async () => {
    const { signal, abort, listeners } = countedSignal();
    const failure = new Error('failed');
    expect(await unlessAborted(Promise.resolve(3), signal)).toBe(3);
    await expect(unlessAborted(Promise.reject(failure), signal)).rejects.toBe(failure);
    await Promise.resolve();
    expect(listeners()).toBe(0);
    const reason = new Error('cancelled');
    const ended = unlessAborted(never, signal).catch((error: unknown) => error);
    abort(reason);
    expect(await ended).toBe(reason);
    await expect(unlessAborted(Promise.resolve(3), signal)).rejects.toBe(reason);
  });
});
