/**
 * What callers get to see of a run, and how an outcome that was kept becomes that.
 *
 * @module
 */
import { decode } from './codec.ts';
import { PermanentError, RerunSafeError, recordTooNew } from './errors.ts';
import type { FormedGuard } from './guard.ts';
import { NOT_KEPT_BECAUSE } from './not-kept.ts';
import type { BlockedWhy, Encoded, Outcome, RecordId, Whole } from './record.ts';
import { opened } from './seal.ts';
import { atOnce, type ValueCodec } from './value-forms.ts';

export type RunResult<T> =
  /** `saved: false`: the work succeeded, but no save got through; see `save-failed`. */
  | {
      readonly kind: 'completed';
      readonly value: T;
      readonly replayed: boolean;
      readonly saved: boolean;
      readonly attempt: number;
      /** A person's word (`resolveRun`), not what the work returned. */
      readonly resolved?: true;
    }
  /** A remembered error. On the first run `error` is the very thing that was thrown. */
  | { readonly kind: 'failed'; readonly error: unknown; readonly replayed: boolean }
  | { readonly kind: 'in-flight'; readonly retryAfterMs: number }
  | { readonly kind: 'key-reused' }
  /** `why`: an earlier attempt ended with no outcome, or too many were made. See `resolveRun` and `forgetRun`. */
  | { readonly kind: 'blocked'; readonly id: RecordId; readonly why: BlockedWhy; readonly attempt: number };

export function replayOf<T>({ operation, seal, codec }: FormedGuard<T>, id: RecordId, stored: Whole, attempt: number): RunResult<T> {
  const outcome = opened(stored, seal, id);
  if (outcome.kind === 'value') {
    const mark = outcome.resolved ? { resolved: true as const } : {};
    return { kind: 'completed', value: decodedBy(operation, codec, outcome.value), replayed: true, saved: true, attempt, ...mark };
  }
  if (outcome.kind === 'error') {
    const { name, message, code, data } = outcome.error;
    const error = new PermanentError(message, { name, code, data: data === undefined ? undefined : decode(data) });
    return { kind: 'failed', error, replayed: true };
  }
  mustBeNotStored(outcome);
  const because = NOT_KEPT_BECAUSE[outcome.reason] ?? outcome.reason;
  throw new RerunSafeError(
    'RESULT_NOT_STORED',
    `${operation}: the work was done, but its value could not be kept (${because}). It is not run again.`,
    {
      facts: { operation, id, reason: outcome.reason },
    },
  );
}

/** What was sealed or compressed is seen only here, and may be of a later version. */
export function mustBeNotStored({ kind }: Extract<Outcome, { kind: 'not-stored' }>): void {
  if (kind !== 'not-stored') throw recordTooNew(`holds an outcome of a kind that this version does not know (${String(kind)})`, { kind });
}

function decodedBy<T>(operation: string, codec: ValueCodec<T> | undefined, kept: Encoded): T {
  const value = decode(kept);
  if (codec === undefined) return value as T;
  try {
    return atOnce(codec.decode(value), 'codec.decode');
  } catch (cause) {
    throw new RerunSafeError('RESULT_NOT_STORED', `${operation}: the work was done, but the codec cannot decode its value. It is not run again.`, {
      cause,
      facts: { operation, reason: 'codec' },
    });
  }
}

/** The first caller gets what the others will get; and is served in any case. */
export function withCodec<T>(codec: ValueCodec<T> | undefined, kept: Encoded, value: T): T {
  if (codec === undefined) return value;
  try {
    return atOnce(codec.decode(decode(kept)), 'codec.decode');
  } catch {
    return value;
  }
}
