import { describe, expect, it } from 'vitest';
import type { Run, RunResult } from '../../../src/index.ts';
import { bench, held, inTime } from './engine.ts';

/** Attempt 1 outlives its lease, attempt 2 completes. What 1 still does must change nothing. */
describe('zombie', () => {
  async function zombie<T>(work: (resume: Promise<void>, run: Parameters<Parameters<ReturnType<typeof bench>['run']>[0]>[0]) => Promise<T>) {
    const b = bench({ leaseMs: 1_000, renew: 'none' });
    let resume = (): void => {};
    const resumed = new Promise<void>((resolve) => {
      resume = resolve;
    });
    const first = b.run((run) => work(resumed, run as never)) as Promise<RunResult<unknown>>;
    first.catch(() => {});
    await b.clock.advance(1_001);
    expect(await b.run(() => 'two')).toMatchObject({ value: 'two', attempt: 2 });
    const settledRow = JSON.stringify(await rows(b));
    resume();
    return { b, first, settledRow };
  }
  const rows = async (b: ReturnType<typeof bench>) => {
    const all = [];
    for await (const one of b.store.list({})) all.push(one.record);
    return all;
  };

  it("I4 I2 a late result changes nothing, and 1's caller gets 2's outcome", async () => {
    const { b, first, settledRow } = await zombie(async (resume) => {
      await resume;
      return 'one';
    });
    expect(await inTime(b.clock, first)).toMatchObject({ value: 'two', replayed: true });
    expect(JSON.stringify(await rows(b))).toBe(settledRow);
    expect(await b.run(() => 'three')).toMatchObject({ value: 'two' });
  });

  it('I4 a late failure changes nothing, and its caller gets the very thing that was thrown', async () => {
    const thrown = new Error('late');
    const { b, first, settledRow } = await zombie(async (resume) => {
      await resume;
      throw thrown;
    });
    await expect(inTime(b.clock, first)).rejects.toBe(thrown);
    expect(JSON.stringify(await rows(b))).toBe(settledRow);
  });

  it('I4 a late step changes nothing: its work does not start, its caller is told', async () => {
    let started = false;
    const { b, first, settledRow } = await zombie(async (resume, run) => {
      await resume;
      await run.step('late', () => {
        started = true;
      });
      return 'one';
    });
    await expect(inTime(b.clock, first)).rejects.toMatchObject({ code: 'LEASE_LOST' });
    expect(started).toBe(false);
    expect(JSON.stringify(await rows(b))).toBe(settledRow);
  });

  it.each(['renew', 'step', 'fail', 'complete'] as const)('I4 a late %s that reaches the store only after the takeover is refused', async (late) => {
    const b = bench({ leaseMs: 1_000, ...(late === 'renew' ? {} : { renew: 'none' as const }) });
    b.plan.replace = (n) => (n === 1 ? { landsAfterMs: 1_200 } : 'lost-request');
    const first = b.run((run) => {
      if (late === 'step') void run.step('s', () => 1).catch(() => {});
      if (late === 'fail') throw new Error('mine');
      return late === 'complete' ? 'one' : new Promise<string>(() => {});
    });
    first.catch(() => {});
    await b.clock.advance(1_100);
    expect(b.store.counts.replace).toBeGreaterThan(0);
    delete b.plan.replace;
    expect(await b.run(() => 'two')).toMatchObject({ kind: 'completed', value: 'two' });
    const before = JSON.stringify(await rows(b));
    await b.clock.advance(5_000);
    expect(b.store.calls.some((call) => call.fault !== undefined && call.answer !== undefined)).toBe(true);
    expect(JSON.stringify(await rows(b))).toBe(before);
  });

  it('three parties: a takeover that crashes too, and the lease lapsing while a takeover is in progress', async () => {
    const b = bench({ leaseMs: 1_000, renew: 'none' });
    const one = held<string>();
    const two = held<string>();
    const first = b.run(one.work);
    await b.clock.advance(1_001);
    const second = b.run(two.work);
    await two.started;
    await b.clock.advance(1_001);
    const racers = [b.run(() => 'three'), b.run(() => 'four')];
    const results = await Promise.all(racers.map((racer) => inTime(b.clock, racer)));
    const winner = results.find((result) => result.kind === 'completed' && !result.replayed);
    expect(winner).toMatchObject({ attempt: 3 });
    two.end('two');
    one.end('one');
    const value = winner?.kind === 'completed' ? winner.value : undefined;
    expect(await inTime(b.clock, second)).toMatchObject({ value, replayed: true });
    expect(await inTime(b.clock, first)).toMatchObject({ value, replayed: true });
    expect(await b.run(() => 'five')).toMatchObject({ value });
  });

  it('taken over, and the successor still at work: LEASE_LOST, and the successor is not disturbed', async () => {
    const b = bench({ leaseMs: 1_000, renew: 'none' });
    const one = held<string>();
    const two = held<string>();
    const first = b.run(one.work);
    await b.clock.advance(1_001);
    const second = b.run(two.work);
    await two.started;
    one.end('one');
    await expect(inTime(b.clock, first)).rejects.toMatchObject({ code: 'LEASE_LOST', retryable: true });
    two.end('two');
    expect(await inTime(b.clock, second)).toMatchObject({ value: 'two', saved: true });
  });

  it('the lease ran out but nobody took over: the result is saved all the same', async () => {
    const b = bench({ leaseMs: 1_000, renew: 'none' });
    const one = held<string>();
    const first = b.run(one.work);
    await b.clock.advance(30_000);
    one.end('one');
    expect(await inTime(b.clock, first)).toMatchObject({ value: 'one', saved: true });
  });

  it('a throw after the lease is over declares nothing', async () => {
    const b = bench({ leaseMs: 1_000, renew: 'none' });
    const one = held<string>();
    const first = b.run(one.work);
    await b.clock.advance(2_000);
    one.fail(new Error('late'));
    await expect(first).rejects.toThrow('late');
    expect(await rows(b)).toMatchObject([{ state: 'running' }]);
  });
});

describe('work that nobody awaited', () => {
  it.each(['returns', 'throws'])(
    'I4 holds nothing when its run is over (the work %s): assertHeld throws, a step is not begun, a commit is refused',
    async (how) => {
      const b = bench({ leaseMs: 60_000 });
      let left: Run | undefined;
      const running = b.run((run) => {
        left = run;
        if (how === 'throws') throw new Error('no');
        return 1;
      });
      await running.catch(() => {});
      const run = left as Run;
      let begun = 0;
      const lost = { code: 'LEASE_LOST' };
      expect(() => run.assertHeld()).toThrow(expect.objectContaining(lost));
      expect(run.remainingMs()).toBe(0);
      await expect(run.step('late', () => ++begun)).rejects.toMatchObject(lost);
      await expect(run.commit(2, () => Promise.reject(new Error('sent')))).rejects.toMatchObject(lost);
      expect([begun, b.clock.pendingTimers()]).toEqual([0, 0]);
    },
  );
});
