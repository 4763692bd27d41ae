import { describe, expect, it } from 'vitest';
import type { Run } from '../../src/core/run.ts';
import { storeLeases, withLease } from '../../src/index.ts';
import type { StoreOperation } from '../../src/testing/index.ts';
import { type Bench, bench, inTime } from '../unit/core/engine.ts';

const TURNS = 80;

/** Once with the lease over at each of the turns after the n-th answer of `operation`: what was left of it when something started. */
async function leftAtStart(operation: StoreOperation, n: number, begin: (b: Bench, started: (leftMs: number) => void) => Promise<unknown>) {
  const left: { turns: number; ms: number }[] = [];
  for (let turns = 0; turns < TURNS; turns++) {
    const b = bench({ leaseMs: 1_000, renew: 'none' });
    b.plan.after = (asked, count) => {
      if (asked !== operation || count !== n) return;
      let more = turns;
      const later = (): void => (more-- > 0 ? queueMicrotask(later) : b.clock.freezeMonotonic(2_000));
      later();
    };
    await begin(b, (ms) => left.push({ turns, ms }));
  }
  return left;
}

const lapsed = async (b: Bench): Promise<void> => {
  b.run(() => new Promise<never>(() => {})).catch(() => {});
  await b.clock.advance(1_001);
};
const over = (b: Bench, call: Promise<unknown>): Promise<unknown> => inTime(b.clock, call).catch(() => {});

describe('nothing starts on a lease that was lost in the very moment in which it was confirmed', () => {
  it.each<[string, StoreOperation, number, Parameters<typeof leftAtStart>[2]]>([
    [
      'a step at most once, after its mark',
      'replace',
      1,
      (b, started) =>
        over(
          b,
          b.run((run: Run) => run.step('charge', () => started(run.remainingMs()), { mode: 'atMostOnce' })),
        ),
    ],
    [
      'a step, after the step before it',
      'replace',
      1,
      (b, started) =>
        over(
          b,
          b.run(async (run: Run) => {
            await run.step('reserve', () => 1);
            await run.step('charge', () => started(run.remainingMs()));
          }),
        ),
    ],
    [
      'the work, after its claim',
      'create',
      1,
      (b, started) =>
        over(
          b,
          b.run((run) => started(run.remainingMs())),
        ),
    ],
    [
      'the work, after a takeover',
      'replace',
      1,
      async (b, started) => {
        await lapsed(b);
        await over(
          b,
          b.run((run) => started(run.remainingMs())),
        );
      },
    ],
    [
      'onUnknown, after a takeover',
      'replace',
      1,
      async (b, started) => {
        await lapsed(b);
        const onUnknown = (run: Run): 'block' => {
          started(run.remainingMs());
          return 'block';
        };
        await over(
          b,
          b.run(() => 1, { onUnknown }),
        );
      },
    ],
    [
      'the work, after onUnknown',
      'replace',
      1,
      async (b, started) => {
        await lapsed(b);
        await over(
          b,
          b.run((run) => started(run.remainingMs()), { onUnknown: () => 'not-done' }),
        );
      },
    ],
  ])('I6 %s', async (_, operation, n, begin) => {
    const left = await leftAtStart(operation, n, begin);
    expect(left.length).toBeGreaterThan(0);
    expect(left.filter(({ ms }) => ms <= 0)).toEqual([]);
  });

  it('I6 the work of a named lease', async () => {
    const left = await leftAtStart('create', 1, (b, started) =>
      over(
        b,
        withLease(storeLeases(b.store), 'nightly', { leaseMs: 1_000, renew: 'none' }, (lease) => started(lease.remainingMs())),
      ),
    );
    expect(left.length).toBeGreaterThan(0);
    expect(left.filter(({ ms }) => ms <= 0)).toEqual([]);
  });
});
