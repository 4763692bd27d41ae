/**
 * Reading and writing records within a transaction.
 *
 * @module
 */
import type { Conflict, Stored, WriteResult } from '../../core/ports.ts';
import type { RecordId, RecordToWrite, StoredRecord, Version } from '../../core/record.ts';
import { isTooLarge } from './map-error.ts';
import type { Session } from './source.ts';
import { bytesOf, type Sql, toRecord, toValues } from './table.ts';

export interface Rows {
  toStored(record: StoredRecord): Stored;
  find(session: Session, id: RecordId): Stored | undefined;
  /** On condition of the version; undefined: only when absent. */
  put(session: Session, id: RecordId, record: RecordToWrite, version: Version | undefined): WriteResult;
  remove(session: Session, id: RecordId, version: Version): Extract<WriteResult, { ok: true }> | Conflict;
}

export function rowsOf(sql: Sql, nowMs: () => number, maxRecordBytes: number): Rows {
  const toStored: Rows['toStored'] = (record) => ({ record, version: record.revision, ageMs: Math.max(0, nowMs() - record.writtenAtMs) });
  const find: Rows['find'] = ({ prepare }, id) => {
    const row = prepare(sql.find).get(id);
    return row === undefined ? undefined : toStored(toRecord(row));
  };
  /** In the transaction of the refused statement: nothing has changed since. */
  const refused = (session: Session, id: RecordId): Conflict => ({ ok: false, reason: 'conflict', current: find(session, id) });
  return {
    toStored,
    find,
    put(session, id, record, version) {
      // Under the lock: in the order in which they were written, and not as old as the wait for it.
      const values = toValues(record, nowMs());
      if (bytesOf(values) > maxRecordBytes) return { ok: false, reason: 'too-large' };
      try {
        const done = version === undefined ? changed(session, sql.insert, id, ...values) : changed(session, sql.update, ...values, id, version);
        return done ? { ok: true, version: record.revision } : refused(session, id);
      } catch (error) {
        // A lower limit on the caller's own connection.
        if (isTooLarge(error)) return { ok: false, reason: 'too-large' };
        throw error;
      }
    },
    remove: (session, id, version) => (changed(session, sql.remove, id, version) ? { ok: true, version } : refused(session, id)),
  };
}

const changed = ({ prepare }: Session, sql: string, ...values: ReturnType<typeof toValues>): boolean => prepare(sql).run(...values).changes === 1;
