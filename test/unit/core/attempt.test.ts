import { describe, expect, it } from 'vitest';
import { storeMisconfigured } from '../../../src/core/errors.ts';
import type { RunEvent } from '../../../src/core/events.ts';
import { PermanentError } from '../../../src/index.ts';
import { ended, fails, operations, written } from './claims.ts';
import { bench, eventsOf, held, inTime } from './engine.ts';
import { runEvents } from './run-events.ts';

/** When each call of an operation reached the store, ms from now on. */
function timesOf(b: ReturnType<typeof bench>, operation: string): number[] {
  const startMs = b.clock.nowMs();
  const times: number[] = [];
  b.plan.before = (of) => {
    if (of === operation) times.push(b.clock.nowMs() - startMs);
  };
  return times;
}
/** A pause before a second try: 50 ms, give or take a quarter. */
const about = (ms: number) => expect.toSatisfy((time: number) => time >= ms + 37 && time <= ms + 63, `${ms} ms and a short pause`);
const failureOf = (events: readonly RunEvent[]) => events.find(({ event }) => event === 'save-failed')?.error;

describe('how long a write of an owner may take', () => {
  it.each([
    [8_000, undefined, 2_000],
    [1_000, undefined, 500],
    [8_000, 1_500, 1_500],
  ])('I10 a step, with a lease of %d ms and %s ms of the invocation left: tried again after %d ms', async (leaseMs, leftMs, limitMs) => {
    const b = bench({ leaseMs, renew: 'none' });
    b.plan.replace = { 1: 'hang' };
    const times = timesOf(b, 'replace');
    const remainingMs = leftMs === undefined ? {} : { remainingMs: () => leftMs };
    await inTime(
      b.clock,
      b.run((run) => run.step('s', () => 1), remainingMs),
      600_000,
      1,
    );
    expect(times).toEqual([0, about(limitMs), expect.any(Number)]);
  });

  it.each([
    [8_000, 1_980],
    [1_000, 500],
  ])('I10 a save, with a lease of %d ms: tried again after %d ms', async (leaseMs, limitMs) => {
    const b = bench({ leaseMs, renew: 'none' });
    b.plan.replace = { 1: 'hang' };
    const times = timesOf(b, 'replace');
    expect(
      await inTime(
        b.clock,
        b.run(() => 1),
        600_000,
        1,
      ),
    ).toMatchObject({ value: 1, saved: true });
    expect(times).toEqual([0, about(limitMs)]);
  });

  it('I3 I10 a save after the lease is over: it has 5 s, then it is looked for', async () => {
    const b = bench({ leaseMs: 1_000, renew: 'none' });
    b.plan.replace = () => 'hang';
    const looks = timesOf(b, 'read');
    const result = inTime(
      b.clock,
      b.run(async () => {
        await b.clock.advance(2_000);
        return 1;
      }),
      600_000,
      1,
    );
    expect(await result).toMatchObject({ value: 1, saved: false });
    expect(looks).toEqual([7_000, 12_000]);
  });

  it.each([
    [60_000, [20_000, 35_000]],
    [1_200, [400, 750]],
  ])('I10 a renewal, with a lease of %d ms, that hangs is given up and tried again: at %j ms', async (leaseMs, expected) => {
    const b = bench({ leaseMs });
    b.plan.replace = { 1: 'hang' };
    const times = timesOf(b, 'replace');
    const work = held<number>();
    const running = b.run(work.work);
    await work.started;
    await b.clock.advance(leaseMs);
    expect(times.slice(0, 2)).toEqual(expected);
    // From then on every third of the lease again, counted from the answer.
    expect((times[2] as number) - (times[1] as number)).toBe(leaseMs / 3);
    work.end(1);
    expect(await inTime(b.clock, running)).toMatchObject({ value: 1, saved: true });
  });
});

