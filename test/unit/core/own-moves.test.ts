import { describe, expect, it } from 'vitest';
import { writeUnknown } from '../../../src/core/errors.ts';
import { forgetRun, type Run } from '../../../src/index.ts';
import { answering, type Bench, ended, fails, operations } from './claims.ts';
import { bench, eventsOf, held, inTime } from './engine.ts';
import { runEvents } from './run-events.ts';

const forget = (b: Bench) => forgetRun({ store: b.store, operation: 'test/op', key: 'k', force: true });
const caught = (promise: Promise<unknown>): Promise<unknown> => promise.catch((error: unknown) => error);
const overtaken = expect.objectContaining({ code: 'LEASE_LOST', message: expect.stringContaining('somebody else took it over') });

describe('an owner that finds somebody else at its record', () => {
  it('I4 by a step: it is lost, and everything in the run is told so', async () => {
    const b = bench({ leaseMs: 60_000, renew: 'none' });
    let signal: AbortSignal | undefined;
    let refused: unknown;
    const events = await eventsOf(() =>
      ended(
        b,
        b.run(async (run) => {
          signal = run.signal;
          await forget(b);
          refused = await caught(run.step('s', () => 1));
          expect(run.remainingMs()).toBe(0);
        }),
      ),
    );
    expect(refused).toEqual(overtaken);
    expect(signal?.reason).toBe(refused);
    expect(events).toContain('lease-lost');
  });

  it('I4 by a renewal: it is lost there and then, not when the lease would have ended', async () => {
    const b = bench({ leaseMs: 60_000 });
    const work = held<number>();
    let signal: AbortSignal | undefined;
    const running = b.run((run) => {
      signal = run.signal;
      return work.work();
    });
    await work.started;
    await forget(b);
    await b.clock.advance(20_100);
    expect(signal?.reason).toEqual(overtaken);
    work.end(1);
    expect(await ended(b, running)).toMatchObject({ code: 'LEASE_LOST' });
  });
});

describe('a step that cannot be written', () => {
  const failing = async (fault: 'unavailable' | 'lost-request') => {
    const b = bench({ leaseMs: 1_000, renew: 'none' });
    const startMs = b.clock.nowMs();
    const sentMs: number[] = [];
    b.plan.before = (operation) => {
      if (operation === 'replace') sentMs.push(b.clock.nowMs() - startMs);
    };
    b.plan.replace = () => fault;
    let error: unknown;
    const running = b.run(async (run) => {
      error = await caught(run.step('s', () => 1));
      delete b.plan.replace;
      throw error;
    });
    await ended(b, running);
    return { sentMs, error };
  };

  it('I8 and did not happen: lost; after the lease nothing is sent', async () => {
    const { sentMs, error } = await failing('unavailable');
    expect(error).toMatchObject({ code: 'LEASE_LOST' });
    expect(sentMs.length).toBeGreaterThan(1);
    expect(Math.max(...sentMs)).toBeLessThan(950);
  });

  it('I8 and may have happened: unknown; after the lease nothing is sent', async () => {
    const { sentMs, error } = await failing('lost-request');
    expect(error).toMatchObject({ code: 'WRITE_UNKNOWN' });
    expect(Math.max(...sentMs)).toBeLessThan(950);
  });

  it('since the store refuses it for its size: it is done, its value is not kept, and later attempts are told', async () => {
    const b = answering(bench({ leaseMs: 60_000, renew: 'none' }), async (n) => (n === 1 ? { ok: false, reason: 'too-large' } : undefined));
    const { events, stop } = runEvents();
    await ended(
      b,
      b.run(async (run) => {
        expect(await run.step('s', () => 1)).toBe(1);
        fails();
      }),
    );
    stop();
    expect(events).toContainEqual(expect.objectContaining({ event: 'step-not-kept', step: 's', notKept: 'too-large' }));
    expect(
      await ended(
        b,
        b.run((run) => run.step('s', () => 2)),
      ),
    ).toMatchObject({ code: 'RESULT_NOT_STORED' });
  });

  it.each([
    [undefined, expect.stringMatching(/^The record r1_\S+ changed under each of 200 tries\.$/)],
    [writeUnknown('the first', undefined), writeUnknown('the first', undefined).message],
  ])('I10 since its record changes under each try: after 200 of them nobody knows (at first: %s)', async (first, message) => {
    let tries = 0;
    const b = answering(bench({ leaseMs: 60_000, renew: 'none' }), async (n, standing) => {
      tries = n;
      if (n === 1 && first !== undefined) throw first;
      if (standing === undefined) return undefined;
      return { ok: false, reason: 'conflict', current: { ...standing, record: { ...standing.record, revision: `other ${n}` } } };
    });
    let error: unknown;
    const running = b.run(async (run) => {
      error = await caught(run.step('s', () => 1));
      // Nothing else is to be written.
      return new Promise<never>(() => {});
    });
    running.catch(() => {});
    for (let n = 0; n < 100 && error === undefined; n++) await b.clock.advance(50);
    expect(tries).toBe(200);
    expect(error).toMatchObject({ code: 'WRITE_UNKNOWN', cause: { code: 'WRITE_UNKNOWN', message } });
  });
});

describe('an owner that has sent its last write', () => {
  it('I4 sends none for a step that ends meanwhile, which is told that its run has ended', async () => {
    const b = bench({ leaseMs: 60_000 });
    b.plan.replace = { 1: { delayMs: 100 } };
    const late = held<number>();
    let step: Promise<unknown> | undefined;
    const events = await eventsOf(async () => {
      const running = b.run((run) => {
        step = caught(run.step('late', late.work));
        return 'value';
      });
      await b.clock.advance(50);
      late.end(1);
      expect(await inTime(b.clock, running)).toMatchObject({ value: 'value', saved: true });
    });
    expect(await step).toMatchObject({ code: 'LEASE_LOST', message: expect.stringMatching(/"late" was still going on when its run ended/) });
    expect(events).toEqual(['claimed', 'completed']);
    expect(operations(b)).toEqual(['create', 'replace']);
  });

  it('I4 nor for a renewal that waited behind the write of a step', async () => {
    const b = bench({ leaseMs: 3_000 });
    b.plan.replace = { 1: { delayMs: 500 } };
    const running = b.run(async (run: Run<string>) => {
      await b.clock.advance(900);
      void run.step('s', () => 1);
      await b.clock.advance(200);
      return 'value';
    });
    expect(await inTime(b.clock, running)).toMatchObject({ value: 'value', saved: true });
    expect(b.store.calls.map(({ record }) => record?.state)).toEqual(['running', 'running', 'completed']);
  });
});

describe('giving up', () => {
  it.each(['release', 'block'] as const)('I12 an invocation at its end has time for one try (%s)', async (as) => {
    const b = bench({ leaseMs: 60_000, onThrow: () => as });
    b.plan.replace = () => 'unavailable';
    let leftMs = 10_000;
    const running = b.run(
      () => {
        leftMs = 0;
        fails();
      },
      { remainingMs: () => leftMs },
    );
    expect(await ended(b, running)).toMatchObject({ message: 'failed' });
    expect(operations(b)).toEqual(['create', 'replace']);
  });

  it('I10 a block that does not get through is tried again within the lease', async () => {
    const b = bench({ leaseMs: 60_000, onThrow: () => 'block' });
    b.plan.replace = (n) => (n < 6 ? 'unavailable' : undefined);
    expect(await ended(b, b.run(fails))).toMatchObject({ message: 'failed' });
    expect(await b.run(() => 'never')).toMatchObject({ kind: 'blocked', why: 'failed' });
  });
});
