/**
 * Our row in a transaction that is open: taken before the work, written after it. It is the lock that duplicates wait for.
 *
 * @module
 */

import { storeUnavailable } from '../../core/errors.ts';
import { type Begin, beginInTransaction, type TransactionCall } from '../../core/in-transaction.ts';
import type { Stored, WriteResult } from '../../core/ports.ts';
import type { RecordId, RecordToWrite, Version } from '../../core/record.ts';
import type { Committed } from './run-try.ts';
import { bytesOf, NOW_MS, parametersFrom, sqlFor, toRecord, toValues, WRITTEN_COLUMNS } from './table.ts';

export type Claimed<T> =
  | { readonly kind: 'ours'; readonly record: RecordToWrite; readonly over: Version | undefined; readonly afterUnknown: boolean }
  | ({ readonly kind: 'answer' } & Committed<T>);

export interface ClaimOptions<T> {
  readonly call: TransactionCall;
  /** What a COMMIT of ours may have brought about, by the revision it wrote. */
  readonly sent?: ReadonlyMap<string, Committed<T>>;
  /** The record to write instead of one that has begun. */
  readonly as?: (begun: RecordToWrite) => RecordToWrite;
}

/** On the connection of the transaction. */
export type Send = (text: string, values: unknown[]) => Promise<{ rows: Record<string, unknown>[]; rowCount: number | null }>;

export interface TransactionRows {
  /** Waits for whoever holds the row, up to the lock limit of the transaction (SQLSTATE 55P03). Under REPEATABLE READ and SERIALIZABLE it may fail with 40001. */
  claim<T>(send: Send, options: ClaimOptions<T>): Promise<Claimed<T>>;
  /** Over the row that was claimed. `gone`: no row of this very transaction is to be seen there. */
  finish(send: Send, id: RecordId, record: RecordToWrite, revision: string): Promise<'written' | 'too-large' | 'gone'>;
  /** On condition of the version; undefined: only when absent. */
  put(send: Send, id: RecordId, record: RecordToWrite, version: Version | undefined): Promise<WriteResult>;
}

/** Rows that are removed under our eyes, again and again: not in this world. */
const MOST_ROUNDS = 50;

