/**
 * One try of `runInTransaction`: our row, the work, the outcome. All of it inside of one transaction that the caller of this opens and commits.
 *
 * @module
 */
import { isRerunSafeError, RerunSafeError, storeMisconfigured } from '../../core/errors.ts';
import { type Ending, endingOf, type TransactionCall, tellTransaction, transactionRun, type WorkEnd } from '../../core/in-transaction.ts';
import type { RecordToWrite, Version } from '../../core/record.ts';
import { inRun, type Run } from '../../core/run.ts';
import type { RunResult } from '../../core/run-once.ts';
import { foundSchema, schemasSql } from './found-schemas.ts';
import { DEFAULT_MAX_RECORD_BYTES } from './internals.ts';
import { mapError, sqlStateOf } from './map-error.ts';
import { qualified } from './names.ts';
import { insertMessages } from './outbox-insert.ts';
import { IN_FAILED_TRANSACTION, type Session, type Transaction } from './session.ts';
import { restored, rolledBack, type UsualLimits } from './transaction.ts';
import { type TransactionRows, transactionRows } from './transaction-rows.ts';

export type TransactionWork<T> = (tx: Transaction, run: Run) => T | Promise<T>;

/** An answer, and what is told of it, once the transaction has ended. */
export interface Committed<T> {
  readonly result: RunResult<T>;
  readonly tell: Parameters<typeof tellTransaction>[1];
}

/** Of the tables. Without a schema: the first of the search path that has them when the work begins. */
export interface Place {
  readonly schema: string | undefined;
  readonly tableName: string;
  readonly outboxTable: string;
}

export interface Try<T> {
  readonly place: Place;
  readonly call: TransactionCall;
  /** For a duplicate's row, ms. */
  readonly waitMs: number;
  readonly work: TransactionWork<T>;
  /** For the work's statements, ms. */
  readonly statementTimeoutMs: number | undefined;
  readonly sent: Map<string, Committed<T>>;
  /** The row is ours. */
  readonly onBegun: () => void;
  /** How far it came, for whoever has to judge its failure. */
  stage: 'claim' | 'work' | 'outcome' | 'commit' | 'ended';
  /** Our row, once we have it. */
  begun?: { readonly record: RecordToWrite; readonly over: Version | undefined; readonly rows: TransactionRows };
}

/** Thrown through the transaction, so that it is rolled back. */
export class WorkThrew {
  readonly thrown: unknown;
  constructor(thrown: unknown) {
    this.thrown = thrown;
  }
}

/** Likewise; all of it is to be done again. */
export class Again {
  readonly cause: unknown;
  constructor(cause: unknown) {
    this.cause = cause;
  }
}

/** The server's own limit comes first. */
const WAIT_MARGIN_MS = 10_000;

const rowsIn = ({ tableName }: Place, schema: string | undefined): TransactionRows =>
  transactionRows(qualified(tableName, schema), DEFAULT_MAX_RECORD_BYTES);

export async function inOneTry<T>(one: Try<T>, tx: Transaction, session: Session, usual: UsualLimits): Promise<Committed<T>> {
  const { place, call } = one;
  const claimed = await rowsIn(place, place.schema).claim<T>(
    (text, values) => session.own(text, values, { signal: call.signal, limitMs: one.waitMs + WAIT_MARGIN_MS }),
    one,
  );
  if (claimed.kind === 'answer') return claimed;
  one.onBegun();
  const { record, over, afterUnknown } = claimed;
  const { attempt, token } = record;
  tellTransaction(call, { event: afterUnknown ? 'taken-over' : 'claimed', attempt, token });
  const found = await session.mark.set(`${restored(usual, one.statementTimeoutMs)}; ${schemasSql([place.tableName, place.outboxTable])}`);
  const { schema, outboxTable } = place;
  one.begun = { record, over, rows: rowsIn(place, schema ?? foundSchema(found, 0)) };
  one.stage = 'work';
  const { run, messages, end: endRun } = transactionRun<T>(call, record);
  const end = await settled<T>(() => inRun(run as Run, () => one.work(tx, run as Run)));
  endRun();
  session.end();
  if ('thrown' in end) {
    const conflict = session.conflictIn(end.thrown) ?? (session.isLoss(end.thrown) ? end.thrown : undefined);
    if (conflict !== undefined) throw new Again(conflict);
  }
  one.stage = 'outcome';
  const ending = endingOf(call, record, end);
  if (ending.kind === 'roll-back') throw new WorkThrew(ending.thrown);
  let notKept: 'too-large' | undefined;
  try {
    if (!ending.keepsWork) await session.mark.back();
    notKept = await write(one.begun.rows, call, session, record, ending);
  } catch (error) {
    if (!('thrown' in end) || !isNeverTaken(error)) throw error;
    // What was thrown matters more than that it is not remembered. But as long as it may be, by doing all of it again, nobody is told that it is final.
    tellTransaction(call, { event: 'save-failed', error, attempt, token });
    throw new WorkThrew(end.thrown);
  }
  // Only now: by our row it is known that this is still the transaction that they are to leave with.
  if (ending.keepsWork) await insertMessages({ query: session.own }, messages, { schema: schema ?? foundSchema(found, 1), outboxTable });
  one.stage = 'commit';
  const committed: Committed<T> = { result: ending.answer, tell: { ...ending.tell, attempt, token, ...(notKept && { notKept }) } };
  one.sent.set(ending.record.revision, committed);
  return committed;
}

