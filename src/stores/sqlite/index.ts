/**
 * Records in a SQLite file that several processes of one host share, and writes to the same file that a stale holder cannot make.
 *
 * @module
 */
export { type FencedTransactionOptions, fencedTransaction } from './fenced.ts';
export { type SqliteStoreOptions, sqliteStore } from './store.ts';
