/**
 * Records in a SQLite file that several processes of one host share, and writes to the same file in one transaction with them.
 *
 * @module
 */
export { type CommitOptions, commitWith } from './commit-with.ts';
export { type FencedTransactionOptions, fencedTransaction } from './fenced.ts';
export { type RunInTransactionOptions, runInTransaction, type TransactionWork, tryRunInTransaction } from './run-in-transaction.ts';
export { type SqliteStoreOptions, sqliteStore } from './store.ts';
