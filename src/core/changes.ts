/**
 * What an owner's own moves make of the record that stands there: the own change, and nothing else.
 *
 * @module
 */
import type { Outcome, RecordToWrite, StoredStep } from './record.ts';
import type { StepChanges } from './step-writes.ts';

/** As if it had never been, but for the token. An earlier attempt, or a step, may have done something: then it stays what it was. */
export function withdrawn(standing: RecordToWrite): RecordToWrite {
  if (standing.attempt > 1 || standing.steps !== undefined) return standing;
  const { fingerprint: _, ...rest } = standing;
  return { ...rest, attempt: 0 };
}

export const released = (standing: RecordToWrite, retentionMs: number): RecordToWrite => ({ ...standing, state: 'released', retentionMs });

export function withSteps(standing: RecordToWrite, changes: StepChanges): RecordToWrite {
  const steps = new Map<string, StoredStep | undefined>([...Object.entries(standing.steps ?? {}), ...changes]);
  // As entries, so that a step may be named as the language names things: __proto__.
  const kept = [...steps].filter((entry): entry is [string, StoredStep] => entry[1] !== undefined);
  return { ...standing, steps: Object.fromEntries(kept) };
}

export function completed(standing: RecordToWrite, outcome: Outcome, retentionMs: number): RecordToWrite {
  const { steps: _, ...rest } = standing;
  return { ...rest, state: 'completed', outcome, retentionMs };
}
