/**
 * The rows that a fenced transaction is checked against: the lease or record that the fence is of, and beside it the marks of the transactions that
 * landed.
 *
 * @module
 */
import { randomBytes } from 'node:crypto';
import type { TransactionAction } from '@azure/data-tables';
import { storeUnavailable } from '../../core/errors.ts';
import { recordId } from '../../core/key.ts';
import { isLapsed, type StoredRecord } from '../../core/record.ts';
import { LEASE_OPERATION } from '../../core/store-leases.ts';
import { etagOf, fromEntity, type Keys, keysOf } from './entity.ts';
import type { Request } from './request.ts';

/** Row keys that begin like this are the store's own. */
export const OWN_ROWS = /^r\d+_/;
const RECORD_ID = /^r1_[\w-]{43}$/;
/** So many later transactions may land before the mark of an earlier one is forgotten. */
const MARKS_KEPT = 16;

type Entity = Record<string, unknown>;

/** The lease or record as it stands. */
export interface Standing {
  readonly record: StoredRecord;
  readonly etag: string;
  readonly ageMs: number;
}

export interface Seen {
  readonly standing: Standing | undefined;
  /** Marks of the transactions that landed, the latest first. */
  readonly landed: readonly string[];
}

/** What looks like a record's id is one; anything else is a lease's name. */
export const rowOf = (id: string, partitions: number): Keys => keysOf(RECORD_ID.test(id) ? id : recordId(LEASE_OPERATION, [], [id]), partitions);

const MARKS = /^r\d+_[^.]+\.fenced$/;
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
  return { record, etag: etagOf(entity), ageMs: Math.max(0, dateMs - record.writtenAtMs) };
}

/**
 * Binds a transaction to the row as it stands, and leaves its mark. The mark has a row of its own, which no renewal and no successor writes.
 *
 * To check a row here is to write it, and the service stamps what is written: what is alive is held a little longer by that. A lease that has run out
 * stays so: a holder that does not hear of its loss must not keep others out for ever.
 */
export function checkActions(row: Keys, { record, etag, ageMs }: Standing, uncertaintyMs: number, marks: readonly string[]): TransactionAction[] {
  const leaseMs = isLapsed(record, ageMs, uncertaintyMs) ? 0 : record.leaseMs;
  // For a clean-up of one operation, which finds rows by this.
  const { operation } = record;
  return [
    ['upsert', { ...marksOf(row), operation, fenceWrites: marks.slice(0, MARKS_KEPT).join(' ') }, 'Replace'],
    ['update', { ...row, leaseMs: { type: 'Int64', value: String(leaseMs) } }, 'Merge', { etag }],
  ];
}

/** Whether marks of since `before` are all still there, so that a mark that is missing never landed. */
export const areComplete = (landed: readonly string[], before: readonly string[]): boolean =>
  before[0] === undefined ? landed.length < MARKS_KEPT : landed.includes(before[0]);
