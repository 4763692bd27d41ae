/**
 * The newest of what a store keeps that is wanted.
 *
 * @module
 */
import type { Listed, ListQuery, RecordStore } from '../../core/ports.ts';
import { isExpired, isLapsed, type State } from '../../core/record.ts';
import { LEASE_OPERATION } from '../../core/store-leases.ts';
import { byAge, Newest, type Rank } from './newest.ts';

/** As they are kept; of those that run, the ones whose lease is over are `lapsed`. */
export type ListState = State | 'lapsed';

export interface Wanted {
  readonly operation?: string | undefined;
  readonly state?: ListState | undefined;
  /** What the key, as people know it, begins with. Of leases: the name. */
  readonly prefix?: string | undefined;
  /** Only what was written longer ago than this, ms. */
  readonly olderThanMs?: number | undefined;
  /** The leases, and only them. */
  readonly leases?: boolean | undefined;
  /** Only what comes after this one: the next page. */
  readonly after?: Rank | undefined;
}

/** Stores list in an order of their own, so the newest are known at the end only: in a large store, of so many. */
export const READ_MOST = 100_000;

export interface Found<T> {
  readonly items: readonly T[];
  readonly count: number;
  /** Not all were looked at. */
  readonly isCut: boolean;
  /** Of the last item. */
  readonly last: Rank | undefined;
}

/** What has expired is as good as absent. Of each that is kept, only what will be shown stays in memory: outcomes can be large. */
export async function newest<T>(store: RecordStore, wanted: Wanted, limit: number, light: (listed: Listed) => T): Promise<Found<T>> {
  const found = new Newest<T>(limit);
  let read = 0;
  for await (const listed of store.list(queryOf(store, wanted))) {
    read += 1;
    if (read > READ_MOST) break;
    if (isWanted(listed, wanted, store.clock.uncertaintyMs)) found.add(rankOf(listed), light(listed));
  }
  return { items: found.items(), count: found.count, isCut: read > READ_MOST, last: found.last() };
}

export const listStateOf = ({ record, ageMs }: Listed, uncertaintyMs: number): ListState =>
  isLapsed(record, ageMs, uncertaintyMs) ? 'lapsed' : record.state;

const rankOf = ({ id, record }: Listed): Rank => ({ atMs: record.writtenAtMs, id });

/** What this process knows of the store's time may be so much behind. */
const SLACK_MS = 60_000;

function queryOf({ clock }: RecordStore, { operation, state, olderThanMs, leases, after }: Wanted): ListQuery {
  const kept = state === 'lapsed' ? 'running' : state;
  const sinceMs = after === undefined ? undefined : Math.max(0, clock.nowMs() - after.atMs - clock.uncertaintyMs - SLACK_MS);
  const ageMs = olderThanMs ?? sinceMs;
  return {
    ...(leases ? { operation: LEASE_OPERATION } : operation === undefined ? {} : { operation }),
    ...(kept === undefined ? {} : { state: kept }),
    ...(ageMs === undefined ? {} : { olderThanMs: ageMs }),
  };
}

function isWanted(listed: Listed, { leases = false, prefix = '', state, after }: Wanted, uncertaintyMs: number): boolean {
  const { record, ageMs } = listed;
  if ((record.operation === LEASE_OPERATION) !== leases || isExpired(record, ageMs, uncertaintyMs)) return false;
  if (after !== undefined && byAge(rankOf(listed), after) <= 0) return false;
  return (prefix === '' || record.label?.startsWith(prefix) === true) && (state === undefined || listStateOf(listed, uncertaintyMs) === state);
}
