/**
 * The rows that a fenced transaction is checked against: the lease or record that the fence is of, and beside it the marks of the transactions that
 * landed.
 *
 * @module
 */
import { randomBytes } from 'node:crypto';
import type { TransactionAction } from '@azure/data-tables';
import { storeUnavailable } from '../../core/errors.ts';
import { rowIdOf } from '../../core/fence.ts';
import type { StoredRecord } from '../../core/record.ts';
import { etagOf, fromEntity } from './entity.ts';
import { type Keys, keysIn, type Place } from './place.ts';
import type { Request } from './request.ts';

/** Of later formats too: those must be told apart from rows of the caller's, and refused. */
const RECORD_ROW = /^(rerunsafe\.)?r\d+_[\w-]{43}$/;
/** So many later transactions may land before the mark of an earlier one is forgotten. */
const MARKS_KEPT = 16;

type Entity = Record<string, unknown>;

/** The lease or record as it stands. */
export interface Standing {
  readonly record: StoredRecord;
  readonly etag: string;
  /** By the service's clock, to the second. */
  readonly nowMs: number;
  /** What the lease was given for, and when it or its minimum hold ends by the service's clock, epoch ms. */
  readonly term: Term;
}

interface Term {
  readonly leaseMs: number;
  readonly endMs: number;
  /** A transaction has been committed since the row was last renewed, taken or released. */
  readonly isShared: boolean;
}

export interface Seen {
  readonly standing: Standing | undefined;
  /** Marks of the transactions that landed, the latest first. */
  readonly landed: readonly string[];
}

export const rowOf = (fenceId: string, place: Place): Keys => keysIn(place, rowIdOf(fenceId));

/** A row of the caller's may have columns named like ours. Only under a record's own key is a row that cannot be read a failure. */
export function isRecordRow(entity: Readonly<Entity>): boolean {
  if (RECORD_ROW.test(String(entity.rowKey))) return true;
  // Whoever uses the store by itself may give it other ids.
  if (entity.schema === undefined || entity.revision === undefined) return false;
  try {
    return fromEntity(entity) !== undefined;
  } catch {
    return false;
  }
}

const MARKS = /^(rerunsafe\.)?r\d+_[^.]+\.fenced$/;
export const isMarks = ({ rowKey, fenceWrites }: Readonly<Entity>): boolean => typeof fenceWrites === 'string' && MARKS.test(String(rowKey));
const marksOf = ({ partitionKey, rowKey }: Keys): Keys => ({ partitionKey, rowKey: `${rowKey}.fenced` });

export const newMark = (): string => randomBytes(15).toString('base64url');

/** Both rows in one request. The marks come after the row whose ETag the transaction is bound to, so they are never older than that. */
export async function look(request: Request, row: Keys, signal?: AbortSignal): Promise<Seen> {
  const marks = marksOf(row);
  const { odata } = await import('@azure/data-tables');
  const filter = odata`PartitionKey eq ${row.partitionKey} and RowKey ge ${row.rowKey} and RowKey le ${marks.rowKey}`;
  const answer = await request(
    'look at a lease',
    'harmless',
    async (client, sdk) => {
      const found: Entity[] = [];
      for await (const entity of client.listEntities<Entity>({ ...sdk, queryOptions: { filter } })) found.push(entity);
      return found;
    },
    signal,
  );
  if (answer.refused !== undefined) throw storeUnavailable('look at a lease', answer.cause);
  const at = ({ rowKey }: Keys): Entity | undefined => answer.value.find((entity) => entity.rowKey === rowKey);
  const landed = at(marks)?.fenceWrites;
  return { standing: toStanding(at(row), answer.dateMs), landed: typeof landed === 'string' ? landed.split(' ') : [] };
}

function toStanding(entity: Entity | undefined, dateMs: number): Standing | undefined {
  if (entity === undefined) return undefined;
  const record = fromEntity(entity);
  return { record, etag: etagOf(entity), nowMs: Math.max(dateMs, record.writtenAtMs), term: termOf(entity, record) };
}

/** Our columns are gone with every write of the holder or a successor, who replace the row whole: then the lease counts from that write. */
function termOf({ fenceEndMs, fenceLeaseMs }: Entity, { writtenAtMs, leaseMs }: StoredRecord): Term {
  if (fenceEndMs === undefined) return { leaseMs, endMs: writtenAtMs + leaseMs, isShared: false };
  return { leaseMs: Number(fenceLeaseMs), endMs: Number(fenceEndMs), isShared: true };
}

/** A lease that transactions are being committed under, and that should have been renewed by now. */
export function isNearItsEnd(standing: Standing | undefined): standing is Standing {
  if (standing === undefined || standing.record.state !== 'running') return false;
  const { isShared, endMs, leaseMs } = standing.term;
  return isShared && standing.nowMs < endMs && endMs - standing.nowMs < leaseMs / 2;
}

/**
 * What to write as the lease, or as the minimum hold of a released row, so that it ends when it would have ended. Ended for everybody it is 0; until
 * then at least 1, since the uncertainty about clocks is counted on top of what is not 0.
 */
export function leftMs({ record: { state, leaseMs }, nowMs, term }: Standing, uncertaintyMs: number): number {
  if (leaseMs === 0 || (state !== 'running' && state !== 'released')) return leaseMs;
  return nowMs > term.endMs + uncertaintyMs ? 0 : Math.max(1, term.endMs - nowMs);
}

/**
 * Binds a transaction to the row as it stands, and leaves its mark. The mark has a row of its own, which no renewal and no successor writes.
 *
 * To check a row here is to write it, and the service stamps what is written, from where a lease counts. So the end is kept beside it: consumers that
 * go on writing must not hold the lease of a dead holder, and it is absolute, so that seconds that a date is cut by do not add up.
 */
export function checkActions(row: Keys, standing: Standing, uncertaintyMs: number, marks: readonly string[]): TransactionAction[] {
  const { record, etag, term } = standing;
  // For a clean-up of one operation, which finds rows by this.
  const { operation } = record;
  const columns = { leaseMs: int64(leftMs(standing, uncertaintyMs)), fenceEndMs: int64(term.endMs), fenceLeaseMs: int64(term.leaseMs) };
  return [
    ['upsert', { ...marksOf(row), operation, fenceWrites: marks.slice(0, MARKS_KEPT).join(' ') }, 'Replace'],
    ['update', { ...row, ...columns }, 'Merge', { etag }],
  ];
}

const int64 = (value: number) => ({ type: 'Int64', value: String(value) });

/** Whether marks of since `before` are all still there, so that a mark that is missing never landed. */
export const areComplete = (landed: readonly string[], before: readonly string[]): boolean =>
  before[0] === undefined ? landed.length < MARKS_KEPT : landed.includes(before[0]);
