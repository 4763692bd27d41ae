import { describe, expect, it } from 'vitest';
import { bench, held, inTime, LOST_ANSWERS } from './engine.ts';

describe('renewal', () => {
  it('keeps the lease while the work runs, and stops when it has settled', async () => {
    const b = bench({ leaseMs: 1_000 });
    const work = held<number>();
    const running = b.run(work.work);
    await work.started;
    for (let i = 0; i < 20; i++) {
      await b.clock.advance(500);
      expect(await b.run(() => 2)).toMatchObject({ kind: 'in-flight' });
    }
    work.end(1);
    expect(await inTime(b.clock, running)).toMatchObject({ value: 1, saved: true });
    expect(b.clock.pendingTimers()).toBe(0);
  });

  it.each(LOST_ANSWERS)('a renewal that meets %j is unknown: the lease goes on, the next one succeeds', async (fault) => {
    const b = bench({ leaseMs: 3_000 });
    b.plan.replace = { 1: fault };
    const work = held<number>();
    let lost: boolean | undefined;
    const running = b.run(async (run) => {
      await work.work();
      lost = run.signal.aborted;
      return 1;
    });
    await work.started;
    await b.clock.advance(10_000);
    work.end(1);
    expect(await inTime(b.clock, running)).toMatchObject({ value: 1, saved: true, attempt: 1 });
    expect(lost).toBe(false);
  });

  it('I12 a renewal that hangs for ever still ends the lease on time', async () => {
    const b = bench({ leaseMs: 1_000 });
    b.plan.replace = () => 'hang';
    let abortedAfterMs = 0;
    const before = b.clock.nowMs();
    const running = b.run(async (run) => {
      run.signal.addEventListener('abort', () => {
        abortedAfterMs = b.clock.nowMs() - before;
      });
      await b.clock.advance(2_000);
      expect(run.signal.reason).toMatchObject({ code: 'LEASE_LOST' });
      expect(() => run.assertHeld()).toThrow(/lease/);
      expect(run.remainingMs()).toBe(0);
    });
    await inTime(b.clock, running);
    expect(abortedAfterMs).toBeGreaterThan(900);
    expect(abortedAfterMs).toBeLessThanOrEqual(950);
  });

  it.each([
    ['the wall clock steps an hour forward', (b: ReturnType<typeof bench>) => b.clock.stepWall(3_600_000)],
    ['the monotonic clock stood still', (b: ReturnType<typeof bench>) => b.clock.freezeMonotonic(2_000)],
  ])('after a stall in which %s, assertHeld throws before any timer has fired', async (_, stall) => {
    const b = bench({ leaseMs: 1_000 });
    let code: unknown;
    await inTime(
      b.clock,
      b.run((run) => {
        run.assertHeld();
        stall(b);
        expect(run.signal.aborted).toBe(false);
        try {
          run.assertHeld();
        } catch (error) {
          code = (error as { code: string }).code;
        }
      }),
    );
    expect(code).toBe('LEASE_LOST');
  });

  it('I6 I12 ends with the invocation: work that was left behind is not kept alive, its lease runs out', async () => {
    let endsAtMs = Number.POSITIVE_INFINITY;
    const b = bench({ leaseMs: 1_000 });
    const work = held<number>();
    const running = b.run(work.work, { remainingMs: () => endsAtMs - b.clock.nowMs() });
    await work.started;
    await b.clock.advance(3_000);
    expect(await b.run(() => 2)).toMatchObject({ kind: 'in-flight' });
    endsAtMs = b.clock.nowMs();
    await b.clock.advance(1_500);
    expect(b.clock.pendingTimers()).toBe(0);
    expect(
      await inTime(
        b.clock,
        b.run(() => 2),
      ),
    ).toMatchObject({ value: 2, attempt: 2 });
    work.end(1);
    expect(await inTime(b.clock, running)).toMatchObject({ value: 2, replayed: true });
  });

  it('a wall clock that steps back neither ends nor prolongs the lease', async () => {
    const b = bench({ leaseMs: 1_000, renew: 'none' });
    await inTime(
      b.clock,
      b.run(async (run) => {
        b.clock.stepWall(-3_600_000);
        expect(run.remainingMs()).toBeGreaterThan(900);
        await b.clock.advance(1_000);
        expect(() => run.assertHeld()).toThrow(expect.objectContaining({ code: 'LEASE_LOST' }));
      }),
    );
  });
});
