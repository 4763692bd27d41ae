/**
 * What the history of all processes says about a lease: how often it was held, and what of it is wrong.
 *
 * @module
 */
import { callsOf, only } from '../history/calls.ts';
import { type Event, of } from '../history/format.ts';
import { type HolderRules, holdersOf, staleOf } from '../history/holders.ts';
import { judgePromises } from '../history/promises.ts';
import { Strikes } from '../history/strikes.ts';
import { textOf } from '../history/violation.ts';

export interface Verdict {
  readonly acquisitions: number;
  /** While it held the lease. */
  readonly killsOfHolders: number;
  readonly stops: number;
  /** Fenced writes and claims by holders whom a later one had followed. */
  readonly staleTried: number;
  readonly staleLanded: number;
  /** Every promise that was broken. */
  readonly wrong: readonly string[];
}

export function judge(events: readonly Event[], rules: HolderRules): Verdict {
  const calls = callsOf(events);
  const holders = holdersOf(calls, new Strikes(events));
  const fenced = only(calls, 'fenced-read', 'fenced-write');
  const staleLanded = staleOf(fenced).length;
  return {
    acquisitions: holders.length,
    killsOfHolders: holders.filter(({ died }) => died).length,
    stops: of(events, 'struck').filter(({ signal }) => signal === 'SIGSTOP').length,
    staleTried: staleLanded + fenced.filter((call) => call.end === 'fail' && call.code === 'STALE_TOKEN').length,
    staleLanded,
    wrong: judgePromises(events, rules).map(textOf),
  };
}
