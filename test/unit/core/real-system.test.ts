import { afterEach, describe, expect, it, vi } from 'vitest';
import { elapsedMs, instant, ownRemainingMs, pause, realSystem, settledWithin, unlessAborted } from '../../../src/core/system.ts';
import { virtualClock } from '../../../src/testing/index.ts';
import { countedSignal } from './counted-signal.ts';

/** Every timer that is set from now on. */
function timersSet(): () => NodeJS.Timeout[] {
  const set = vi.spyOn(globalThis, 'setTimeout');
  return () => set.mock.results.map(({ value }) => value as NodeJS.Timeout);
}

afterEach(() => void vi.restoreAllMocks());

describe('real time', () => {
  it('I6 is read from a clock that nobody sets, and from the one on the wall', () => {
    const [monotonicMs, wallMs] = [performance.now(), Date.now()];
    expect(realSystem.clock.monotonicMs() - monotonicMs).toBeGreaterThanOrEqual(0);
    expect(realSystem.clock.monotonicMs() - monotonicMs).toBeLessThan(10_000);
    expect(realSystem.clock.wallMs() - wallMs).toBeGreaterThanOrEqual(-1_000);
    expect(realSystem.clock.wallMs() - wallMs).toBeLessThan(10_000);
  });

  it('I12 a timer goes off once its time has passed, and keeps no process alive unless it is asked to', async () => {
    const timers = timersSet();
    const wentOff = await new Promise<number>((resolve) => {
      const since = performance.now();
      realSystem.timers.after(5, () => resolve(performance.now() - since), { keepAlive: true });
      realSystem.timers.after(60_000, () => {})();
      const others = [realSystem.timers.after(60_000, () => {}), realSystem.timers.after(60_000, () => {}, { keepAlive: false })];
      expect(timers().map((timer) => timer.hasRef())).toEqual([true, false, false, false]);
      for (const cancel of others) cancel();
    });
    expect(wentOff).toBeGreaterThanOrEqual(3);
  });

  it('I12 one that is cancelled does not go off', async () => {
    let gone = 0;
    const count = (): void => {
      gone += 1;
    };
    const cancel = realSystem.timers.after(1, count, { keepAlive: true });
    cancel();
    await new Promise((resolve) => setTimeout(resolve, 10));
    expect(gone).toBe(0);
  });

  it('I4 I7 nonces never repeat, and pauses of two callers are not the same', () => {
    const nonces = Array.from({ length: 50 }, () => realSystem.nonce());
    expect(new Set(nonces).size).toBe(50);
    for (const nonce of nonces) expect(nonce).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    const numbers = Array.from({ length: 50 }, () => realSystem.random());
    expect(new Set(numbers).size).toBeGreaterThan(40);
    expect(numbers.every((number) => number >= 0 && number < 1)).toBe(true);
  });
});

describe('what has passed, in a process that has run for a while', () => {
  it('I6 counts from the moment itself, by the clock that says more', async () => {
    const clock = virtualClock();
    await clock.advance(7_000);
    const since = instant(clock.clock);
    expect([elapsedMs(since, clock.clock), ownRemainingMs(since, 1_000, clock.clock)]).toEqual([0, 950]);
    await clock.advance(40);
    clock.stepWall(-10_000);
    expect([elapsedMs(since, clock.clock), ownRemainingMs(since, 1_000, clock.clock)]).toEqual([40, 910]);
    await clock.advance(1_000);
    expect(ownRemainingMs(since, 1_000, clock.clock)).toBe(-90);
  });
});

describe('waiting', () => {
  it('I12 without anybody who could end it early', async () => {
    const clock = virtualClock();
    let over = false;
    const slept = pause(clock, 100).then(() => {
      over = true;
    });
    await clock.advance(99);
    expect(over).toBe(false);
    await clock.advance(1);
    await slept;
    expect(clock.pendingTimers()).toBe(0);
  });

  it('I12 a pause that is given up before it begins sets no timer, and leaves no listener', async () => {
    const { signal, abort, listeners } = countedSignal();
    abort(new Error('cancelled'));
    const clock = virtualClock();
    await expect(pause(clock, 100, signal)).rejects.toThrow('cancelled');
    expect([listeners(), clock.pendingTimers()]).toEqual([0, 0]);
  });

  it('I12 for what settles, with a caller who could end it: nobody listens on, and a later abort ends nothing', async () => {
    const clock = virtualClock();
    const caller = new AbortController();
    await settledWithin(clock, Promise.resolve(), 100, caller.signal);
    expect(clock.pendingTimers()).toBe(0);
    caller.abort();
    let over = false;
    const late = settledWithin(clock, new Promise(() => {}), 100, caller.signal).then(() => {
      over = true;
    });
    await clock.settle();
    expect([over, clock.pendingTimers()]).toEqual([true, 0]);
    await late;
  });

  it('I12 unless aborted: what comes later is dropped, and nothing is left unheard', async () => {
    const unheard: unknown[] = [];
    const listener = (reason: unknown): void => void unheard.push(reason);
    process.on('unhandledRejection', listener);
    const reason = new Error('cancelled');
    let fail = (_: unknown): void => {};
    const promise = new Promise<never>((_, reject) => {
      fail = reject;
    });
    await expect(unlessAborted(promise, AbortSignal.abort(reason))).rejects.toBe(reason);
    fail(new Error('later'));
    await new Promise((resolve) => setImmediate(resolve));
    process.off('unhandledRejection', listener);
    expect(unheard).toEqual([]);
  });
});
