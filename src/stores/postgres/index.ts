/**
 * Records in PostgreSQL, and what commits together with them.
 *
 * @module
 */

export { type RelayLoopOptions, relayLoop } from '../../outbox/loop.ts';
export type { Backoff, Deliver, RelayOptions } from '../../outbox/options.ts';
export type { OutboxPlace, ParkedMessage, RelayedMessage } from '../../outbox/port.ts';
export { type RelayCounts, type RelayResult, relayOutbox } from '../../outbox/relay.ts';
export { type CommitOptions, commitWith } from './commit-with.ts';
export { type FencedTransactionOptions, type FencePlace, fenced, fencedTransaction } from './fenced.ts';
export { type FencedClaimOptions, fencedClaim } from './fenced-claim.ts';
export { type LoadStagingOptions, loadStaging } from './load-staging.ts';
export { type Migration, migrations, type TablePlace } from './migrations.ts';
export { type PostgresOutboxOptions, postgresOutbox } from './outbox.ts';
export type { PoolClientLike, PoolLike, Queryable } from './query.ts';
export type { RowFence } from './row-fence.ts';
export { type RunInTransactionOptions, runInTransaction, tryRunInTransaction } from './run-in-transaction.ts';
export type { TransactionWork } from './run-try.ts';
export { type PostgresStoreOptions, postgresStore } from './store.ts';
export { type TakeOnceOptions, takeOnce } from './take-once.ts';
export type { Isolation, Transaction } from './transaction.ts';
export { type UpsertOptions, upsert } from './upsert.ts';
export type { UpsertTarget } from './upsert-options.ts';
export type { Upserted } from './upsert-write.ts';