/** `table`: quoted, and with its schema where it has one. */
export function transactionRows(table: string, maxRecordBytes: number): TransactionRows {
  const { find } = sqlFor(table);
  const insert = `WITH written AS (INSERT INTO ${table} AS r (id, ${WRITTEN_COLUMNS.join(', ')}, written_at_ms)
SELECT $1::text, ${values(2, NOW_MS).join(', ')}, ${NOW_MS} ON CONFLICT (id) DO NOTHING RETURNING r.token)
SELECT ${NOW_MS} AS now_ms, written.token AS written_token, s.* FROM (SELECT 1) AS one LEFT JOIN written ON true LEFT JOIN ${table} AS s ON s.id = $1 AND written.token IS NULL`;
  const update = `UPDATE ${table} AS r SET ${values(3)
    .map((value, at) => `${WRITTEN_COLUMNS[at]} = ${value}`)
    .join(', ')}, written_at_ms = ${NOW_MS} WHERE r.id = $1 AND r.revision = $2`;
  const lock = `SELECT ${NOW_MS} AS now_ms, s.* FROM ${table} AS s WHERE s.id = $1 FOR UPDATE`;
  // Who has ended the transaction, and perhaps begun another, finds no row that this one has written.
  const byUs = 'r.xmin = pg_current_xact_id()::xid';

  const row = async (send: Send, text: string, ...parameters: unknown[]): Promise<Row> => (await send(text, parameters)).rows[0];
  const replace = async (send: Send, id: RecordId, record: RecordToWrite, version: unknown): Promise<boolean> =>
    (await send(update, [id, version, ...toValues(record)])).rowCount === 1;
  const isTooLarge = (record: RecordToWrite): boolean => bytesOf(toValues(record)) > maxRecordBytes;
  /** Committed by the one that the statement waited for: it had begun before that, and does not see it. */
  const unseen = async (send: Send, id: RecordId, created: Row): Promise<Row> => (created?.id === null ? row(send, find, id) : created);

  return {
    async claim<T>(send: Send, { call, sent = new Map(), as = (begun) => begun }: ClaimOptions<T>): Promise<Claimed<T>> {
      const { id } = call;
      const fresh = decided(undefined, call, sent);
      for (let round = 0; fresh.kind === 'begin' && round < MOST_ROUNDS; round++) {
        const record = as(fresh.record);
        const created = await row(send, insert, id, ...toValues(record));
        // The server's clock may have raised the token.
        if (isWritten(created))
          return { kind: 'ours', record: { ...record, token: Number(created?.written_token) }, over: undefined, afterUnknown: false };
        const seen = decided(await unseen(send, id, created), call, sent);
        if (seen.kind === 'answer') return seen;
        // It is to be written over. Nobody else can do that from here on; before that, somebody may have.
        const locked = await row(send, lock, id);
        if (locked === undefined) continue;
        const final = decided(locked, call, sent);
        if (final.kind === 'answer') return final;
        const over = final.kind === 'begin' ? as(final.record) : final.record;
        if (!(await replace(send, id, over, locked.revision))) continue;
        const { revision } = locked;
        if (final.kind === 'begin') return { kind: 'ours', record: over, over: String(revision), afterUnknown: final.afterUnknown };
        return { kind: 'answer', result: final.answer, tell: { event: 'blocked', attempt: over.attempt } };
      }
      throw storeUnavailable(`the record ${id} changed under each of ${MOST_ROUNDS} looks at it`, undefined);
    },
    async finish(send, id, record, revision) {
      if (isTooLarge(record)) return 'too-large';
      const { rowCount } = await send(`${update} AND ${byUs}`, [id, revision, ...toValues(record)]);
      return rowCount === 1 ? 'written' : 'gone';
    },
    async put(send, id, record, version) {
      if (isTooLarge(record)) return { ok: false, reason: 'too-large' };
      if (version !== undefined && (await replace(send, id, record, version))) return { ok: true, version: record.revision };
      const created = version === undefined ? await row(send, insert, id, ...toValues(record)) : undefined;
      if (isWritten(created)) return { ok: true, version: record.revision, token: Number(created?.written_token) };
      const current = await row(send, find, id);
      return { ok: false, reason: 'conflict', current: standingIn(current) };
    },
  };
}

/** `nowMs`: raises the token where the server's clock is ahead. */
const values = (first: number, nowMs?: string): string[] =>
  parametersFrom(first).map((value, at) => (nowMs !== undefined && WRITTEN_COLUMNS[at] === 'token' ? `greatest(${value}, ${nowMs})` : value));

type Row = Readonly<Record<string, unknown>> | undefined;
type Decided<T> = Exclude<Begin<T>, { kind: 'answer' }> | ({ readonly kind: 'answer' } & Committed<T>);

function decided<T>(row: Row, call: TransactionCall, sent: ReadonlyMap<string, Committed<T>>): Decided<T> {
  const standing = standingIn(row);
  // What a COMMIT of this call brought about, whose answer was lost.
  const own = standing === undefined ? undefined : sent.get(standing.record.revision);
  if (own !== undefined) return { kind: 'answer', ...own };
  const nowMs = row === undefined ? Date.now() : Number(row.now_ms);
  const begin = beginInTransaction<T>(standing, call, { nowMs, uncertaintyMs: 0 });
  if (begin.kind !== 'answer') return begin;
  const attempt = 'attempt' in begin.answer ? { attempt: begin.answer.attempt } : {};
  return { kind: 'answer', result: begin.answer, tell: { event: begin.event, ...attempt } };
}

function standingIn(row: Row): Stored | undefined {
  if (row === undefined || row.id === null) return undefined;
  const record = toRecord(row);
  return { record, version: record.revision, ageMs: Math.max(0, Number(row.now_ms) - record.writtenAtMs) };
}

const isWritten = (row: Row): boolean => row !== undefined && row.written_token !== null;
