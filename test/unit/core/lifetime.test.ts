import { describe, expect, it } from 'vitest';
import { Lifetime, type LifetimeOptions } from '../../../src/core/lifetime.ts';
import { instant } from '../../../src/core/system.ts';
import { virtualClock } from '../../../src/testing/index.ts';
import { countedSignal } from './counted-signal.ts';

const LEASE = 1_000;
/** Of the lease, by its own holder: it stops max(1 %, 50 ms) early. */
const OWN = 950;

function born(options: Partial<LifetimeOptions> = {}) {
  const clock = virtualClock();
  const lost: unknown[] = [];
  const lifetime = new Lifetime({
    system: clock,
    what: '"x"',
    leaseMs: LEASE,
    sentAt: instant(clock.clock),
    onLost: (error) => void lost.push(error),
    ...options,
  });
  return { clock, lost, lifetime };
}

const LOST = expect.objectContaining({ code: 'LEASE_LOST' });

describe('how long a holder may believe that it holds', () => {
  it('I6 by itself, with nobody looking: lost once, on time, and the signal says so', async () => {
    const { clock, lost, lifetime } = born();
    await clock.advance(OWN - 1);
    expect([lifetime.signal.aborted, lost.length, clock.pendingTimers()]).toEqual([false, 0, 1]);
    await clock.advance(1);
    expect(lifetime.signal.reason).toEqual(LOST);
    expect(lost).toEqual([lifetime.signal.reason]);
    expect(String(lost[0])).toMatch(/The lease on "x" is over: its lease ran out\./);
    expect(clock.pendingTimers()).toBe(0);
    expect([lifetime.lost, lifetime.leaseLeftMs(), lifetime.remainingMs()]).toEqual([true, 0, 0]);
    expect(() => lifetime.assertHeld()).toThrow(lost[0] as Error);
    expect(lifetime.lossError()).toBe(lost[0]);
  });

  it('I6 what is left counts down, and the end is over', async () => {
    const { clock, lifetime } = born();
    expect(lifetime.leaseLeftMs()).toBe(OWN);
    await clock.advance(300);
    expect([lifetime.leaseLeftMs(), lifetime.remainingMs()]).toEqual([650, 650]);
    clock.freezeMonotonic(650);
    expect([lifetime.lost, lifetime.signal.aborted]).toEqual([true, true]);
  });

  it('I6 a renewal counts from when it was sent, and moves the end', async () => {
    const { clock, lost, lifetime } = born();
    await clock.advance(500);
    const sentAt = instant(clock.clock);
    await clock.advance(100);
    lifetime.renewed(sentAt);
    expect([lifetime.leaseLeftMs(), clock.pendingTimers()]).toEqual([OWN - 100, 1]);
    await clock.advance(OWN - 101);
    expect(lost).toEqual([]);
    await clock.advance(1);
    expect(lost).toHaveLength(1);
  });

  it('I4 I6 a loss is final: neither a later renewal nor a second loss changes it', async () => {
    const { clock, lost, lifetime } = born();
    lifetime.lose('somebody else took it over', new Error('seen'));
    lifetime.lose('again');
    expect(lost).toEqual([expect.objectContaining({ code: 'LEASE_LOST', cause: expect.objectContaining({ message: 'seen' }) })]);
    expect(clock.pendingTimers()).toBe(0);
    lifetime.renewed(instant(clock.clock));
    expect([lifetime.lost, lifetime.leaseLeftMs(), clock.pendingTimers()]).toEqual([true, 0, 0]);
    await clock.advance(LEASE);
    expect(lost).toHaveLength(1);
  });

  it('I6 a renewal that is confirmed only after the deadline does not bring it back', () => {
    const { clock, lifetime } = born();
    clock.freezeMonotonic(OWN);
    lifetime.renewed(instant(clock.clock));
    expect(lifetime.lost).toBe(true);
  });

  it('what is asked for in advance must be left, to the last ms; and of the invocation too', async () => {
    let leftMs = 700;
    const { lifetime } = born({ remainingMs: () => leftMs });
    expect([lifetime.remainingMs(), lifetime.leaseLeftMs()]).toEqual([700, OWN]);
    lifetime.assertHeld(700);
    expect(() => lifetime.assertHeld(701)).toThrow(/less than 701 ms of it are left/);
    leftMs = -5;
    expect(lifetime.remainingMs()).toBe(0);
    lifetime.assertHeld();
    expect(() => lifetime.assertHeld(1)).toThrow(LOST);
    expect(lifetime.lost, 'the lease itself goes on').toBe(false);
  });

  it('I12 ended: no timer, no listener, nothing left, and what it was held for is over', async () => {
    const caller = new AbortController();
    const { clock, lost, lifetime } = born({ signal: caller.signal });
    lifetime.end();
    expect([clock.pendingTimers(), lifetime.remainingMs(), lifetime.lost]).toEqual([0, 0, false]);
    expect(() => lifetime.assertHeld()).toThrow(/what it was held for has ended/);
    lifetime.renewed(instant(clock.clock));
    lifetime.lose('too late');
    caller.abort(new Error('cancelled'));
    await clock.advance(LEASE * 2);
    expect([clock.pendingTimers(), lost.length, lifetime.lost, lifetime.signal.aborted]).toEqual([0, 0, false, false]);
  });

  it('I6 ended after the lease was over: what was lost stays lost', () => {
    const { clock, lost, lifetime } = born();
    clock.freezeMonotonic(OWN);
    lifetime.end();
    expect([lifetime.lost, lost.length, clock.pendingTimers()]).toEqual([true, 1, 0]);
    expect(() => lifetime.assertHeld()).toThrow(/its lease ran out/);
  });

  it("I12 the caller's cancellation is passed on with its reason, also one from before", () => {
    const reason = new Error('cancelled');
    const caller = new AbortController();
    const { lifetime, lost } = born({ signal: caller.signal });
    expect(lifetime.signal.aborted).toBe(false);
    caller.abort(reason);
    expect([lifetime.signal.reason, lifetime.lost, lost.length]).toEqual([reason, false, 0]);
    expect(born({ signal: AbortSignal.abort(reason) }).lifetime.signal.reason).toBe(reason);
  });

  it('I12 lost: the caller is not listened to any more', () => {
    const { signal, listeners } = countedSignal();
    const { lifetime } = born({ signal });
    expect(listeners()).toBe(1);
    lifetime.lose('somebody else took it over');
    expect(listeners()).toBe(0);
  });

  it('I6 a wall clock that was ahead when the timer was set, and steps back: not lost early, and never late', async () => {
    const { clock, lost, lifetime } = born();
    const sentAt = instant(clock.clock);
    clock.stepWall(500);
    lifetime.renewed(sentAt);
    clock.stepWall(-500);
    await clock.advance(OWN - 1);
    expect([lost.length, clock.pendingTimers()]).toEqual([0, 1]);
    await clock.advance(1);
    expect([lost.length, clock.pendingTimers()]).toEqual([1, 0]);
  });

  it('I4 a loss is an error also where nobody is to be told, and before there is one', async () => {
    const clock = virtualClock();
    const lifetime = new Lifetime({ system: clock, what: 'job', leaseMs: LEASE, sentAt: instant(clock.clock) });
    expect(lifetime.lossError()).toMatchObject({ code: 'LEASE_LOST', message: expect.stringContaining('job is over: somebody else took it over') });
    await clock.advance(OWN);
    expect(lifetime.signal.reason).toEqual(LOST);
  });

  it('I6 a lease that is over when it is got: lost at the first look, or a ms later by itself', async () => {
    const before = { monotonicMs: -LEASE, wallMs: 0 };
    const { clock, lost } = born({ sentAt: before });
    expect(lost).toEqual([]);
    await clock.advance(1);
    expect(lost).toHaveLength(1);
    expect(born({ sentAt: before }).lifetime.lost).toBe(true);
  });
});
