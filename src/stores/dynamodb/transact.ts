/**
 * One transaction of the caller's items and an item of ours that guards them: again while others are at work on the same items, and a failure of ours
 * told apart from one of theirs.
 *
 * @module
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { CancellationReason, TransactWriteItem, TransactWriteItemsCommandOutput } from '@aws-sdk/client-dynamodb';
import { isRerunSafeError, storeUnavailable } from '../../core/errors.ts';
import { invalidOptions } from '../../core/options.ts';
import type { Connection, Session } from './client.ts';
import type { Item } from './item.ts';
import { cancellationOf, isTransactionInProgress, isValidation } from './map-error.ts';

/** The service takes 100 in one transaction, and one of them is ours. */
export const MOST_ITEMS = 99;
/** Others at work on the same items are gone in milliseconds; with these pauses the last try comes after two to three seconds. */
const ROUNDS = 8;
const MOST_PAUSE_MS = 800;
/** What others are doing, or doing too much of, at this moment. */
const PASSING: ReadonlySet<string> = new Set(['TransactionConflict', 'ThrottlingError', 'ProvisionedThroughputExceeded']);

export interface Transaction<R> {
  readonly connection: Connection;
  readonly items: readonly TransactWriteItem[];
  /** Its condition is asked to return what stands there (`ALL_OLD`). */
  readonly own: TransactWriteItem;
  /** Where ours is. */
  readonly at: { readonly TableName: string; readonly Key: Item };
  /** Ours failed: what stands there (undefined: nothing), and what the SDK threw. Nothing was written. */
  refused(standing: Item | undefined, cause: unknown): R;
  readonly signal?: AbortSignal | undefined;
}

/**
 * All tries carry one `ClientRequestToken`, so that a transaction whose answer was lost is recognised by the service.
 *
 * @throws what the SDK threw about the caller's items, untouched, and otherwise the store's errors.
 */
export async function transact<R>(transaction: Transaction<R>): Promise<TransactWriteItemsCommandOutput | R> {
  const theirs = new Set<unknown>();
  const { connection, items, signal } = transaction;
  try {
    return await connection.call(signal === undefined ? {} : { signal }, (session) => submit(transaction, session, theirs), tablesOf(items));
  } catch (error) {
    const { cause } = error as Error;
    // In doubt it stays so: an earlier try may still land, when what is in its way has gone.
    throw theirs.has(cause) && !isRerunSafeError(error, 'WRITE_UNKNOWN') ? cause : error;
  }
}

async function submit<R>({ items, own, at, refused }: Transaction<R>, session: Session, theirs: Set<unknown>) {
  // Ours comes last: the reasons of a cancellation are counted from the caller's first.
  const input = { TransactItems: [...items, own], ClientRequestToken: randomUUID() };
  for (let round = 1; ; round++) {
    try {
      return await session.write((sdk) => new sdk.TransactWriteItemsCommand(input));
    } catch (error) {
      if (isValidation(error)) theirs.add(error);
      const reasons = cancellationOf(error);
      if (reasons === undefined && !isTransactionInProgress(error)) throw error;
      const ours = reasons?.at(-1);
      if (ours?.Code === 'ConditionalCheckFailed') return refused(ours.Item ?? (await read(session, at)), error);
      if (reasons !== undefined && !isPassing(reasons)) {
        theirs.add(error);
        throw error;
      }
      if (round === ROUNDS) throw storeUnavailable(`others were at work on the items of a transaction, ${ROUNDS} times in a row`, error);
    }
    await pause(Math.min(MOST_PAUSE_MS, 25 * 2 ** round) * (0.5 + Math.random() / 2));
  }
}

const tablesOf = (items: readonly TransactWriteItem[]): string[] =>
  items.map(({ Put, Update, Delete, ConditionCheck }) => (Put ?? Update ?? Delete ?? ConditionCheck)?.TableName ?? '');

function isPassing(reasons: readonly CancellationReason[]): boolean {
  const codes = reasons.map(({ Code = 'None' }) => Code).filter((code) => code !== 'None');
  return codes.length > 0 && codes.every((code) => PASSING.has(code));
}

/** Not every service returns the item with its refusal, and "not returned" must not pass for "absent". */
async function read(session: Session, { TableName, Key }: Transaction<never>['at']): Promise<Item | undefined> {
  return (await session.lookUp((sdk) => new sdk.GetItemCommand({ TableName, Key, ConsistentRead: true }))).Item;
}

/** @throws RerunSafeError `INVALID_OPTIONS` */
export function checkItems(what: string, items: unknown): void {
  if (!Array.isArray(items) || items.length > MOST_ITEMS) throw invalidOptions(what, [`the items must be an array of at most ${MOST_ITEMS}`]);
  const odd = items.flatMap((item, n) => (isItem(item) ? [] : [`item ${n} must be an object with exactly one of ${[...KINDS].join(', ')}`]));
  if (odd.length > 0) throw invalidOptions(what, odd);
}

const KINDS: ReadonlySet<string> = new Set(['Put', 'Update', 'Delete', 'ConditionCheck']);

/** The SDK leaves out what it does not know. */
function isItem(item: unknown): boolean {
  const given = Object.entries((item ?? {}) as object).filter(([, value]) => value !== undefined);
  return given.length === 1 && given.every(([kind, value]) => KINDS.has(kind) && typeof value === 'object' && value !== null);
}
