/**
 * One try of `runInTransaction`: our row, the work, the outcome. All of it inside of one transaction that the caller of this opens and commits.
 *
 * @module
 */
import { RerunSafeError } from '../../core/errors.ts';
import { type Ending, endingOf, type TransactionCall, tellTransaction, transactionRun, type WorkEnd } from '../../core/in-transaction.ts';
import type { RecordToWrite } from '../../core/record.ts';
import { inRun, type Run } from '../../core/run.ts';
import type { RunResult } from '../../core/run-once.ts';
import { insertMessages } from './outbox-insert.ts';
import type { OutboxPlacing } from './outbox-table.ts';
import { codeOf, IN_FAILED_TRANSACTION, type Session, type Transaction } from './session.ts';
import { restored, rolledBack, type UsualLimits } from './transaction.ts';
import type { TransactionRows } from './transaction-rows.ts';

export type TransactionWork<T> = (tx: Transaction, run: Run) => T | Promise<T>;

/** An answer, and what is told of it, once the transaction has ended. */
export interface Committed<T> {
  readonly result: RunResult<T>;
  readonly tell: Parameters<typeof tellTransaction>[1];
}

export interface Try<T> {
  readonly rows: TransactionRows;
  readonly call: TransactionCall;
  /** For a duplicate's row, ms. */
  readonly waitMs: number;
  readonly outbox: OutboxPlacing;
  readonly work: TransactionWork<T>;
  /** For the work's statements, ms. */
  readonly statementTimeoutMs: number | undefined;
  readonly sent: Map<string, Committed<T>>;
  /** The row is ours. */
  readonly onBegun: () => void;
  /** How far it came, for whoever has to judge its failure. */
  stage: 'claim' | 'work' | 'outcome' | 'commit';
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
const SAVEPOINT = 'rerunsafe_work';

export async function inOneTry<T>(one: Try<T>, tx: Transaction, session: Session, usual: UsualLimits): Promise<Committed<T>> {
  const { rows, call } = one;
  const claimed = await rows.claim<T>(
    (text, values) => session.own(text, values, { signal: call.signal, limitMs: one.waitMs + WAIT_MARGIN_MS }),
    one,
  );
  if (claimed.kind === 'answer') return claimed;
  one.onBegun();
  const { record, afterUnknown } = claimed;
  const { attempt, token } = record;
  tellTransaction(call, { event: afterUnknown ? 'taken-over' : 'claimed', attempt, token });
  await session.own(`${restored(usual, one.statementTimeoutMs)}; SAVEPOINT ${SAVEPOINT}`);
  one.stage = 'work';
  const { run, messages, end: endRun } = transactionRun<T>(call, record);
  const end = await settled<T>(() => inRun(run as Run, () => one.work(tx, run as Run)));
  endRun();
  session.end();
  const conflict = 'thrown' in end ? session.conflictIn(end.thrown) : undefined;
  if (conflict !== undefined) throw new Again(conflict);
  one.stage = 'outcome';
  const ending = endingOf(call, record, end);
  if (ending.kind === 'roll-back') throw new WorkThrew(ending.thrown);
  let notKept: 'too-large' | undefined;
  if (ending.keepsWork) {
    await insertMessages({ query: session.own }, messages, one.outbox);
    notKept = await write(one, session, record, ending);
  } else {
    try {
      await session.own(`ROLLBACK TO SAVEPOINT ${SAVEPOINT}`);
      await write(one, session, record, ending);
    } catch (error) {
      // The connection is gone, or the work had ended the transaction: what was thrown matters more than that it is not remembered.
      tellTransaction(call, { event: 'save-failed', error, attempt, token });
      throw new WorkThrew('thrown' in end ? end.thrown : undefined);
    }
  }
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

async function write<T>(
  { rows, call }: Try<T>,
  session: Session,
  begun: RecordToWrite,
  { record, smaller, keepsWork }: Extract<Ending<T>, { kind: 'write' }>,
): Promise<'too-large' | undefined> {
  try {
    const first = await rows.finish(session.own, call.id, record, begun.revision);
    const last = first === 'too-large' ? await rows.finish(session.own, call.id, smaller, begun.revision) : first;
    if (last === 'written') return first === 'too-large' && keepsWork ? first : undefined;
  } catch (error) {
    throw codeOf(error) === IN_FAILED_TRANSACTION ? rolledBack(session.failure) : error;
  }
  // Whatever of it stands: nobody may do it again before a person has looked.
  await session.own('ROLLBACK');
  await rows.put(session.own, call.id, begun, undefined);
  throw new RerunSafeError(
    'WRITE_UNKNOWN',
    `${call.operation}: the work ended the transaction itself (COMMIT or ROLLBACK in a text of several statements). What it wrote may stand, its outcome does not; the record is blocked until a person has looked (resolveRun, forgetRun).`,
    { facts: { operation: call.operation, id: call.id } },
  );
}
