/**
 * A record as programs get to see it: the names are a promise, whatever a store calls its columns. Owner nonces stay out: with one, anybody could write
 * as the holder.
 *
 * @module
 */
import type { Stored } from '../../core/ports.ts';
import type { RecordId } from '../../core/record.ts';
import { leaseLeftMs } from './standing.ts';
import { endOf, isoOf } from './when.ts';

export interface RecordFacts {
  readonly id: RecordId;
  readonly operation: string;
  readonly key: string | null;
  readonly attempt: number;
  readonly token: number;
  readonly createdAt: string | null;
  readonly writtenAt: string | null;
  readonly ageMs: number;
  readonly leaseMs: number;
  /** null where nobody runs it. */
  readonly leaseLeftMs: number | null;
  /** null: for ever. */
  readonly rememberedUntil: string | null;
  readonly holder: string | null;
  readonly note: string | null;
  readonly blockedWhy: string | null;
  readonly word: { readonly did: 'resolve' | 'forget'; readonly by: string | null; readonly why: string | null; readonly at: string | null } | null;
}

export function recordFacts(id: RecordId, stored: Stored): RecordFacts {
  const { record, ageMs } = stored;
  const { word } = record;
  return {
    id,
    operation: record.operation,
    key: record.label ?? null,
    attempt: record.attempt,
    token: record.token,
    createdAt: isoOf(record.createdAtMs),
    writtenAt: isoOf(record.writtenAtMs),
    ageMs,
    leaseMs: record.leaseMs,
    leaseLeftMs: leaseLeftMs(stored) ?? null,
    rememberedUntil: isoOf(endOf(record.writtenAtMs, record.retentionMs)),
    holder: record.holder ?? null,
    note: record.note ?? null,
    blockedWhy: record.blockedWhy ?? null,
    word: word === undefined ? null : { did: word.did, by: word.by ?? null, why: word.why ?? null, at: isoOf(word.atMs) },
  };
}
