/**
 * Reading and writing records by scripts.
 *
 * @module
 */
import type { CallOptions, Conflict, Stored, WriteResult, Written } from '../../core/ports.ts';
import type { RecordId, RecordToWrite, StoredRecord, Version } from '../../core/record.ts';
import type { Answer, Connection } from './connection.ts';
import { bytesOf, endsAfterMs, fromFields, fromLight, LIGHT_COLUMNS, toFields } from './record-hash.ts';
import { DELETE, READ, READ_LIGHT, WRITE, writeWith } from './scripts.ts';
import { type ScriptWork, unlessRefused } from './work.ts';

export interface Rows {
  find(id: RecordId, call?: CallOptions): Promise<Stored | undefined>;
  /** Without its body. Of another operation: undefined, whatever its schema. */
  findLight(id: RecordId, operation: string | undefined): Promise<Stored | undefined>;
  /** On condition of the version; undefined: only when absent. */
  put(id: RecordId, record: RecordToWrite, version: Version | undefined, call?: CallOptions, work?: ScriptWork): Promise<WriteResult>;
  remove(id: RecordId, version: Version, call?: CallOptions): Promise<Written | Conflict>;
}

export interface Place {
  readonly connection: Connection;
  readonly prefix: string;
  readonly uncertaintyMs: number;
  readonly maxRecordBytes: number;
}

export function rowsOf({ connection, prefix, uncertaintyMs, maxRecordBytes }: Place): Rows {
  const rowOf = (id: RecordId): string => `${prefix}${id}`;
  const stored = (record: StoredRecord | undefined, nowMs: number): Stored | undefined =>
    record && { record, version: record.revision, ageMs: Math.max(0, nowMs - record.writtenAtMs) };
  const standing = ({ rest, nowMs }: Answer): Stored | undefined => stored(fromFields(rest[0] as unknown[]), nowMs);
  const refused = (answer: Answer): Conflict => ({ ok: false, reason: 'conflict', current: standing(answer) });
  return {
    find: async (id, call) => standing(await connection.run({ operation: 'read', script: READ, keys: [rowOf(id)], writes: false }, call)),
    async findLight(id, operation) {
      const { rest, nowMs } = await connection.run({ operation: 'read', script: READ_LIGHT, keys: [rowOf(id)], writes: false });
      const values = rest[0] as unknown[];
      if (operation !== undefined && values[LIGHT_COLUMNS.indexOf('operation')] !== operation) return undefined;
      // Gone since it was listed.
      return values.every((value) => value === null) ? undefined : stored(fromLight(values), nowMs);
    },
    async put(id, record, version, call, work) {
      const fields = toFields(record);
      if (bytesOf(fields) > maxRecordBytes) return { ok: false, reason: 'too-large' };
      const endsMs = endsAfterMs(record, uncertaintyMs);
      const own = [version ?? '', endsMs === undefined ? '' : String(endsMs), String(record.token), String(fields.length), ...fields];
      const operation = version === undefined ? 'create' : 'replace';
      const answer = await connection.run(
        {
          operation: work === undefined ? operation : 'commit',
          script: work === undefined ? WRITE : writeWith(work.script),
          keys: [rowOf(id), ...(work?.keys ?? [])],
          args: [...own, ...(work?.args ?? [])],
          writes: true,
          withWork: work !== undefined,
        },
        call,
      );
      unlessRefused(answer);
      return answer.status === 'ok' ? { ok: true, version: record.revision, token: Number(answer.rest[0]) } : refused(answer);
    },
    async remove(id, version, call) {
      const answer = await connection.run({ operation: 'delete', script: DELETE, keys: [rowOf(id)], args: [version], writes: true }, call);
      return answer.status === 'ok' ? { ok: true, version } : refused(answer);
    },
  };
}
