import { describe, expect, it } from 'vitest';
import type { StoreFault } from '../../src/testing/index.ts';
import type { Promised } from './promises.ts';
import { gate, held, LONG_MS, SHORT_MS, until } from './promises-case.ts';

const FAULTS: readonly StoreFault[] = ['lost-answer', 'retried-lost-answer', 'lost-request', { landsAfterMs: 30 }];

export function doubtPromises({ fresh }: Promised): void {
  describe('doubt', () => {
    it.concurrent.each(FAULTS)('I7 the first claim meets %j: run once, by this caller, in one attempt', async (fault) => {
      const c = fresh();
      c.plan.create = { 1: fault };
      let runs = 0;
      expect(await c.run(() => ++runs)).toMatchObject({ kind: 'completed', value: 1, replayed: false, saved: true, attempt: 1 });
      expect(await c.run(() => ++runs)).toMatchObject({ value: 1, replayed: true });
      expect(runs).toBe(1);
    });

    it.concurrent.each(FAULTS)('I7 a claim over a released record meets %j: no false in-flight', async (fault) => {
      const c = fresh();
      await c.run(() => Promise.reject(new Error('no'))).catch(() => {});
      c.plan.replace = { [c.store.counts.replace + 1]: fault };
      expect(await c.run((run) => run.attempt)).toMatchObject({ kind: 'completed', value: 2 });
    });

    it.concurrent.each(FAULTS)('I7 a takeover meets %j: no false in-flight, and no second takeover', async (fault) => {
      const c = fresh();
      await c.seed({ leaseMs: 0 });
      c.plan.replace = { 1: fault };
      expect(await c.run((run) => run.attempt)).toMatchObject({ kind: 'completed', value: 2 });
    });

    it.concurrent.each(FAULTS)('I3 I7 the completion meets %j: saved, and replayed to all', async (fault) => {
      const c = fresh();
      c.plan.replace = { 1: fault };
      expect(await c.run(() => 'one')).toMatchObject({ value: 'one', saved: true, replayed: false });
      expect(await c.run(() => 'two')).toMatchObject({ value: 'one', replayed: true });
    });

    it.concurrent.each(FAULTS)('I7 a release meets %j: the next call runs at once', async (fault) => {
      const c = fresh();
      c.plan.replace = { 1: fault };
      await expect(c.run(() => Promise.reject(new Error('mine')))).rejects.toThrow('mine');
      expect(await c.run((run) => run.attempt)).toMatchObject({ kind: 'completed', value: 2 });
    });

    it.concurrent.each(FAULTS)('I7 a renewal meets %j: the lease goes on, and the result is saved', async (fault) => {
      const c = fresh({ leaseMs: 4_000 });
      c.plan.replace = { 1: fault };
      const result = await c.run(async (run) => {
        await until('it was renewed again', () => c.store.counts.replace > 1);
        return run.signal.aborted;
      });
      expect(result).toMatchObject({ value: false, saved: true, attempt: 1 });
    });

    it.concurrent.each(FAULTS)('I7 a step meets %j: done once, and kept for the next attempt', async (fault) => {
      const c = fresh();
      c.plan.replace = { 1: fault };
      let steps = 0;
      const failing = c.run(async (run) => {
        await run.step('one', () => ++steps);
        throw new Error('after the step');
      });
      await expect(failing).rejects.toThrow('after the step');
      // The step and the release: a conflict with one's own write is no reason to write again.
      if (fault === 'retried-lost-answer') expect(c.store.counts.replace).toBe(2);
      expect(await c.run((run) => run.step('one', () => ++steps))).toMatchObject({ value: 1 });
    });

    it.concurrent.each(FAULTS)('I7 I8 blocking meets %j: blocked', async (fault) => {
      const c = fresh({ onUnknown: 'block' });
      await c.seed({ leaseMs: 0 });
      c.plan.replace = { 1: fault };
      expect(await c.run(() => 'ran')).toMatchObject({ kind: 'blocked', why: 'unknown' });
      expect((await c.stands())?.record).toMatchObject({ state: 'blocked' });
    });

    it.concurrent('I8 no answer until the lease ends: WRITE_UNKNOWN, nothing runs, and the key is free again after the lease', async () => {
      const c = fresh({ leaseMs: SHORT_MS });
      c.plan.create = () => 'lost-answer';
      c.plan.read = () => 'unavailable';
      c.plan.replace = () => 'lost-request';
      let runs = 0;
      await expect(c.run(() => ++runs)).rejects.toMatchObject({ code: 'WRITE_UNKNOWN', retryable: true });
      expect(runs).toBe(0);
      for (const operation of ['create', 'read', 'replace'] as const) delete c.plan[operation];
      expect(await c.run(() => ++runs, { onInFlight: { waitMs: 20_000 } })).toMatchObject({ value: 1 });
    });

    it.concurrent('I10 a claim given up in doubt is released, so the next caller need not wait', async () => {
      const c = fresh({ leaseMs: SHORT_MS });
      c.plan.create = () => 'hang-applied';
      await expect(c.run(() => 1)).rejects.toMatchObject({ code: 'WRITE_UNKNOWN' });
      expect((await c.stands())?.record.state).toBe('released');
      delete c.plan.create;
      expect(await c.run(() => 2)).toMatchObject({ kind: 'completed', value: 2 });
    });

    it.concurrent('I3 no save gets through until the lease ends: the value, saved: false, never a failure', async () => {
      const c = fresh({ leaseMs: SHORT_MS });
      c.plan.replace = () => 'unavailable';
      c.plan.read = () => 'unavailable';
      expect(await c.run(() => 'charged')).toMatchObject({ kind: 'completed', value: 'charged', saved: false });
    });

    it.concurrent('I2 the save failed and somebody else completed: the caller gets that outcome', async () => {
      const c = fresh({ leaseMs: SHORT_MS, renew: 'none' });
      const one = held<string>();
      const first = c.run(one.work);
      await c.lapse();
      expect(await c.run(() => 'two', { leaseMs: LONG_MS })).toMatchObject({ value: 'two' });
      c.plan.replace = () => 'unavailable';
      one.end('one');
      expect(await first).toMatchObject({ value: 'two', replayed: true });
    });

    it.concurrent.each<StoreFault>(['lost-answer', 'retried-lost-answer', { landsAfterMs: 100 }])(
      'I3 own pen: the completion meets %j while a renewal and a step of the same owner are pending: nothing is written over it',
      async (fault) => {
        const c = fresh({ leaseMs: 3_000 });
        const renewing = gate();
        const step = held<string>();
        c.plan.replace = (_, call) => (call.record?.state === 'completed' ? fault : { delayMs: 150 });
        c.plan.before = (operation) => (operation === 'replace' ? renewing.open() : undefined);
        let late: Promise<unknown> = Promise.resolve();
        const result = await c.run(async (run) => {
          late = run.step('late', step.work).catch((error: unknown) => error);
          await renewing.opened;
          return 'value';
        });
        expect(result).toMatchObject({ value: 'value', saved: true });
        step.end('too late');
        expect(await late).toMatchObject({ code: 'LEASE_LOST' });
        await until('every write has been answered', () => c.store.calls.every((call) => call.answer !== undefined));
        expect((await c.stands())?.record.state).toBe('completed');
        expect(await c.run(() => 'again')).toMatchObject({ value: 'value', replayed: true });
      },
    );

    it.concurrent('I3 the row vanished: completion makes it anew', async () => {
      const c = fresh();
      const vanish = async (): Promise<string> => {
        await c.direct.delete(c.id, (await c.stands())?.version ?? '');
        return 'one';
      };
      expect(await c.run(vanish)).toMatchObject({ value: 'one', saved: true });
      expect(await c.run(() => 'two')).toMatchObject({ value: 'one', replayed: true });
    });

    it.concurrent('I4 the row vanished: a step or a release never makes it anew', async () => {
      const c = fresh();
      const vanish = async (): Promise<void> => void (await c.direct.delete(c.id, (await c.stands())?.version ?? ''));
      const step = c.run(async (run) => {
        await vanish();
        await run.step('s', () => 1);
      });
      await expect(step).rejects.toMatchObject({ code: 'LEASE_LOST' });
      expect(await c.stands()).toBeUndefined();
      const release = c.run(async () => {
        await vanish();
        throw new Error('mine');
      });
      await expect(release).rejects.toThrow('mine');
      expect(await c.stands()).toBeUndefined();
    });
  });
}