async function settled<T>(work: () => T | Promise<T>): Promise<WorkEnd<T>> {
  try {
    return { value: await work() };
  } catch (thrown) {
    return { thrown };
  }
}

/** The server has said that it never will be: no right to it, no such table, too large. */
const isNeverTaken = (error: unknown): boolean =>
  (isRerunSafeError(error) || sqlStateOf(error) !== undefined) && mapError(error, 'outcome', false).code === 'STORE_MISCONFIGURED';

async function write<T>(
  rows: TransactionRows,
  call: TransactionCall,
  session: Session,
  begun: RecordToWrite,
  { record, smaller, keepsWork }: Extract<Ending<T>, { kind: 'write' }>,
): Promise<'too-large' | undefined> {
  try {
    const first = await rows.finish(session.own, call.id, record, begun.revision);
    const last = first === 'too-large' ? await rows.finish(session.own, call.id, smaller, begun.revision) : first;
    if (last === 'too-large') throw storeMisconfigured('the record is too large without its outcome');
    if (last === 'gone') throw unseen();
    session.mark.forget();
    return first === 'too-large' && keepsWork ? first : undefined;
  } catch (error) {
    throw sqlStateOf(error) === IN_FAILED_TRANSACTION ? rolledBack(session.failure) : error;
  }
}

const unseen = (): RerunSafeError =>
  storeMisconfigured(
    'the row of the record, which this transaction has written, was not to be seen after the work. Has the work set a ROLE that row-level security hides it from, or changed the row itself? All of it was rolled back.',
  );

/**
 * The work has ended the transaction behind our back. Whatever of it stands: nobody may do it again before a person has looked.
 */
export async function blocked<T>(one: Try<T>, session: Session, thrown: unknown): Promise<RerunSafeError> {
  const { call, begun } = one;
  one.stage = 'ended';
  const cause = thrown instanceof WorkThrew ? thrown.thrown : thrown instanceof Again ? thrown.cause : thrown;
  const facts = { operation: call.operation, id: call.id };
  const what = `${call.operation}: the work ended the transaction itself (COMMIT or ROLLBACK in a text of several statements). What it wrote may stand, its outcome does not`;
  try {
    if (begun !== undefined && (await stands(begun, call, session)))
      return new RerunSafeError('WRITE_UNKNOWN', `${what}; the record is blocked until a person has looked (resolveRun, forgetRun).`, {
        cause,
        facts,
      });
  } catch (error) {
    return new RerunSafeError('WRITE_UNKNOWN', `${what}, and the record could not be blocked: ${String(error)}.`, { cause, facts });
  }
  return new RerunSafeError('WRITE_UNKNOWN', `${what}. Somebody else has taken the key since, so the record is not blocked.`, { cause, facts });
}

/** As it was begun the record is a blocked one. A COMMIT of the work's has committed it; after a ROLLBACK what stood before does again. */
async function stands<T>({ record, over, rows }: NonNullable<Try<T>['begun']>, { id }: TransactionCall, session: Session): Promise<boolean> {
  for (const version of over === undefined ? [undefined] : [over, undefined]) {
    const put = await rows.put(session.own, id, record, version);
    if (put.ok) return true;
    if (put.reason === 'conflict' && put.current !== undefined) return put.current.record.state === 'blocked';
  }
  return false;
}
