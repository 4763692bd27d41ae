/**
 * Messages as rows of the transaction that commits their run.
 *
 * @module
 */
import type { PendingMessage } from '../../core/outbox.ts';
import { type OutboxPlacing, outboxSql } from './outbox-table.ts';

/** The open transaction. */
export interface InTransaction {
  query(text: string, values?: unknown[]): Promise<unknown>;
}

/**
 * Writes them, as the last but one thing before the commit. Transactions with messages of one key follow each other from here to their commit, by a lock
 * that ends with the transaction: a number that is given first and committed last would otherwise send a key's messages in the wrong order.
 *
 * A message of an id that waits already, or is parked, stays as it is.
 *
 * @throws what PostgreSQL says, untouched: 55P03 where the wait for another transaction of the same key was too long.
 */
export async function insertMessages(tx: InTransaction, messages: readonly PendingMessage[], place: OutboxPlacing = {}): Promise<void> {
  if (messages.length === 0) return;
  const sql = outboxSql(place);
  const inOrder = [...messages].sort((a, b) => a.position - b.position);
  const keys = [...new Set(inOrder.flatMap(({ key }) => (key === undefined ? [] : [key])))];
  if (keys.length > 0) await tx.query(sql.lockKeys, [keys]);
  await tx.query(sql.insert, [
    inOrder.map(({ id }) => id),
    inOrder.map(({ topic }) => topic),
    inOrder.map(({ key }) => key ?? null),
    inOrder.map(({ payload }) => JSON.stringify(payload)),
  ]);
}
