/**
 * The outcome of a record, taken from wherever it lies and decoded, for people and programs to look at.
 *
 * @module
 */
import { decode } from '../../core/codec.ts';
import { isRerunSafeError } from '../../core/errors.ts';
import { NOT_KEPT_BECAUSE } from '../../core/not-kept.ts';
import { unpacked } from '../../core/pack.ts';
import { takeParts } from '../../core/parts.ts';
import type { RecordStore } from '../../core/ports.ts';
import type { Outcome, RecordId } from '../../core/record.ts';

export type KeptOutcome =
  | { readonly kind: 'value'; readonly value: unknown; readonly isResolved: boolean }
  | { readonly kind: 'error'; readonly name: string; readonly message: string; readonly code?: string | number; readonly data?: unknown }
  /** The work is done, its value could not be kept. */
  | { readonly kind: 'not-stored'; readonly because: string }
  /** Sealed by a key that only its program has, or damaged: whether it succeeded cannot be told. */
  | { readonly kind: 'unreadable'; readonly because: string; readonly isResolved: boolean };

/** @throws RerunSafeError `STORE_UNAVAILABLE` while parts of it are fetched. */
export async function keptOutcome(store: RecordStore, id: RecordId, outcome: Outcome): Promise<KeptOutcome> {
  const isResolved = 'resolved' in outcome && outcome.resolved === true;
  if (outcome.kind === 'sealed' || (outcome.kind === 'parts' && outcome.of === 'sealed')) {
    return { kind: 'unreadable', because: 'it is sealed by the key of the program that wrote it', isResolved };
  }
  try {
    const whole = unpacked(await takeParts(store, id, outcome, (request) => request({})));
    return decoded(whole, isResolved);
  } catch (error) {
    if (isRerunSafeError(error) && error.code !== 'STORE_MISCONFIGURED') throw error;
    return { kind: 'unreadable', because: error instanceof Error ? error.message : String(error), isResolved };
  }
}

function decoded(outcome: Exclude<Outcome, { kind: 'packed' | 'parts' }>, isResolved: boolean): KeptOutcome {
  switch (outcome.kind) {
    case 'value':
      return { kind: 'value', value: decode(outcome.value), isResolved };
    case 'error': {
      const { name, message, code, data } = outcome.error;
      return {
        kind: 'error',
        name: String(name),
        message: String(message),
        ...(code === undefined ? {} : { code }),
        ...(data === undefined ? {} : { data: decode(data) }),
      };
    }
    case 'not-stored':
      return { kind: 'not-stored', because: NOT_KEPT_BECAUSE[outcome.reason] ?? String(outcome.reason) };
    default:
      return { kind: 'unreadable', because: 'it is of a kind that this version does not know', isResolved };
  }
}
