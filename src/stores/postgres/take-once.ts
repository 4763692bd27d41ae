/**
 * The inbox: for those who have a transaction of their own open.
 *
 * @module
 */

import { isRerunSafeError } from '../../core/errors.ts';
import { endingOf, guardOf, IN_TRANSACTION_RULES, type InTransactionOptions, transactionCall } from '../../core/in-transaction.ts';
import { checkOptions, has, type Rules } from '../../core/options.ts';
import { unwrap } from '../../core/run-once.ts';
import { DEFAULT_MAX_RECORD_BYTES } from './internals.ts';
import { isSerializationFailure, mapError } from './map-error.ts';
import { DEFAULT_TABLE_NAME, qualified, TABLE_RULES } from './names.ts';
import type { Queryable } from './query.ts';
import { inSavepoint } from './savepoint.ts';
import { transactionRows } from './transaction-rows.ts';

export interface TakeOnceOptions extends Pick<InTransactionOptions, 'operation' | 'key' | 'scope' | 'input' | 'fingerprint' | 'label'> {
  /** How long it is remembered that it was taken, ms; longer than the sender may send it again. Default 604,800,000 (7 d). */
  readonly retentionMs?: number;
  /** Of the record table. Default: the first of the search path that has it. */
  readonly schema?: string;
  /** Default `rerunsafe`. */
  readonly tableName?: string;
}

const { operation, key, scope, input, fingerprint, retentionMs, label } = IN_TRANSACTION_RULES;
const RULES = { operation, key, scope, input, fingerprint, retentionMs, label, ...TABLE_RULES } as Rules;
const DEFAULT_RETENTION_MS = 604_800_000;

/**
 * True for the first transaction that takes this key, false where it was taken before: then there is nothing to do. What is taken is taken when the
 * transaction commits, with whatever else that writes; rolled back, it was never taken. Where another transaction has the key in hand, this waits for
 * its end, as long as the `lock_timeout` of the connection lets it.
 *
 * `tx` is one connection on which BEGIN was sent: of `runInTransaction` or `fencedTransaction`, of an ORM, your own.
 *
 * @throws RerunSafeError `INVALID_OPTIONS`, also where no transaction is open; `MISSING_KEY`, `KEY_REUSED`; `IN_FLIGHT` and `BLOCKED` where a run of
 * `runOnce` has the key; `STORE_UNAVAILABLE`, `STORE_MISCONFIGURED`. Conflicts with other transactions (40001, 40P01) come through untouched: the whole
 * transaction has to be done again. Let an error through, so that the transaction is rolled back.
 *
 * @example
 * await client.query('BEGIN');
 * if (await takeOnce(client, { operation: 'orders/take', key: message.id })) await client.query('INSERT INTO orders …');
 * await client.query('COMMIT'); // and only then acknowledge the message
 */
export async function takeOnce(tx: Queryable, options: TakeOnceOptions): Promise<boolean> {
  checkOptions('takeOnce', { tx }, { tx: has('query') }, ['tx']);
  checkOptions('takeOnce', options, RULES, ['operation', 'key']);
  const call = transactionCall({ ...options, retentionMs: options.retentionMs ?? DEFAULT_RETENTION_MS }, 'postgres');
  if (process.env.RERUNSAFE_DISABLED === '1') return true;
  const rows = transactionRows(qualified(options.tableName ?? DEFAULT_TABLE_NAME, options.schema), DEFAULT_MAX_RECORD_BYTES);
  const send: Queryable['query'] = (text, values) =>
    tx.query(text, values).catch((error: unknown) => {
      throw isSerializationFailure(error) ? error : mapError(error, 'takeOnce', false);
    });
  const claimed = await inSavepoint('takeOnce', tx, () =>
    rows.claim<true>(send, {
      call,
      as: (begun) => {
        const ending = endingOf(call, begun, { value: true });
        return ending.kind === 'write' ? ending.record : begun;
      },
    }),
  ).catch((error: unknown) => {
    // It was taken, with a value that could not be kept. No value is asked for here.
    if (isRerunSafeError(error, 'RESULT_NOT_STORED')) return undefined;
    throw error;
  });
  if (claimed === undefined) return false;
  if (claimed.kind === 'ours') return true;
  const { result } = claimed;
  if (result.kind !== 'completed' && result.kind !== 'failed') unwrap(guardOf<true>(call), result);
  return false;
}
