/**
 * `rerunsafe/azure-tables`: records in Azure Table Storage, and writes that a stale holder cannot make.
 *
 * @module
 */
export { type CommitOptions, commitWith } from './commit-with.ts';
export { type FencedOptions, type FencedWritten, fencedClaim, fencedDelete, fencedUpsert, isFencedDeletion } from './fenced.ts';
export { type FencedTransactionOptions, fencedTransaction, fencePartition } from './fenced-transaction.ts';
export type { ListedInTable } from './scan.ts';
export { type TableStore, type TableStoreOptions, tableStore } from './store.ts';
