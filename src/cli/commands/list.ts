/**
 * `list`: the newest records, or leases, of a store.
 *
 * @module
 */
import type { Listed, ListQuery } from '../../core/ports.ts';
import { isExpired, isLapsed, type State } from '../../core/record.ts';
import { LEASE_OPERATION } from '../../core/store-leases.ts';
import { formatDuration } from '../duration.ts';
import { EXIT } from '../exit-codes.ts';
import type { Ink, Screen } from '../output.ts';
import type { OpenPlace } from '../places/open.ts';
import { recordsOf } from './find-run.ts';
import { harmless } from './harmless.ts';
import { type LeaseLook, leaseFacts, leaseOf } from './lease-look.ts';
import { Newest } from './newest.ts';
import { type RecordFacts, recordFacts } from './record-facts.ts';
import { type Column, printTable, type TableRow } from './table.ts';
import { isoOf } from './when.ts';

/** As they are kept; of those that run, the ones whose lease is over are `lapsed`. */
export type ListState = State | 'lapsed';

export interface ListRequest {
  readonly place: OpenPlace;
  readonly operation?: string | undefined;
  readonly state?: ListState | undefined;
  /** What the key, as people know it, begins with. Of leases: the name. */
  readonly prefix?: string | undefined;
  /** Only what was written longer ago than this, ms. */
  readonly olderThanMs?: number | undefined;
  /** Default 100. */
  readonly limit?: number | undefined;
  /** Lists the leases, and only them. */
  readonly leases?: boolean | undefined;
  readonly out: Screen;
}

const DEFAULT_LIMIT = 100;
/** Stores list in an order of their own, so the newest are known at the end only: in a large store, of so many. */
const READ_MOST = 100_000;

interface Run extends Omit<RecordFacts, 'word'> {
  readonly state: ListState;
}
type NamedLease = LeaseLook & { readonly name: string };

/**
 * What has expired is as good as absent, and not shown. Exit code: 0.
 *
 * @throws UsageError for a place that has leases only; RerunSafeError `STORE_UNAVAILABLE`, …
 */
export async function list(request: ListRequest): Promise<number> {
  const { place, leases = false, limit = DEFAULT_LIMIT, out } = request;
  const { clock } = recordsOf(place);
  if (leases) {
    const found = await newest<NamedLease>(request, limit, ({ record, ...rest }) => ({
      name: record.label ?? '',
      ...leaseOf({ record, ...rest }, clock.uncertaintyMs),
    }));
    if (out.isJson) for (const lease of found.items) out.json({ kind: 'lease', ...leaseFacts(lease.name, lease) });
    else await printTable(out, LEASE_COLUMNS, found.items.map(leaseRow), (cell) => out.paint(cell === 'free' ? 'green' : 'yellow', cell));
    return closing(out, found, 'lease', limit);
  }
  const found = await newest<Run>(request, limit, (listed) => {
    const { word: _, ...facts } = recordFacts(listed.id, listed);
    return { ...facts, state: stateOf(listed, clock.uncertaintyMs) };
  });
  if (out.isJson) for (const run of found.items) out.json({ kind: 'run', ...run });
  else
    await printTable(
      out,
      RUN_COLUMNS,
      found.items.map((run) => runRow(run, out.columns !== undefined)),
      (cell) => out.paint(INK[cell as ListState] ?? 'reset', cell),
    );
  return closing(out, found, 'record', limit);
}

interface Found<T> {
  readonly items: readonly T[];
  readonly count: number;
  /** Not all were looked at. */
  readonly isCut: boolean;
}

/** Of each that is kept, only what will be shown stays in memory: outcomes can be large. */
async function newest<T>(request: ListRequest, limit: number, light: (listed: Listed) => T): Promise<Found<T>> {
  const store = recordsOf(request.place);
  const found = new Newest<T>(limit);
  let read = 0;
  for await (const listed of store.list(queryOf(request))) {
    read += 1;
    if (read > READ_MOST) break;
    if (isWanted(listed, request, store.clock.uncertaintyMs)) found.add(listed.record.writtenAtMs, light(listed));
  }
  return { items: found.items(), count: found.count, isCut: read > READ_MOST };
}

function queryOf({ operation, state, olderThanMs, leases }: ListRequest): ListQuery {
  const kept = state === 'lapsed' ? 'running' : state;
  return {
    ...(leases ? { operation: LEASE_OPERATION } : operation === undefined ? {} : { operation }),
    ...(kept === undefined ? {} : { state: kept }),
    ...(olderThanMs === undefined ? {} : { olderThanMs }),
  };
}

function isWanted(listed: Listed, { leases = false, prefix = '', state }: ListRequest, uncertaintyMs: number): boolean {
  const { record, ageMs } = listed;
  if ((record.operation === LEASE_OPERATION) !== leases || isExpired(record, ageMs, uncertaintyMs)) return false;
  return (prefix === '' || record.label?.startsWith(prefix) === true) && (state === undefined || stateOf(listed, uncertaintyMs) === state);
}

const stateOf = ({ record, ageMs }: Listed, uncertaintyMs: number): ListState => (isLapsed(record, ageMs, uncertaintyMs) ? 'lapsed' : record.state);

const RUN_COLUMNS: readonly Column[] = [
  { head: 'state' },
  { head: 'key', gives: true },
  { head: 'operation', gives: true },
  { head: 'attempt' },
  { head: 'written' },
  { head: 'holder', gives: true },
  { head: 'id', programsOnly: true },
];

const runRow = ({ state, key, operation, attempt, writtenAt, ageMs, holder, id }: Run, isForPeople: boolean): TableRow => [
  state,
  harmless(key ?? '-'),
  harmless(operation),
  String(attempt),
  isForPeople ? `${formatDuration(ageMs)} ago` : (writtenAt ?? '-'),
  harmless(holder ?? '-'),
  id,
];

const LEASE_COLUMNS: readonly Column[] = [
  { head: 'state' },
  { head: 'name', gives: true },
  { head: 'holder', gives: true },
  { head: 'left' },
  { head: 'token' },
  { head: 'last slot' },
];

const leaseRow = ({ state, name, holder, remainingMs, token, lastSlot }: NamedLease): TableRow => [
  state,
  harmless(name),
  harmless(holder ?? '-'),
  remainingMs === undefined ? '-' : formatDuration(remainingMs),
  String(token),
  isoOf(lastSlot) ?? '-',
];

const INK: Readonly<Record<ListState, Ink>> = { completed: 'green', running: 'cyan', lapsed: 'yellow', blocked: 'red', released: 'magenta' };

/** For people; a program counts the lines, and asks for more than it wants. */
function closing(out: Screen, { items, count, isCut }: Found<unknown>, what: string, limit: number): number {
  if (out.columns === undefined) return EXIT.ok;
  if (count > items.length) out.print(`${items.length} of ${count} ${what}s, the newest (--limit ${limit})`);
  else if (count === 0) out.print(`no ${what}s`);
  if (isCut) out.print(`there are more: only the first ${READ_MOST} that the store listed were looked at`);
  return EXIT.ok;
}
