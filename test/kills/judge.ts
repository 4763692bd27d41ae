/**
 * What the history of one life shows, against what is promised.
 *
 * @module
 */
import { callsOf, only } from '../history/calls.ts';
import { type Event, of } from '../history/format.ts';
import { judgePromises } from '../history/promises.ts';
import { type Delivery, judgeRegister } from '../history/register.ts';
import type { Violation } from '../history/violation.ts';
import { rowOf } from './live.ts';
import { atMostOnceOf, type Life } from './lives.ts';
import type { Place } from './place.ts';

/** On a machine that others use too. */
const PATIENCE_MS = 20_000;

export interface Terms {
  readonly life: Life;
  readonly key: string;
  readonly place: Place['kind'];
  /** Of a lease, and by how much the store gives more. */
  readonly leaseMs: number;
  readonly uncertaintyMs: number;
  /** How often what is committed with the outcome was written. */
  readonly committed?: number;
  /** Who came last, after everybody else had ended, and with another input. */
  readonly last: string;
  readonly other: string;
}

/** SQLite answers from this process; others may be asked twice by their SDK, or asked what stands there in a second request. */
const deliveryOf = (place: Place['kind']): Delivery =>
  place === 'sqlite' ? { sent: 'once', showsAtOnce: true } : { sent: 'again', showsAtOnce: false };

/** `all`: of this life. */
export function judgeLife(all: readonly Event[], terms: Terms): Violation[] {
  const { life, key, place, leaseMs, uncertaintyMs } = terms;
  const row = rowOf(life, key);
  const isCommit = life.kind === 'run' && life.commits === true;
  // A commit is no request of the store's port, so nobody sees it among those.
  const rowCalls = isCommit ? [] : callsOf(all.filter((event) => event.key === row)).filter(({ invoke }) => invoke.op !== 'run');
  const { violations, accepted } = judgeRegister(row, rowCalls, deliveryOf(place));
  const withinMs = leaseMs + uncertaintyMs + PATIENCE_MS;
  return [
    ...violations,
    ...judgePromises([...all, ...accepted], {
      atMostOnce: atMostOnceOf(life),
      ...(life.kind === 'run'
        ? { steps: life.steps.map(({ name }) => name) }
        : { lease: true, adds: place !== 'azure-blob', freeWithinMs: withinMs }),
    }),
    ...(life.kind === 'run' ? [...oncePerAttempt(all, row), ...endings(all, row, withinMs, terms, life.ends)] : freed(all, key)),
  ];
}

/** What is plain is done again only in another attempt. */
function oncePerAttempt(all: readonly Event[], key: string): Violation[] {
  const seen = new Map<string, Event>();
  return of(all, 'effect').flatMap((event): Violation[] => {
    const name = `${event.step} in attempt ${event.attempt}`;
    const before = seen.get(name);
    seen.set(name, event);
    return before === undefined ? [] : [{ promise: 'I6', key, says: `${name} was done twice`, shows: [before, event] }];
  });
}

function endings(all: readonly Event[], key: string, withinMs: number, terms: Terms, ends: readonly string[]): Violation[] {
  const violations: Violation[] = [];
  const wrong = (promise: Violation['promise'], says: string, shows: readonly Event[]): void => void violations.push({ promise, key, says, shows });
  const runs = only(callsOf(all), 'run');
  const struckMs = Math.max(0, ...of(all, 'struck').map(({ atMs }) => atMs));
  const last = runs.findLast(({ invoke }) => invoke.caller === terms.last);
  const end = last?.end === 'ok' ? (last.answer as { kind: string }).kind : last?.end === 'fail' && last.code === 'BLOCKED' ? 'blocked' : 'nothing';
  if (last === undefined || !ends.includes(end)) wrong('I10', `it came to ${end}, instead of ${ends.join(' or ')}`, last?.by ? [last.by] : []);
  for (const { invoke, startMs, by } of runs) {
    const tookMs = (by?.atMs ?? Number.POSITIVE_INFINITY) - startMs;
    if (startMs > struckMs && tookMs > withinMs) wrong('I10', `a call took ${Math.round(tookMs)} ms after the death of the one before`, [invoke]);
  }
  const other = runs.findLast(({ invoke }) => invoke.caller === terms.other);
  if (other !== undefined && !(other.end === 'fail' && other.code === 'KEY_REUSED'))
    wrong('I9', 'another input with the same key was not refused', other.by ? [other.by] : []);
  if (terms.committed !== undefined && terms.committed !== 1)
    wrong('I1', `what is committed with the outcome was written ${terms.committed} times`, []);
  return violations;
}

/** Somebody gets it in the end. */
function freed(all: readonly Event[], key: string): Violation[] {
  const acquired = only(callsOf(all), 'acquire').filter(({ end }) => end === 'ok');
  return acquired.some(({ invoke }) => invoke.caller !== 'victim') ? [] : [{ promise: 'I10', key, says: 'nobody got the lease any more', shows: [] }];
}
