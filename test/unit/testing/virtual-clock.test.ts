import { describe, expect, it } from 'vitest';
import { virtualClock } from '../../../src/testing/index.ts';

describe('virtual clock', () => {
  it('runs timers in order of time, each at its own moment, and those set meanwhile too', async () => {
    const clock = virtualClock(1000);
    const seen: string[] = [];
    const note = (name: string) => () => void seen.push(`${name}@${clock.nowMs() - 1000}`);
    clock.timers.after(30, note('c'));
    clock.timers.after(10, () => {
      note('a')();
      clock.timers.after(10, note('b'));
    });
    clock.timers.after(30, note('d'));
    clock.timers.after(31, note('never'));
    await clock.advance(30);
    expect(seen).toEqual(['a@10', 'b@20', 'c@30', 'd@30']);
    expect(clock.nowMs()).toBe(1030);
    expect(clock.clock.monotonicMs()).toBe(30);
    expect(clock.pendingTimers()).toBe(1);
  });

  it('lets asynchronous code react before time moves on', async () => {
    const clock = virtualClock(0);
    const seen: number[] = [];
    const pause = (ms: number) => new Promise<void>((resolve) => clock.timers.after(ms, resolve));
    const work = (async () => {
      for (let round = 0; round < 5; round += 1) {
        await pause(100);
        await new Promise((resolve) => setImmediate(resolve));
        seen.push(clock.nowMs());
      }
    })();
    await clock.advance(1000);
    await work;
    expect(seen).toEqual([100, 200, 300, 400, 500]);
  });

  it('a cancelled timer never runs, and a throwing one makes advance reject', async () => {
    const clock = virtualClock();
    let ran = false;
    const cancel = clock.timers.after(5, () => {
      ran = true;
    });
    cancel();
    await clock.advance(10);
    expect(ran).toBe(false);
    clock.timers.after(1, () => {
      throw new Error('from a timer');
    });
    await expect(clock.advance(1)).rejects.toThrow('from a timer');
  });

  it('a step of the wall clock moves neither true time nor the monotonic clock', () => {
    const clock = virtualClock(1000);
    clock.stepWall(-400);
    expect([clock.clock.wallMs(), clock.nowMs(), clock.clock.monotonicMs()]).toEqual([600, 1000, 0]);
  });

  it('a frozen sandbox loses monotonic time and timers, not wall time', async () => {
    const clock = virtualClock(1000);
    let ran = false;
    clock.timers.after(10, () => {
      ran = true;
    });
    clock.freezeMonotonic(5000);
    await clock.settle();
    expect([clock.clock.wallMs(), clock.nowMs(), clock.clock.monotonicMs(), ran]).toEqual([6000, 6000, 0, false]);
    await clock.advance(10);
    expect(ran).toBe(true);
  });

  it('is repeatable: the same seed gives the same nonces and random numbers, another gives others', () => {
    const draw = (seed?: number) => {
      const clock = virtualClock(0, seed);
      return [clock.nonce(), clock.nonce(), clock.random(), clock.random()];
    };
    expect(draw()).toEqual(draw());
    expect(draw(2)).not.toEqual(draw(1));
    expect(new Set(draw()).size).toBe(4);
    expect(draw()[0]).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/);
    const { random } = virtualClock(0, 7);
    const drawn = Array.from({ length: 1000 }, random);
    expect(Math.min(...drawn)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...drawn)).toBeLessThan(1);
    expect(drawn.reduce((sum, value) => sum + value) / 1000).toBeCloseTo(0.5, 1);
  });
});
