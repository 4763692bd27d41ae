/**
 * Victims and their successors whose wall clocks are hours off, or run a tenth too fast or too slow, on every store.
 *
 * @module
 */
import type { Violation } from '../history/violation.ts';

import type { Place } from './place.ts';
import { type Plan, type Shown, strikeEverywhere } from './scene.ts';

export const CLOCKS = ['+5h', '-5h', '+0 x1.1', '+0 x0.9'] as const;

export interface ClockPlan {
  readonly store: string;
  readonly place: Place;
  readonly victim: string;
  /** A first request has told what time it is there. */
  readonly warm: boolean;
  readonly core?: boolean;
  readonly life?: string;
}

/**
 * Whether a lease lasts as long as it says where a clock is hours off. On PostgreSQL, Redis and Table Storage the server tells the time. DynamoDB tells it
 * with each answer, but not before the first. A SQLite file has the clock of its host, and one host has one clock: these processes are on several, as it were.
 */
const keepsTime = ({ store, warm }: Pick<ClockPlan, 'store' | 'warm'>): boolean => (store === 'dynamodb' ? warm : store !== 'sqlite');

const TIMELY: ReadonlySet<Violation['promise']> = new Set(['I6', 'I10']);

/** `late`: of those promises that hold only as far as clocks are right. */
export interface ClockShown extends Shown {
  readonly violations: readonly Violation[];
  readonly late: readonly Violation[];
}

export async function withWrongClocks({ store, place, victim, warm, core = true, life }: ClockPlan): Promise<ClockShown> {
  const others = CLOCKS.filter((clock) => clock !== victim);
  const plan: Plan = {
    ...{ store, place, strike: 'SIGKILL', times: 1, together: 60, leaseMs: 4_000, core },
    patient: keepsTime({ store, warm }),
    clocks: { victim, others: others.slice(0, 2), warm },
    ...(life === undefined ? {} : { life }),
  };
  const shown = await strikeEverywhere(plan);
  const all = shown.rows.flatMap(({ violations }) => violations);
  const isLate = ({ promise }: Violation): boolean => TIMELY.has(promise) && !keepsTime({ store, warm });
  return { ...shown, violations: all.filter((one) => !isLate(one)), late: all.filter(isLate) };
}
