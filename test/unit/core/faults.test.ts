import { describe, expect, it } from 'vitest';
import type { StoreFault } from '../../../src/testing/index.ts';
import { bench, eventsOf, held, inTime, LOST_ANSWERS } from './engine.ts';

describe('the claim in doubt', () => {
  it.each(LOST_ANSWERS)('I7 the first claim meets %j: run once, by this caller, in one attempt', async (fault) => {
    const b = bench({ leaseMs: 4_000 });
    b.plan.create = { 1: fault };
    let runs = 0;
    const result = await inTime(
      b.clock,
      b.run(() => ++runs),
    );
    expect(result).toMatchObject({ kind: 'completed', value: 1, replayed: false, saved: true });
    expect(runs).toBe(1);
    await b.clock.advance(20_000);
    expect(
      await inTime(
        b.clock,
        b.run(() => ++runs),
      ),
    ).toMatchObject({ value: 1, replayed: true });
  });

  it.each(LOST_ANSWERS)('I7 a claim over a released record meets %j: no false in-flight', async (fault) => {
    const b = bench({ leaseMs: 4_000 });
    await b.run(() => Promise.reject(new Error('no'))).catch(() => {});
    b.plan.replace = { [b.store.counts.replace + 1]: fault };
    expect(
      await inTime(
        b.clock,
        b.run((run) => run.attempt),
      ),
    ).toMatchObject({ kind: 'completed', value: 2 });
  });

  it('the lease counts from the send that stands, not from the answer', async () => {
    const b = bench({ leaseMs: 4_000, renew: 'none' });
    b.plan.create = { 1: 'lost-answer' };
    let leftMs = 0;
    const before = b.clock.nowMs();
    await inTime(
      b.clock,
      b.run((run) => {
        leftMs = run.remainingMs();
      }),
      10_000,
      10,
    );
    expect(leftMs).toBeLessThanOrEqual(4_000 - 50 - 30);
    expect(b.clock.nowMs() - before).toBeLessThan(500);
  });

  it('an answer that comes after its own deadline starts no work: the claim is given back and made anew', async () => {
    const b = bench({ leaseMs: 1_000, renew: 'none' });
    // The sandbox was frozen between request and answer.
    b.plan.after = (operation, n) => {
      if (operation === 'create' && n === 1) b.clock.freezeMonotonic(2_000);
    };
    let starts = 0;
    const result = await inTime(
      b.clock,
      b.run((run) => {
        starts += 1;
        run.assertHeld();
        return run.attempt;
      }),
    );
    expect(result).toMatchObject({ kind: 'completed', value: 2 });
    expect(starts).toBe(1);
  });

  it('I8 no answer until the lease ends: WRITE_UNKNOWN, nothing runs, and the key is free again after the lease', async () => {
    const b = bench({ leaseMs: 1_000 });
    b.plan.create = () => 'hang-applied';
    b.plan.read = () => 'unavailable';
    b.plan.replace = () => 'lost-request';
    let runs = 0;
    await expect(
      inTime(
        b.clock,
        b.run(() => ++runs),
      ),
    ).rejects.toMatchObject({ code: 'WRITE_UNKNOWN', retryable: true });
    expect(runs).toBe(0);
    for (const operation of ['create', 'read', 'replace'] as const) delete b.plan[operation];
    await b.clock.advance(1_001);
    expect(
      await inTime(
        b.clock,
        b.run(() => ++runs),
      ),
    ).toMatchObject({ value: 1 });
  });

  it('I8 a claim given up in doubt is released, so the next caller need not wait', async () => {
    const b = bench({ leaseMs: 1_000 });
    b.plan.create = () => 'hang-applied';
    b.plan.replace = { 1: 'hang' };
    await inTime(
      b.clock,
      b.run(() => 1).catch(() => {}),
    );
    for (const operation of ['create', 'replace'] as const) delete b.plan[operation];
    expect(await b.run(() => 2)).toMatchObject({ kind: 'completed' });
  });

  it('a store that is down: STORE_UNAVAILABLE, nothing runs; onStoreDown run goes on unguarded and says so', async () => {
    const b = bench();
    b.plan.create = () => 'unavailable';
    let runs = 0;
    await expect(b.run(() => ++runs)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE', retryable: true });
    expect(runs).toBe(0);
    const events = await eventsOf(async () => {
      const result = await b.run(
        (run) => {
          runs += 1;
          return [run.token, run.fence];
        },
        { onStoreDown: 'run' },
      );
      expect(result).toMatchObject({ kind: 'completed', value: [undefined, undefined], saved: false });
    });
    expect(events).toEqual(['unguarded']);
    expect(runs).toBe(1);
  });

  it('a refused try does not settle an earlier one without an answer: onStoreDown run does not apply', async () => {
    const b = bench({ leaseMs: 1_000, onStoreDown: 'run' });
    b.plan.create = (n) => (n === 1 ? 'lost-answer' : 'unavailable');
    b.plan.read = () => 'unavailable';
    let runs = 0;
    await expect(
      inTime(
        b.clock,
        b.run(() => ++runs),
      ),
    ).rejects.toMatchObject({ code: 'WRITE_UNKNOWN' });
    expect(runs).toBe(0);
  });
});

describe('the completion in doubt', () => {
  it.each(LOST_ANSWERS)('I3 I7 the completion meets %j: saved, and replayed to all', async (fault) => {
    const b = bench({ leaseMs: 10_000 });
    b.plan.replace = { 1: fault };
    let runs = 0;
    const events = await eventsOf(async () => {
      expect(
        await inTime(
          b.clock,
          b.run(() => ++runs),
        ),
      ).toMatchObject({ value: 1, saved: true });
    });
    expect(events).not.toContain('save-failed');
    await b.clock.advance(20_000);
    expect(await b.run(() => ++runs)).toMatchObject({ value: 1, replayed: true });
  });

  it('no save gets through until the lease ends: the value, saved: false, event save-failed; never a failure', async () => {
    const b = bench({ leaseMs: 1_000 });
    b.plan.replace = () => 'unavailable';
    b.plan.read = () => 'unavailable';
    const events = await eventsOf(async () => {
      expect(
        await inTime(
          b.clock,
          b.run(() => 'charged'),
        ),
      ).toMatchObject({ kind: 'completed', value: 'charged', saved: false });
    });
    expect(events).toContain('save-failed');
    const c = bench({ leaseMs: 1_000, onSaveFailed: 'throw' });
    c.plan.replace = () => 'unavailable';
    await expect(
      inTime(
        c.clock,
        c.run(() => 'charged'),
      ),
    ).rejects.toMatchObject({ code: 'WRITE_UNKNOWN' });
  });

  it('the save failed, somebody took over and completed: the caller gets that outcome (I2)', async () => {
    const b = bench({ leaseMs: 1_000, renew: 'none' });
    const first = held<string>();
    const mine = b.run(first.work);
    await first.started;
    await b.clock.advance(1_100);
    expect(await b.run(() => 'two')).toMatchObject({ value: 'two', attempt: 2 });
    b.plan.replace = () => 'unavailable';
    first.end('one');
    expect(await inTime(b.clock, mine)).toMatchObject({ value: 'two', replayed: true });
  });

  it.each<StoreFault>(['lost-answer', 'hang-applied', { landsAfterMs: 100 }])(
    'own pen: the completion meets %j while a renewal and a step of the same owner are pending: nothing is written over it',
    async (fault) => {
      const b = bench({ leaseMs: 3_000 });
      const step = held<string>();
      let late: Promise<unknown> = Promise.resolve();
      b.plan.replace = (_, call) => (call.record?.state === 'completed' ? fault : undefined);
      const result = await inTime(
        b.clock,
        b.run(async (run) => {
          late = run.step('late', step.work).catch((error) => error);
          await b.clock.advance(990);
          return 'value';
        }),
      );
      step.end('too late');
      await b.clock.advance(10_000);
      expect(result).toMatchObject({ value: 'value', saved: true });
      expect(await late).toMatchObject({ code: 'LEASE_LOST' });
      expect(await b.run(() => 'again')).toMatchObject({ value: 'value', replayed: true });
      const states = b.store.calls.filter((call) => call.operation === 'replace').map((call) => call.record?.state);
      expect(states.lastIndexOf('running')).toBeLessThan(states.indexOf('completed'));
    },
  );

  it('a late copy of a renewal, landing after the completion, changes nothing', async () => {
    const b = bench({ leaseMs: 3_000 });
    b.plan.replace = (_, call) => (call.record?.state === 'running' ? { landsAfterMs: 2_500 } : undefined);
    const result = await inTime(
      b.clock,
      b.run(async () => {
        await b.clock.advance(1_500);
        return 1;
      }),
    );
    expect(result).toMatchObject({ value: 1, saved: true });
    await b.clock.advance(10_000);
    expect(await b.run(() => 2)).toMatchObject({ value: 1, replayed: true });
  });

  it('the row vanished: completion makes it anew and says so', async () => {
    const b = bench();
    const events = await eventsOf(async () => {
      await b.run(async () => {
        for await (const one of b.store.list({})) await b.store.delete(one.id, one.version);
        return 1;
      });
    });
    expect(events).toEqual(['claimed', 'record-vanished', 'completed']);
    expect(await b.run(() => 2)).toMatchObject({ value: 1, replayed: true });
  });

  it('the row vanished: a renewal, a step or a release never makes it anew', async () => {
    const b = bench({ leaseMs: 3_000 });
    const vanish = async (): Promise<void> => {
      for await (const one of b.store.list({})) await b.store.delete(one.id, one.version);
    };
    await expect(
      inTime(
        b.clock,
        b.run(async (run) => {
          await vanish();
          await run.step('s', () => 1);
        }),
      ),
    ).rejects.toMatchObject({ code: 'LEASE_LOST' });
    await expect(
      inTime(
        b.clock,
        b.run(async () => {
          await vanish();
          throw new Error('mine');
        }),
      ),
    ).rejects.toThrow('mine');
    await inTime(
      b.clock,
      b
        .run(async () => {
          await vanish();
          await b.clock.advance(2_000);
          throw new Error('mine');
        })
        .catch(() => {}),
    );
    const left = [];
    for await (const one of b.store.list({})) left.push(one);
    expect(left).toEqual([]);
  });
});
