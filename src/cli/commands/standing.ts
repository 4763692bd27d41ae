/**
 * What there is to say of a run, decided from its record alone.
 *
 * @module
 */
import type { Stored } from '../../core/ports.ts';
import { isExpired, isLapsed, type StoredRecord } from '../../core/record.ts';
import { EXIT, EXIT_FAILED, EXIT_UNKNOWN } from '../exit-codes.ts';
import type { KeptOutcome } from './kept-outcome.ts';

export type RunState =
  | 'done'
  /** `mayRun`: the next run tries again; else the failure is its outcome. */
  | 'failed'
  | 'running'
  /** Its lease is over, and there is no outcome: nobody knows how it ended. */
  | 'lapsed'
  | 'blocked'
  /** It has an outcome that cannot be read here. */
  | 'unreadable'
  /** Nothing was begun, or a person says that it was not done: the next run runs it. */
  | 'not-done'
  | 'forgotten'
  | 'expired'
  | 'none';

export const EXIT_OF: Readonly<Record<RunState, number>> = {
  done: EXIT.ok,
  failed: EXIT_FAILED,
  running: EXIT.busy,
  blocked: EXIT.blocked,
  // Not known to have succeeded: a script that goes on after a 0 must not go on after these.
  lapsed: EXIT_UNKNOWN,
  unreadable: EXIT_UNKNOWN,
  'not-done': EXIT_UNKNOWN,
  forgotten: EXIT_UNKNOWN,
  expired: EXIT_UNKNOWN,
  none: EXIT_UNKNOWN,
};

/** `outcome`: that of a completed record. */
export function stateOf(stored: Stored | undefined, uncertaintyMs: number, outcome: KeptOutcome | undefined): RunState {
  if (stored === undefined) return 'none';
  const { record, ageMs } = stored;
  if (isExpired(record, ageMs, uncertaintyMs)) return 'expired';
  switch (record.state) {
    case 'running':
      return isLapsed(record, ageMs, uncertaintyMs) ? 'lapsed' : 'running';
    case 'blocked':
      return 'blocked';
    case 'released':
      return releasedState(record);
    case 'completed':
      return completedState(outcome);
  }
}

/** A person's word, and what had begun nothing, count no attempt. */
function releasedState({ attempt, word }: StoredRecord): RunState {
  if (attempt > 0) return 'failed';
  return word?.did === 'forget' ? 'forgotten' : 'not-done';
}

function completedState(outcome: KeptOutcome | undefined): RunState {
  if (outcome === undefined || outcome.kind === 'value' || outcome.kind === 'not-stored') return 'done';
  if (outcome.kind === 'error') return 'failed';
  // What it is worth is known where a person has said so.
  return outcome.isResolved ? 'done' : 'unreadable';
}

/** What is left of the lease, ms; undefined where there is none. */
export const leaseLeftMs = ({ record, ageMs }: Stored): number | undefined =>
  record.state === 'running' ? Math.max(0, record.leaseMs - ageMs) : undefined;
