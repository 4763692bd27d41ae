/**
 * Several records in one statement: those that are to be made, and those that are to be replaced.
 *
 * @module
 */
import { isRerunSafeError, storeUnavailable } from '../../core/errors.ts';
import type { RecordWrite, Stored, WriteResult } from '../../core/ports.ts';
import { whenAllHaveLeft } from '../../core/together.ts';
import type { Connection, Row } from './connection.ts';
import { isConnectionLost, isServerFull, sqlStateOf } from './map-error.ts';
import type { ServerTime } from './server-time.ts';
import { bytesOf, type Sql, toValues } from './table.ts';
import { escaped } from './text.ts';

export interface Means {
  readonly connection: Connection;
  readonly sql: Sql;
  readonly time: ServerTime;
  readonly lockTimeoutMs: number;
  readonly maxRecordBytes: number;
  readonly toStored: (row: Row) => Stored;
}

/** A row that somebody holds must not hold up all the others: after so long each is asked by itself, ms. */
const LOCK_LIMIT_MS = 100;
/** Larger ones go by themselves: a statement with all of them would fill the memory of both sides. */
const LARGE_BYTES = 65_536;

interface Asked {
  readonly write: RecordWrite;
  readonly values: ReturnType<typeof toValues>;
}
type Answer = Promise<WriteResult | undefined>;

export function writeAll(means: Means, writes: readonly RecordWrite[]): Answer[] {
  const most = Math.min(LARGE_BYTES, means.maxRecordBytes);
  const small = writes.map((write) => ({ write, values: toValues(write.record) })).filter(({ values }) => bytesOf(values) <= most);
  const answers = new Map([
    ...inOne(
      means,
      'create',
      small.filter(({ write }) => write.version === undefined),
    ),
    ...inOne(
      means,
      'replace',
      small.filter(({ write }) => write.version !== undefined),
    ),
  ]);
  return writes.map((write) => answers.get(write) ?? Promise.resolve(undefined));
}

function inOne(means: Means, what: 'create' | 'replace', asked: readonly Asked[]): [RecordWrite, Answer][] {
  if (asked.length < 2) return [];
  const rows = ask(means, what, asked);
  const byItself = (reason: unknown): undefined => {
    if (!isAboutOne(reason)) throw reason;
  };
  return asked.map(({ write }) => [write, rows.then((found) => answerIn(means, found.get(write.id), write), byItself)]);
}

/** The server has refused and rolled back all of it, for what one of them met: a lock, a trigger, a limit of its own. */
const isAboutOne = (reason: unknown): boolean => {
  if (!isRerunSafeError(reason) || reason.code === 'WRITE_UNKNOWN') return false;
  const { cause } = reason;
  return sqlStateOf(cause) !== undefined && !isConnectionLost(cause) && !isServerFull(cause);
};

async function ask({ connection, sql, time, lockTimeoutMs }: Means, what: 'create' | 'replace', asked: readonly Asked[]) {
  // All take their locks in the same order.
  const sorted = asked.toSorted((a, b) => (a.write.id < b.write.id ? -1 : 1));
  const values = (): unknown[] => {
    const staying = sorted.filter(({ write }) => write.signal?.aborted !== true);
    const ids = staying.map(({ write }) => write.id);
    const expected = what === 'create' ? [] : [staying.map(({ write }) => escaped(write.version as string))];
    const columns = (sorted[0] as Asked).values.map((_, at) => staying.map((one) => one.values[at]));
    return [String(Math.min(LOCK_LIMIT_MS, lockTimeoutMs)), ids, ...expected, ...columns];
  };
  const waited = whenAllHaveLeft(asked.map(({ write }) => write));
  const sentAtMs = Date.now();
  try {
    const { rows } = await connection.call(waited, (send) => send({ what, text: sql[`${what}All`], values, writes: true }));
    time.learn(Number(rows[0]?.now_ms), sentAtMs, Date.now());
    return new Map(rows.map((row) => [row.asked_id, row]));
  } finally {
    waited.done();
  }
}

/** undefined: what the statement had to wait for it does not see as it is now. */
function answerIn({ toStored }: Means, row: Row | undefined, { record, version }: RecordWrite): WriteResult | undefined {
  if (row === undefined) throw storeUnavailable('it was given up before it was sent', undefined);
  if (row.written_token !== null) return { ok: true, version: record.revision, token: Number(row.written_token) };
  const current = row.id === null ? undefined : toStored(row);
  const isOld = version === undefined ? current === undefined : current?.version === version;
  return isOld ? undefined : { ok: false, reason: 'conflict', current };
}
