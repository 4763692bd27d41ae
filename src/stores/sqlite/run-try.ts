/**
 * One try of `runInTransaction`: our row, the work, the outcome, within a transaction that the caller of this opens and commits.
 *
 * @module
 */
import { storeMisconfigured } from '../../core/errors.ts';
import { type Begin, type Ending, endingOf, type TransactionCall, tellTransaction, transactionRun, type WorkEnd } from '../../core/in-transaction.ts';
import { invalidOptions } from '../../core/options.ts';
import type { Stored } from '../../core/ports.ts';
import type { RecordToWrite, Version } from '../../core/record.ts';
import { inRun, type Run } from '../../core/run.ts';
import type { RunResult } from '../../core/run-once.ts';
import type { Rows } from './rows.ts';
import type { TransactionWork } from './run-in-transaction.ts';
import type { Session } from './source.ts';
import { doWorkWithin, Thrown } from './work.ts';

/** An answer, and what is told of it, once the transaction has ended. */
export interface Committed<T> {
  readonly result: RunResult<T>;
  readonly tell: Parameters<typeof tellTransaction>[1];
}

/** Our row, and what its COMMIT would bring about. */
export interface Begun<T> {
  readonly record: RecordToWrite;
  readonly over: Stored | undefined;
  committed?: Committed<T> & { readonly revision: string };
}

export interface Try<T> {
  readonly what: string;
  readonly call: TransactionCall;
  readonly rows: Rows;
  readonly session: Session;
  readonly work: TransactionWork<T>;
  readonly begin: Begin<T>;
  readonly onBegun: (begun: Begun<T>) => void;
}

/** @throws {@link Thrown}, `Ended`, and the store's errors: all is to be rolled back. */
export function inOneTry<T>({ what, call, rows, session, work, begin, onBegun }: Try<T>): Committed<T> {
  if (begin.kind === 'answer') return { result: begin.answer, tell: { event: begin.event } };
  const { record, over } = begin;
  put(rows, session, call, record, over?.version);
  const { attempt, token } = record;
  if (begin.kind === 'block') return { result: begin.answer, tell: { event: 'blocked', attempt: begin.over.record.attempt } };
  const begun: Begun<T> = { record, over };
  onBegun(begun);
  tellTransaction(call, { event: begin.afterUnknown ? 'taken-over' : 'claimed', attempt, token });
  const ending = endingOf(call, record, worked({ what, call, session, work }, record));
  if (ending.kind === 'roll-back') throw new Thrown(ending.thrown);
  const kept = finish(rows, session, call, record, ending);
  const tooLarge = kept === ending.smaller && ending.keepsWork ? { notKept: 'too-large' as const } : {};
  begun.committed = { result: ending.answer, tell: { ...ending.tell, attempt, token, ...tooLarge }, revision: kept.revision };
  return begun.committed;
}

function worked<T>({ what, call, session, work }: Pick<Try<T>, 'what' | 'call' | 'session' | 'work'>, record: RecordToWrite): WorkEnd<T> {
  const { database } = session;
  const { run, messages, end } = transactionRun<T>(call, record);
  // At once: nobody would wait for a promise that says so.
  const at: Run = { ...(run as Run), step: refused(call, 'run.step'), commit: refused(call, 'run.commit') };
  try {
    const value = doWorkWithin(database, what, () => inRun(at, () => work(database, at)));
    if (messages.length > 0) throw invalidOptions(what, [`SQLite has no outbox, and ${messages.length} message(s) were added to it`]);
    return { value };
  } catch (error) {
    if (error instanceof Thrown && !error.isUndone) return { thrown: error.thrown };
    throw error;
  } finally {
    end();
  }
}

const refused =
  ({ operation }: TransactionCall, what: string) =>
  (): never => {
    throw invalidOptions(operation, [`${what} has no place in a transaction whose work is synchronous`]);
  };

function finish<T>(
  rows: Rows,
  session: Session,
  { id }: TransactionCall,
  begun: RecordToWrite,
  { record, smaller }: Extract<Ending<T>, { kind: 'write' }>,
): RecordToWrite {
  for (const outcome of [record, smaller]) {
    const result = rows.put(session, id, outcome, begun.revision);
    if (result.ok) return outcome;
    if (result.reason === 'conflict') throw storeMisconfigured('the work changed the record of its own run. All of it is rolled back.');
  }
  throw tooSmall();
}

/** Under the lock nobody else has come in between. */
function put(rows: Rows, session: Session, { id }: TransactionCall, record: RecordToWrite, version: Version | undefined): void {
  const result = rows.put(session, id, record, version);
  if (result.ok) return;
  throw result.reason === 'too-large' ? tooSmall() : storeMisconfigured('a record that was just read is another one now.');
}

const tooSmall = () => storeMisconfigured('it refuses the record itself for its size.');
