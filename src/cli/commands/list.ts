/**
 * `list`: the newest records, or leases, of a store.
 *
 * @module
 */
import { formatDuration } from '../duration.ts';
import { EXIT } from '../exit-codes.ts';
import type { Ink, Screen } from '../output.ts';
import type { OpenPlace } from '../places/open.ts';
import { recordsOf } from './find-run.ts';
import { harmless } from './harmless.ts';
import { type LeaseLook, leaseFacts, leaseOf } from './lease-look.ts';
import { type Found, type ListState, listStateOf, newest, READ_MOST, type Wanted } from './look-through.ts';
import { type RecordFacts, recordFacts } from './record-facts.ts';
import { type Column, printTable, type TableRow } from './table.ts';
import { isoOf } from './when.ts';

export interface ListRequest extends Wanted {
  readonly place: OpenPlace;
  /** Default 100. */
  readonly limit?: number | undefined;
  readonly out: Screen;
}

const DEFAULT_LIMIT = 100;

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
  const store = recordsOf(place);
  const { uncertaintyMs } = store.clock;
  if (leases) {
    const found = await newest<NamedLease>(store, request, limit, ({ record, ...rest }) => ({
      name: record.label ?? '',
      ...leaseOf({ record, ...rest }, uncertaintyMs),
    }));
    if (out.isJson) for (const lease of found.items) out.json({ kind: 'lease', ...leaseFacts(lease.name, lease) });
    else await printTable(out, LEASE_COLUMNS, found.items.map(leaseRow), (cell) => out.paint(cell === 'free' ? 'green' : 'yellow', cell));
    return closing(out, found, 'lease', limit);
  }
  const found = await newest<Run>(store, request, limit, (listed) => {
    const { word: _, ...facts } = recordFacts(listed.id, listed);
    return { ...facts, state: listStateOf(listed, uncertaintyMs) };
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