describe("an owner's writes", () => {
  it('I6 each restarts the lease: it counts from when it was sent', async () => {
    const b = bench({ leaseMs: 1_000, renew: 'none' });
    await inTime(
      b.clock,
      b.run(async (run) => {
        await b.clock.advance(800);
        expect(run.remainingMs()).toBe(150);
        await run.step('s', () => 1);
        expect(run.remainingMs()).toBe(950);
      }),
    );
  });

  it.each([
    ['unavailable', 'STORE_UNAVAILABLE'],
    ['lost-request', 'WRITE_UNKNOWN'],
  ] as const)('I8 giving up meets %s: three tries, then it is said, and the caller gets what was thrown', async (fault, code) => {
    const b = bench({ leaseMs: 60_000 });
    b.plan.replace = () => fault;
    const { events, stop } = runEvents();
    expect(await ended(b, b.run(fails))).toMatchObject({ message: 'failed' });
    stop();
    expect(b.store.counts.replace).toBe(3);
    expect(failureOf(events)).toMatchObject({ code });
  });

  it.each(['unavailable', 'lost-request'] as const)('I8 a save met a lost request, then %s: that it is unknown is what is said', async (then) => {
    const b = bench({ leaseMs: 1_000 });
    b.plan.replace = (n) => (n === 1 ? 'lost-request' : then);
    b.plan.read = () => 'unavailable';
    const { events, stop } = runEvents();
    expect(
      await ended(
        b,
        b.run(() => 1),
      ),
    ).toMatchObject({ value: 1, saved: false });
    stop();
    expect(failureOf(events)).toMatchObject({ code: 'WRITE_UNKNOWN' });
  });

  it.each([
    ['that it is not set up', storeMisconfigured('no table.')],
    ['nothing that makes sense', new TypeError('bug')],
  ])('I8 a store that answers a save with %s is not asked again and again', async (_, failure) => {
    const b = bench({ leaseMs: 60_000 });
    b.plan.before = (operation) => {
      if (operation === 'replace') throw failure;
    };
    const { events, stop } = runEvents();
    expect(
      await ended(
        b,
        b.run(() => 1),
      ),
    ).toMatchObject({ value: 1, saved: false });
    stop();
    expect(failureOf(events)).toBe(failure);
    expect(operations(b)).toEqual(['create', 'replace', 'read', 'replace', 'read']);
  });

  it('I5 a row that is made anew has a token that follows the clock', async () => {
    const b = bench({ leaseMs: 60_000, renew: 'none' });
    const startMs = b.clock.nowMs();
    const events = await eventsOf(async () => {
      await inTime(
        b.clock,
        b.run(async (run) => {
          const standing = await b.store.read(run.fence?.id as never);
          await b.store.delete(run.fence?.id as never, standing?.version as never);
          await b.clock.advance(5_000);
          return 1;
        }),
      );
    });
    expect(events).toContain('record-vanished');
    expect(written(b).at(-1)).toMatchObject({ state: 'completed', token: startMs + 5_000 });
    expect(written(b)[0]).toMatchObject({ token: startMs });
  });

  it('I5 over a row that stands, the token stays', async () => {
    const b = bench({ leaseMs: 60_000, renew: 'none' });
    const events = await eventsOf(() =>
      inTime(
        b.clock,
        b.run(async () => {
          await b.clock.advance(5_000);
          return 1;
        }),
      ),
    );
    expect(events).not.toContain('record-vanished');
    expect(written(b).at(-1)?.token).toBe(written(b)[0]?.token);
  });

  it('I4 I5 blocking changes owner and token: what may still come is refused', async () => {
    const b = bench({ leaseMs: 60_000 });
    await ended(b, b.run(fails, { onThrow: () => ({ as: 'block', note: 'n' }) }));
    const [claim, blocked] = written(b);
    expect(blocked).toMatchObject({ state: 'blocked', blockedWhy: 'failed', note: 'n', token: (claim?.token as number) + 1 });
    expect(blocked?.owner).not.toBe(claim?.owner);
  });

  it('I4 a release that found its lease over writes nothing', async () => {
    const b = bench({ leaseMs: 1_000, renew: 'none' });
    await ended(
      b,
      b.run(async () => {
        await b.clock.advance(1_000);
        fails();
      }),
    );
    expect(operations(b)).toEqual(['create']);
  });

  it('I7 every write has a revision of its own', async () => {
    const b = bench({ leaseMs: 60_000 });
    b.plan.replace = { 1: 'lost-request', 2: 'lost-request' };
    await ended(
      b,
      b.run(() => Promise.reject(new PermanentError('no'))),
    );
    const revisions = written(b).map(({ revision }) => revision);
    expect(new Set(revisions).size).toBe(4);
  });
});
