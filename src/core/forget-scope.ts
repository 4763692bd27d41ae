/**
 * Erasure: everything that is kept on behalf of somebody.
 *
 * @module
 */
import { type Key, scopeHash, scopeParts } from './key.ts';
import { anything, checkOptions, has, isBoolean, isFunction, isInteger, isName, isSignal } from './options.ts';
import { eraseById, type PersonOptions, WORD_RULES } from './person.ts';
import type { Listed, RecordStore } from './ports.ts';
import type { RecordId, StoredRecord } from './record.ts';

export interface ForgetScopeOptions extends Pick<PersonOptions, 'by' | 'why'> {
  readonly store: RecordStore;
  /** As the wrappers were given it. */
  readonly scope: Key;
  /** Default: all of them. */
  readonly operation?: string;
  /** Also what is still running: its owner is fenced, but its work may go on. Default false. */
  readonly force?: boolean;
  /** The most to forget in one call. Default: no limit. */
  readonly limit?: number;
  /** Time left to the invocation, ms: nothing new is begun in the last second. */
  readonly remainingMs?: () => number;
  readonly signal?: AbortSignal;
}

export interface ForgottenScope {
  /** Records that were written over. Those that hold nothing any more are left alone and not counted. */
  readonly forgotten: number;
  /** Still running, and left alone: their outcome is kept when they end. Call again then, or use `force`. */
  readonly running: number;
  /** What writing has thrown; the others were forgotten all the same. */
  readonly failures: readonly { readonly id: RecordId; readonly error: unknown }[];
  /** There was more than the limit, the time or the signal allowed: call again. */
  readonly more: boolean;
}

const RULES = {
  ...WORD_RULES,
  store: has('list', 'read', 'replace'),
  scope: anything,
  operation: isName(128),
  force: isBoolean,
  limit: isInteger(1),
  remainingMs: isFunction,
  signal: isSignal,
};
/** Enough to keep a store busy, far below what a partition or a connection pool takes. */
const AT_ONCE = 16;
const LAST_MS = 1_000;

/**
 * Forgets every run of a scope, as `forgetRun` does each: outcome, steps, label, fingerprint, holder and notes go, and a tombstone that holds none of it
 * stays for an hour, so that whoever still owns the run is fenced. Reads through the whole table page by page (of one `operation` where that is given),
 * writes at most 16 records at a time, and can be ended and called again at any moment: what is forgotten already costs no write. Runs that begin
 * meanwhile may be missed: call it when the scope is no longer served. Outcomes that lie in parts beside their records (DynamoDB, Table Storage) cannot be
 * reached from then on, and are removed by `store.purge({})` an hour later.
 *
 * @throws RerunSafeError `INVALID_OPTIONS`, `MISSING_SCOPE` (an empty one: what was kept without a scope is nobody's); `STORE_UNAVAILABLE`, … when the
 * records cannot be listed.
 * @example
 * const { running, more } = await forgetScope({ store, scope: tenantId, by: 'privacy desk', why: 'request 4711' });
 */
export async function forgetScope(options: ForgetScopeOptions): Promise<ForgottenScope> {
  checkOptions('forgetScope', options, RULES, ['store', 'scope']);
  const { store, operation, limit = Number.POSITIVE_INFINITY, remainingMs, signal } = options;
  const scope = scopeHash(scopeParts(options.scope, 'forgetScope'));
  const counts = { forgotten: 0, running: 0 };
  const failures: { id: RecordId; error: unknown }[] = [];
  let due: Listed[] = [];

  const erase = async (listed: Listed): Promise<void> => {
    try {
      const { kind } = await eraseById(listed.store ?? store, listed.id, options, listed);
      if (kind === 'written') counts.forgotten += 1;
      if (kind === 'running') counts.running += 1;
    } catch (error) {
      failures.push({ id: listed.id, error });
    }
  };
  const flush = async (): Promise<void> => {
    const now = due;
    due = [];
    await Promise.all(now.map(erase));
  };
  const mayGoOn = (): boolean =>
    counts.forgotten + due.length < limit && (remainingMs === undefined || remainingMs() >= LAST_MS) && signal?.aborted !== true;

  let more = false;
  for await (const listed of store.list({ scope, ...(operation === undefined ? {} : { operation }) })) {
    // A store may know nothing of scopes.
    if (listed.record.scope !== scope || holdsNothing(listed.record)) continue;
    more = !mayGoOn();
    if (more) break;
    due.push(listed);
    if (due.length === AT_ONCE) await flush();
  }
  await flush();
  return { ...counts, failures, more };
}

const holdsNothing = ({ state, label, fingerprint, outcome, steps, holder, note, blockedWhy, beyond }: StoredRecord): boolean =>
  state === 'released' && (label ?? fingerprint ?? outcome ?? steps ?? holder ?? note ?? blockedWhy ?? beyond) === undefined;
