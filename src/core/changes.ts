/**
 * What an owner's own moves make of the record that stands there: the own change, and nothing else.
 *
 * @module
 */
import { type Outcome, type RecordToWrite, type StoredStep, toRow } from './record.ts';
import type { StepChanges } from './step-writes.ts';

/** A record that is full to the last byte could not be released, blocked or resolved: that takes a reason, and a person's words. */
const RESERVE_BYTES = 8_192;
/** That a step has begun, or that its value could not be kept, may use a part of it. */
const NOTES_RESERVE = 0.75;

/** As if it had never been, but for the token. An earlier attempt, or a step, may have done something: then it stays what it was. */
export function withdrawn(standing: RecordToWrite): RecordToWrite {
  if (standing.attempt > 1 || standing.steps !== undefined) return standing;
  const { fingerprint: _, ...rest } = standing;
  return { ...rest, attempt: 0 };
}

export const released = (standing: RecordToWrite, retentionMs: number): RecordToWrite => ({ ...standing, state: 'released', retentionMs });

export const noted = (standing: RecordToWrite, note: string | undefined): RecordToWrite => (note === undefined ? standing : { ...standing, note });

export function withSteps(standing: RecordToWrite, changes: StepChanges): RecordToWrite {
  const steps = new Map<string, StoredStep | undefined>([...Object.entries(standing.steps ?? {}), ...changes]);
  // As entries, so that a step may be named as the language names things: __proto__.
  const kept = [...steps].filter((entry): entry is [string, StoredStep] => entry[1] !== undefined);
  return { ...standing, steps: Object.fromEntries(kept) };
}

/** What only says that there is, or was, a step. */
export const isNote = (step: StoredStep): boolean => !('outcome' in step) || step.outcome.kind === 'not-stored';

/** Large ones, and many, are measured once, not again with each step beside them. A step has one name. */
const BYTES = new WeakMap<StoredStep, number>();

/** As it lies in the body, with the comma behind it. */
export function bytesOfStep(name: string, step: StoredStep): number {
  const bytes = BYTES.get(step) ?? Buffer.byteLength(`${JSON.stringify(name)}:${JSON.stringify(step)},`);
  BYTES.set(step, bytes);
  return bytes;
}

/** About what stores count. */
function bytesOf({ steps = {}, ...rest }: RecordToWrite): number {
  const columns = Object.entries(toRow({ ...rest, steps: {}, writtenAtMs: 0 }));
  const bytes = columns.reduce((sum, [name, value]) => sum + name.length + Buffer.byteLength(String(value)), 0);
  return Object.entries(steps).reduce((sum, [name, step]) => sum + bytesOfStep(name, step), bytes);
}

/** Whether these changes leave room in the record for what must always be possible. What makes it no larger is never refused. */
export function leaveRoom(standing: RecordToWrite, changes: StepChanges, { maxRecordBytes }: { readonly maxRecordBytes: number }): boolean {
  const before = bytesOf(standing);
  const after = bytesOf(withSteps(standing, changes));
  const reserve = Math.min(RESERVE_BYTES, maxRecordBytes / 8);
  const areNotes = [...changes.values()].every((step) => step === undefined || isNote(step));
  return after <= before || after <= maxRecordBytes - (areNotes ? reserve * NOTES_RESERVE : reserve);
}

export function completed(standing: RecordToWrite, outcome: Outcome, retentionMs: number): RecordToWrite {
  const over: RecordToWrite = { ...standing, state: 'completed', outcome, retentionMs };
  if (standing.steps === undefined) return over;
  const { steps: _, ...rest } = over;
  return rest;
}
