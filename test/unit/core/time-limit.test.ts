import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { timeLimit } from '../../../src/core/time-limit.ts';
import { countedSignal } from './counted-signal.ts';

const never = new Promise<never>(() => {});

describe('one time limit for a whole call', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }));
  afterEach(() => void vi.useRealTimers());

  it('I10 ends with its time, and says so to what looks at the signal and to what does not', async () => {
    const limit = timeLimit(100, undefined);
    expect(limit.endsAtMs).toBe(performance.now() + 100);
    const raced = limit.race(never).catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(99);
    expect(limit.signal.aborted).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(limit.signal.reason).toMatchObject({ message: 'no answer within 100 ms' });
    expect(await raced).toBe(limit.signal.reason);
    const late = limit.race(never).catch((error: unknown) => error);
    expect(await late).toBe(limit.signal.reason);
  });

  it("I12 ends with the caller's own signal, also one from before", async () => {
    const reason = new Error('cancelled');
    const { signal, abort } = countedSignal();
    const limit = timeLimit(100, signal);
    expect(limit.signal.aborted).toBe(false);
    abort(reason);
    expect(limit.signal.reason).toBe(reason);
    expect(timeLimit(100, signal).signal.reason).toBe(reason);
  });

  it('I7 what is taken back in the turn in which time is up says so itself', async () => {
    const limit = timeLimit(100, undefined);
    const own = new Error('not sent');
    const work = new Promise<never>((_, reject) => limit.signal.addEventListener('abort', () => reject(own)));
    const raced = limit.race(work).catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(100);
    expect(await raced).toBe(own);
  });

  it('an answer and a failure are handed on', async () => {
    const limit = timeLimit(100, undefined);
    const failure = new Error('refused');
    expect(await limit.race(Promise.resolve(7))).toBe(7);
    await expect(limit.race(Promise.reject(failure))).rejects.toBe(failure);
  });

  it('I12 done: no timer and no listener stays behind', async () => {
    const { signal, listeners } = countedSignal();
    const limit = timeLimit(100, signal);
    expect([listeners(), vi.getTimerCount()]).toEqual([1, 1]);
    limit.done();
    expect([listeners(), vi.getTimerCount()]).toEqual([0, 0]);
  });
});
