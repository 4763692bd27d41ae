/**
 * What has to have happened in a batch: a simulation that no longer reaches a state proves nothing about it.
 *
 * @module
 */
import { PURPOSES, type Purpose, READ_FAULTS, WRITE_FAULTS } from './faults.ts';
import { faultAt } from './tally.ts';

const faultsAt = (purposes: readonly Purpose[]): string[] =>
  purposes.flatMap((purpose) => (purpose === 'look' ? READ_FAULTS : WRITE_FAULTS).map((fault) => faultAt(fault, purpose)));

const HAPPENINGS = [
  ...['mode right', 'mode wrong-clocks', 'mode loses-writes', 'crashed', 'frozen', 'stalled', 'stepped', 'restarted', 'lost its last writes'],
  ...['met a store that was down', 'lost an answer to a restart', 'writes were lost', 'reordered', 'cancelled'],
  ...['takeover', 'renewed', 'claim over released', 'WRITE_UNKNOWN', 'STORE_UNAVAILABLE', 'fenced write', 'fenced write answered', 'STALE_TOKEN'],
];

export const EXPECTED = {
  records: [
    ...HAPPENINGS,
    ...faultsAt(PURPOSES),
    ...['adopted', 'asked', 'blocked', 'claim over completed', 'committed', 'completed', 'declared unknown', 'failed', 'in-flight', 'interrupted'],
    ...['LEASE_LOST', 'own completed', 'own released', 'record blocked', 'replayed', 'RESULT_NOT_STORED', 'saved: false', 'step kept', 'threw'],
    ...['a step marked', 'vanished', 'swept lapsed', 'swept blocked', 'settled by a sweep', 'a word in doubt'],
    ...["a person's resolve over blocked", "a person's resolve over running", "a person's resolve over completed"],
    ...["a person's forget over completed", "a person's forget over running", "a person's forget over blocked"],
    ...['written', 'changed', 'absent', 'running', 'not-needed', 'refused'].map((answer) => `a person was told ${answer}`),
  ],
  leases: [
    ...HAPPENINGS,
    ...faultsAt(['claim', 'takeover', 'renewal', 'release', 'look', 'fenced']),
    ...['acquired', 'held', 'slot-done', 'slot-passed', 'broken', 'lost while held', 'renewed by hand', 'told released', 'told lost', 'told unknown'],
  ],
} as const;

/** In a batch of so many seeds each of them at least so often; fewer seeds say nothing. */
export function leastOf(seeds: number): number {
  if (seeds >= 50_000) return 10;
  return seeds >= 10_000 ? 1 : 0;
}
