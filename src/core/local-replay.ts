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

/** `forMs`: what is left of its retention. */
export function keepLocally(facts: CallFacts, outcome: Whole, attempt: number, forMs: number): void {
  const { guard, id, fingerprint, system } = facts;
  if (guard.localReplay === undefined) return;
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

/** Nothing for a call that another fingerprint was given to (or none): that is for the store to judge. */
export function recallLocally({ guard, id, fingerprint, system }: CallFacts): Pick<Entry, 'outcome' | 'attempt'> | undefined {
  if (guard.localReplay === undefined) return undefined;
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
  kept.get(store)?.delete(id);
}
