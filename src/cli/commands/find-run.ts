/**
 * What a command is asked about, and the record of it.
 *
 * @module
 */
import { isRerunSafeError } from '../../core/errors.ts';
import { keyParts, recordId, scopeParts } from '../../core/key.ts';
import type { RecordStore, Stored } from '../../core/ports.ts';
import type { RecordId } from '../../core/record.ts';
import { LEASE_OPERATION } from '../../core/store-leases.ts';
import { DEFAULT_OPERATION } from '../operation.ts';
import type { OpenPlace } from '../places/open.ts';
import { UsageError } from '../usage-error.ts';
import { harmless } from './harmless.ts';

export type RunAddress =
  | { readonly kind: 'run'; readonly operation: string; readonly scope?: string; readonly key: string }
  | { readonly kind: 'id'; readonly id: string };
export type Address = RunAddress | { readonly kind: 'lease'; readonly name: string };

export interface FoundRun {
  readonly store: RecordStore;
  readonly id: RecordId;
  readonly stored: Stored | undefined;
  /** As people call it, harmless. */
  readonly name: string;
}

/** @throws UsageError for a place that has leases only. */
export function recordsOf(place: Pick<OpenPlace, 'store' | 'shown'>): RecordStore {
  if (place.store !== undefined) return place.store;
  throw new UsageError(`${place.shown} keeps leases only, no records of runs: ask about a lease (--lock NAME), or name a store that has records`);
}

/**
 * Reads it, and writes nothing.
 *
 * @throws UsageError for what can be no key or id, and for the row of a lease, which is no run: its token would be lost with it.
 */
export async function findRun(place: OpenPlace, what: RunAddress): Promise<FoundRun> {
  const store = recordsOf(place);
  const id = idOf(what);
  const stored = await store.read(id);
  if (stored?.record.operation === LEASE_OPERATION) {
    throw new UsageError(`${id} is the row of the lease ${JSON.stringify(harmless(stored.record.label ?? ''))}: ask about it with --lock`);
  }
  return { store, id, stored, name: nameOf(what, stored) };
}

const RECORD_ID = /^r1_[\w-]{43}$/;

function idOf(what: RunAddress): RecordId {
  if (what.kind === 'id') {
    if (RECORD_ID.test(what.id)) return what.id;
    throw new UsageError(`${harmless(what.id)} is no id of a record: those are r1_ and 43 letters, digits, - or _`);
  }
  try {
    return recordId(what.operation, scopeParts(what.scope, what.operation), keyParts(what.key, what.operation));
  } catch (error) {
    throw isRerunSafeError(error) ? new UsageError(error.message) : error;
  }
}

function nameOf(what: RunAddress, stored: Stored | undefined): string {
  const operation = what.kind === 'run' ? what.operation : (stored?.record.operation ?? DEFAULT_OPERATION);
  const key = what.kind === 'run' ? what.key : stored?.record.label;
  const shown = key === undefined ? (what as { id: string }).id : JSON.stringify(harmless(key));
  return operation === DEFAULT_OPERATION ? shown : `${harmless(operation)} ${shown}`;
}
