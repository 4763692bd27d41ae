/**
 * Which plans are tried: every single point, and of the triples as many as there is time for.
 *
 * @module
 */
import { courseOf, PHASES, type Plan, type Point, type PointPlan, STEPS } from './plan.ts';

const POINTS: readonly Point[] = STEPS.flatMap((_, step) => PHASES.map((phase) => ({ step, phase })));

type Unnamed = Omit<PointPlan, 'run'>;

const isMet = (plan: Unnamed): boolean => courseOf(plan).meetsAll;

/** Killed once: at each point, with and without somebody to ask. */
const SINGLES: readonly Unnamed[] = [true, false].flatMap((asks) => POINTS.map((point) => ({ asks, kills: [point] })));

/** Three attempts deep: all that can be met. */
export const TRIPLES: readonly Unnamed[] = [true, false].flatMap((asks) =>
  POINTS.flatMap((p) => POINTS.flatMap((q) => POINTS.map((r) => ({ asks, kills: [p, q, r] })))).filter(isMet),
);

/** All singles, and `triples` of the triples, chosen by `seed`. */
export function plansOf(triples: number, seed: number): PointPlan[] {
  const chosen = triples >= TRIPLES.length ? TRIPLES : shuffled(TRIPLES, randomOf(seed)).slice(0, triples);
  return [...SINGLES, ...chosen].map((plan, n) => ({ ...plan, run: `run-${n}` }));
}

export const anyMoment = (round: number, count: number): Plan[] =>
  Array.from({ length: count }, (_, n) => ({ run: `any-${round}-${n}`, asks: n % 3 !== 2, kills: 'any moment' }));

/** Numbers in [0, 1), the same for the same seed (mulberry32). */
export function randomOf(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

function shuffled<V>(values: readonly V[], random: () => number): V[] {
  return values
    .map((value) => ({ value, at: random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ value }) => value);
}
