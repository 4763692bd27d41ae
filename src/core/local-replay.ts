/**
 * Outcomes that this process has seen, so that a replay of them costs no request. What the store would say in the meantime is not asked: an outcome
 * never changes by itself, but a person may forget it.
 *
 * @module
 */
import type { CallFacts } from './claim.ts';
import { isInteger } from './options.ts';
import type { RecordStore } from './ports.ts';
import type { RecordId, Whole } from './record.ts';
import { elapsedMs, type Instant, instant } from './system.ts';

export interface LocalReplay {
  /** The most outcomes to keep in memory, for all operations of a store; the one that was asked for longest ago goes first. */
  readonly maxEntries: number;
  /** How long to answer without asking the store, ms: after `forgetRun` in another process, replays go on for so long here. Default 300,000 (5 min). */
  readonly maxAgeMs?: number;
}

export const LOCAL_REPLAY_RULES = { maxEntries: isInteger(1, 1_000_000), maxAgeMs: isInteger(1) };
const DEFAULT_MAX_AGE_MS = 300_000;

interface Entry {
  readonly outcome: Whole;
  readonly attempt: number;
  readonly fingerprint: string | undefined;
  readonly keptAt: Instant;
  readonly forMs: number;
}

/** By store object; what is spread from one is another. */
const kept = new WeakMap<RecordStore, Map<RecordId, Entry>>();

/** How often something was forgotten, by store; and what that was when a call began. */
const forgotten = new WeakMap<RecordStore, number>();
const begunAfter = new WeakMap<CallFacts, number>();
const timesForgotten = (store: RecordStore): number => forgotten.get(store) ?? 0;

/**
 * `forMs`: what is left of its retention. Nothing where something was forgotten since the call began (`recallLocally`): it may have seen what stood
 * before. Of any run of the store, not of this one only: to know which would take memory without end, and it costs one request later.
 */
export function keepLocally(facts: CallFacts, outcome: Whole, attempt: number, forMs: number): void {
  const { guard, id, fingerprint, system } = facts;
  if (guard.localReplay === undefined) return;
  if (begunAfter.get(facts) !== timesForgotten(guard.store)) return;
  const { maxEntries, maxAgeMs = DEFAULT_MAX_AGE_MS } = guard.localReplay;
  const entries = kept.get(guard.store) ?? new Map<RecordId, Entry>();
  kept.set(guard.store, entries);
  entries.delete(id);
  entries.set(id, { outcome, attempt, fingerprint, keptAt: instant(system.clock), forMs: Math.min(forMs, maxAgeMs) });
  for (const oldest of entries.keys()) {
    if (entries.size <= maxEntries) break;
    entries.delete(oldest);
  }
}

/** Asked before the store is. Nothing for a call that another fingerprint was given to (or none): that is for the store to judge. */
export function recallLocally(facts: CallFacts): Pick<Entry, 'outcome' | 'attempt'> | undefined {
  const { guard, id, fingerprint, system } = facts;
  if (guard.localReplay === undefined) return undefined;
  begunAfter.set(facts, timesForgotten(guard.store));
  const entries = kept.get(guard.store);
  const entry = entries?.get(id);
  if (entries === undefined || entry === undefined) return undefined;
  if (elapsedMs(entry.keptAt, system.clock) >= entry.forMs) {
    entries.delete(id);
    return undefined;
  }
  if (entry.fingerprint !== fingerprint) return undefined;
  entries.delete(id);
  entries.set(id, entry);
  return entry;
}

export function forgetLocally(store: RecordStore, id: RecordId): void {
  forgotten.set(store, timesForgotten(store) + 1);
  kept.get(store)?.delete(id);
}
