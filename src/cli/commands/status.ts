/**
 * `status`: what is known of a run, or who holds a lease. It never writes.
 *
 * @module
 */
import { EXIT, EXIT_UNKNOWN } from '../exit-codes.ts';
import type { Ink, Screen } from '../output.ts';
import type { OpenPlace } from '../places/open.ts';
import { type Address, findRun } from './find-run.ts';
import { harmless } from './harmless.ts';
import { keptOutcome } from './kept-outcome.ts';
import { leaseFacts, leaseSentence, lookAtLease } from './lease-look.ts';
import { recordFacts } from './record-facts.ts';
import { nextCommand } from './say-again.ts';
import { sentence } from './sentences.ts';
import { EXIT_OF, type RunState, stateOf } from './standing.ts';

export interface StatusRequest {
  readonly place: OpenPlace;
  readonly what: Address;
  readonly out: Screen;
}

/**
 * Exit code: 0 done; 1 the last attempt failed; 75 running; 76 blocked; 3 anything else: nothing is kept, forgotten, expired, or nobody knows how it ended.
 * Of a lease: 75 taken, 3 free.
 *
 * @throws UsageError; RerunSafeError `STORE_UNAVAILABLE`, …
 */
export async function status({ place, what, out }: StatusRequest): Promise<number> {
  if (what.kind === 'lease') return leaseStatus(place, what.name, out);
  const { store, id, stored, name } = await findRun(place, what);
  const kept = stored?.record.outcome;
  const outcome = kept === undefined ? undefined : await keptOutcome(store, id, kept);
  const state = stateOf(stored, store.clock.uncertaintyMs, outcome);
  if (out.isJson) {
    out.json({ kind: 'run', state, ...(stored === undefined ? { id } : recordFacts(id, stored)) });
    return EXIT_OF[state];
  }
  out.print(`${name}: ${out.paint(INK[state], WORD[state])}, ${sentence({ state, stored, outcome })}`);
  if (state === 'blocked' || state === 'lapsed') {
    out.print(state === 'blocked' ? 'Find out what it did, and say so:' : 'Or say what became of it:');
    out.print(`  ${nextCommand('resolve', id, place, '--as done')}      # it is done, and does not run again`);
    out.print(`  ${nextCommand('resolve', id, place, '--as not-done')}  # it is not, and may run again`);
  }
  return EXIT_OF[state];
}

async function leaseStatus(place: OpenPlace, name: string, out: Screen): Promise<number> {
  const look = await lookAtLease(place, name);
  const isTaken = look.state === 'held' || look.state === 'minimum-hold';
  if (out.isJson) out.json({ kind: 'lease', ...leaseFacts(name, look) });
  else {
    const word = out.paint(isTaken ? 'yellow' : 'green', isTaken ? 'taken' : 'free');
    out.print(`lock ${JSON.stringify(harmless(name))}: ${word}, ${leaseSentence(look, place.store?.clock.nowMs() ?? Date.now())}`);
  }
  return isTaken ? EXIT.busy : EXIT_UNKNOWN;
}

export const WORD: Readonly<Record<RunState, string>> = {
  done: 'done',
  failed: 'failed',
  running: 'running',
  lapsed: 'lapsed',
  blocked: 'blocked',
  unreadable: 'ended',
  'not-done': 'not done',
  forgotten: 'forgotten',
  expired: 'expired',
  none: 'unknown',
};

export const INK: Readonly<Record<RunState, Ink>> = {
  done: 'green',
  failed: 'red',
  running: 'cyan',
  lapsed: 'yellow',
  blocked: 'red',
  unreadable: 'yellow',
  'not-done': 'dim',
  forgotten: 'dim',
  expired: 'dim',
  none: 'dim',
};
