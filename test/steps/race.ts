/**
 * Several owners of the same keys, whose leases are short, and who stall until somebody else has taken over.
 *
 * @module
 */
import { expect, it } from 'vitest';
import { type RunOnceOptions, tryRunOnce } from '../../src/index.ts';
import { memoryHistory } from '../history/log.ts';
import { byLength } from '../support/long.ts';
import type { Case, Fresh } from '../support/promises-case.ts';
import { fiveSteps, lastEndOf } from './five-steps.ts';
import { judge } from './judge.ts';
import type { Plan } from './plan.ts';
import { anyMoment, randomOf } from './plans.ts';
import { lastEnds } from './witness.ts';

const OWNERS = 4;
const KEYS = byLength(4, 8, 16);
/** Of one key. Each costs a lease and the uncertainty of the clocks. */
const STALLS = byLength(2, 3, 10);
const STALL_SHARE = 0.3;
const LEASE_MS = 300;
const LONGEST_STALL_MS = 8_000;
/** What goes on at the far side between two calls. */
const PACE_MS = 20;

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

async function overtaken(c: Case, attempt: number): Promise<void> {
  for (const endsAtMs = performance.now() + LONGEST_STALL_MS; performance.now() < endsAtMs; await pause(30)) {
    const record = (await c.stands())?.record;
    if (record !== undefined && (record.attempt > attempt || record.state !== 'running')) return;
  }
}

export function racingOwners(name: string, fresh: Fresh): void {
  it.concurrent(
    `I1 I2 I4 ${OWNERS} owners for each of ${KEYS} keys, that stall and are overtaken: at most once is at most once, a step has one value, and all are told the same`,
    async () => {
      const seed = (Math.random() * 2 ** 31) | 0;
      const random = randomOf(seed);
      console.log(`${name}: ${KEYS} keys of ${OWNERS} owners each, seed ${seed}`);
      // In this process: all owners live as long as the test.
      const history = memoryHistory();
      let lost = 0;
      const raceFor = async (plan: Plan): Promise<void> => {
        const c = fresh();
        let stallsLeft = STALLS;
        const at = async (_step: string, _phase: string, attempt: number): Promise<void> => {
          await pause(random() * PACE_MS);
          if (stallsLeft === 0 || random() > STALL_SHARE) return;
          stallsLeft -= 1;
          await overtaken(c, attempt);
          await pause(random() * LEASE_MS);
        };
        const own = async (child: number): Promise<void> => {
          const options: RunOnceOptions<string[]> = {
            store: c.store,
            operation: 'test/race',
            key: c.key,
            leaseMs: LEASE_MS,
            renew: 'none',
            maxAttempts: 10_000,
            onInFlight: { waitMs: 60_000 },
          };
          await lastEndOf(
            { plan, child, history },
            () => tryRunOnce(options, fiveSteps({ plan, child, history, at })),
            () => {
              lost += 1;
            },
          );
        };
        await Promise.all(Array.from({ length: OWNERS }, (_, n) => own(n + 1)));
      };
      const plans = anyMoment(0, KEYS);
      await Promise.all(plans.map(raceFor));
      const events = history.events();
      expect(judge(plans, events).join('\n'), `seed ${seed}`).toBe('');
      expect(plans.flatMap(({ run }) => lastEnds(events, run))).toHaveLength(KEYS * OWNERS);
      // Without a single owner that was overtaken it would have shown nothing.
      expect(lost).toBeGreaterThan(0);
    },
    byLength(60_000, 90_000, 600_000),
  );
}
