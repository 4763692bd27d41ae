import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { instant, realSystem } from '../../../src/core/system.ts';
import { Hold, Holds } from '../../../src/leases/file/holds.ts';
import type { LockedFile } from '../../../src/leases/file/locked-file.ts';

const now = () => instant(realSystem.clock);

function locked() {
  const closed: number[] = [];
  const file = { close: async () => void closed.push(Math.round(performance.now())) } as unknown as LockedFile;
  return { file, closed };
}

describe('a lease in the hands of this process', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance', 'Date'], now: 1_767_268_800_000 }));
  afterEach(() => void vi.useRealTimers());

  it('I6 I10 is given up a moment after its time, not before it, and once', async () => {
    const { file, closed } = locked();
    let ended = 0;
    const startMs = Math.round(performance.now());
    const hold = new Hold(file, 7, 1_000, now(), () => {
      ended += 1;
    });
    expect([hold.token, hold.file === file]).toEqual([7, true]);
    await vi.advanceTimersByTimeAsync(1_000);
    expect([hold.over, closed, ended]).toEqual([false, [], 0]);
    await vi.advanceTimersByTimeAsync(1);
    expect([hold.over, closed, ended, vi.getTimerCount()]).toEqual([true, [startMs + 1_001], 1, 0]);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(closed).toHaveLength(1);
  });

  it('counts from when it was asked for', async () => {
    const { file, closed } = locked();
    const since = now();
    await vi.advanceTimersByTimeAsync(400);
    const hold = new Hold(file, 7, 1_000, since, () => {});
    await vi.advanceTimersByTimeAsync(600);
    expect([hold.over, closed.length]).toEqual([false, 0]);
    await vi.advanceTimersByTimeAsync(1);
    expect([hold.over, closed.length]).toEqual([true, 1]);
  });

  it('that was over before it is given up at once', async () => {
    const { file, closed } = locked();
    const since = now();
    await vi.advanceTimersByTimeAsync(5_000);
    new Hold(file, 7, 1_000, since, () => {});
    await vi.advanceTimersByTimeAsync(1);
    expect(closed).toHaveLength(1);
  });

  it('renewed, it counts from the renewal, for as long as that said', async () => {
    const { file, closed } = locked();
    const hold = new Hold(file, 7, 1_000, now(), () => {});
    await vi.advanceTimersByTimeAsync(900);
    hold.renew(2_000, now());
    expect(vi.getTimerCount()).toBe(1);
    await vi.advanceTimersByTimeAsync(2_000);
    expect([hold.over, closed.length]).toEqual([false, 0]);
    await vi.advanceTimersByTimeAsync(1);
    expect([hold.over, closed.length]).toEqual([true, 1]);
  });

  it('I10 renewed for a shorter time, it is given up after that', async () => {
    const { file, closed } = locked();
    const hold = new Hold(file, 7, 60_000, now(), () => {});
    hold.renew(500, now());
    await vi.advanceTimersByTimeAsync(501);
    expect([hold.over, closed.length]).toEqual([true, 1]);
  });

  it('I12 ended, nothing is left of it', async () => {
    const { file, closed } = locked();
    let ended = 0;
    const hold = new Hold(file, 7, 1_000, now(), () => {
      ended += 1;
    });
    await hold.end();
    expect([hold.over, closed.length, ended, vi.getTimerCount()]).toEqual([true, 1, 1, 0]);
  });

  it('I6 a wall clock that is set forward ends it; one that is set back does not prolong it', async () => {
    const one = locked();
    const forward = new Hold(one.file, 7, 1_000, now(), () => {});
    vi.setSystemTime(Date.now() + 3_600_000);
    expect(forward.over).toBe(true);
    const two = locked();
    new Hold(two.file, 7, 1_000, now(), () => {});
    vi.setSystemTime(Date.now() - 3_600_000);
    await vi.advanceTimersByTimeAsync(1_001);
    expect(two.closed).toHaveLength(1);
  });

  it('longer than a timer can be: looked at again when that has gone off', async () => {
    const { file, closed } = locked();
    const longest = 2_147_483_647;
    const hold = new Hold(file, 7, longest + 5_000, now(), () => {});
    await vi.advanceTimersByTimeAsync(longest);
    expect([hold.over, closed.length, vi.getTimerCount()]).toEqual([false, 0, 1]);
    await vi.advanceTimersByTimeAsync(5_001);
    expect([hold.over, closed.length]).toEqual([true, 1]);
  });
});

describe('the leases in the hands of this process', () => {
  it('are found until they end; an old one that ends does not take its successor along', async () => {
    const holds = new Holds();
    expect(holds.get('a')).toBeUndefined();
    holds.add('a', locked().file, 1, 60_000, now());
    const first = holds.get('a');
    holds.add('a', locked().file, 2, 60_000, now());
    const second = holds.get('a');
    expect([first?.token, second?.token]).toEqual([1, 2]);
    await first?.end();
    expect(holds.get('a')).toBe(second);
    await second?.end();
    expect(holds.get('a')).toBeUndefined();
  });

  it('what is asked of one lease is done in order, also after a failure; of another it does not wait', async () => {
    const holds = new Holds();
    const order: string[] = [];
    let letGo = (): void => {};
    const paused = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    const failure = new Error('failed');
    const first = holds.inTurn('a', async () => {
      await paused;
      order.push('first');
      throw failure;
    });
    let goOn = (): void => {};
    const halted = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    const second = holds.inTurn('a', async () => {
      await halted;
      return order.push('second');
    });
    await holds.inTurn('b', async () => order.push('other'));
    expect(order).toEqual(['other']);
    letGo();
    await expect(first).rejects.toBe(failure);
    await new Promise((resolve) => setImmediate(resolve));
    const third = holds.inTurn('a', async () => order.push('third'));
    await new Promise((resolve) => setImmediate(resolve));
    goOn();
    expect([await second, await third]).toEqual([3, 4]);
    expect(await holds.inTurn('a', async () => order.push('fourth'))).toBe(5);
    expect(order).toEqual(['other', 'first', 'second', 'third', 'fourth']);
  });
});
