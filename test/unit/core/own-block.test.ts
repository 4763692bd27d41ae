import { describe, expect, it } from 'vitest';
import { bench, inTime, LOST_ANSWERS } from './engine.ts';

describe('blocking changes the owner, and is an own write all the same', () => {
  it.each(LOST_ANSWERS)("I7 'block' as the answer of onUnknown meets %j: blocked is told, not a takeover", async (fault) => {
    const b = bench({ leaseMs: 10_000, renew: 'none' });
    b.run(() => new Promise<string>(() => {})).catch(() => {});
    await b.clock.advance(10_001);
    // The second replace: the first is the claim that asking is done under.
    b.plan.replace = { 2: fault };
    const asked = b.run(() => 'never', { onUnknown: () => 'block' });
    expect(await inTime(b.clock, asked)).toMatchObject({ kind: 'blocked', why: 'unknown' });
    expect(await b.run(() => 'never')).toMatchObject({ kind: 'blocked' });
  });

  it.each(LOST_ANSWERS)("I7 'block' as the verdict on a throw meets %j: the record is blocked, and no loss is told", async (fault) => {
    const b = bench({ leaseMs: 10_000, renew: 'none', onThrow: () => 'block' });
    b.plan.replace = { 1: fault };
    let signal: AbortSignal | undefined;
    const failing = b.run((run) => {
      signal = run.signal;
      throw new Error('mine');
    });
    await expect(inTime(b.clock, failing)).rejects.toThrow('mine');
    expect(signal?.aborted).toBe(false);
    expect(await b.run(() => 'never')).toMatchObject({ kind: 'blocked', why: 'failed' });
  });
});
