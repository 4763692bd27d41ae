/**
 * What the estimate takes for granted: prices and limits of services, and what the month looks like. Everything else is counted.
 *
 * Prices are list prices without discounts, reserved capacity, free tiers or taxes, as publicly known in May 2025. They change, and differ by region: put in
 * your own, and run it again.
 *
 * @module
 */

export const RUNS_A_MONTH = 1e9;
/** 30.4 days. */
export const SECONDS_A_MONTH = 2_626_560;
/** Of all calls beyond the first of their key: redeliveries and retries that are answered by a replay. An assumption: services speak of "rare", queues show less. */
export const REPLAYS_A_RUN = 0.05;
/** The default of `retentionMs`. */
export const KEPT_HOURS = 24;
/** Of JSON, that does not compress. */
export const RESULT_BYTES: readonly number[] = [100, 4_000, 40_000];

const GB = 1e9;
export const gigabytes = (bytes: number): number => bytes / GB;

/** aws.amazon.com/dynamodb/pricing/on-demand, us-east-1, table class Standard; since November 2024. */
export const DYNAMODB = {
  dollarsPerMillionWrites: 0.625,
  dollarsPerMillionReads: 0.125,
  dollarsPerGbMonth: 0.25,
  /** Developer guide, "Read and write operations": one for each KiB begun, and for each 4 KiB of a strongly consistent read; a read that is eventually consistent is half of that. */
  writeUnitBytes: 1_024,
  readUnitBytes: 4_096,
  /** Developer guide, "Item sizes": for each item, in storage. */
  storageOverheadBytes: 100,
  /** Removal by the service's TTL is free. It comes "within a few days" of it: assumed, in hours, with the two that the store adds. */
  removedAfterHours: 26,
  /** Developer guide, "Burst and adaptive capacity": for each partition, a second. */
  partitionWrites: 1_000,
  /** Developer guide, "On-demand capacity mode": what a new table takes at once. */
  newTableWrites: 4_000,
  /** Developer guide, "Quotas": for a table, a second, by default; can be raised on request. */
  tableWrites: 40_000,
} as const;

/** azure.microsoft.com/pricing/details/storage/tables, East US, LRS. */
export const TABLES = {
  dollarsPer10kTransactions: 0.000_36,
  dollarsPerGbMonth: 0.045,
  /** learn.microsoft.com/azure/storage/tables/scalability-targets: entities of 1 KiB a second. */
  partitionEntities: 2_000,
  accountTransactions: 20_000,
  /** Clean-up once a day: what has expired stays half a day more. */
  removedAfterHours: 36,
  /** A page of a listing. */
  entitiesOfAPage: 1_000,
} as const;

/** No price for a request: a server, and a disk. aws.amazon.com/rds/postgresql/pricing, us-east-1: db.m7g.large (2 vCPU, 8 GiB), one zone; gp3 storage. */
export const POSTGRES = {
  dollarsPerHour: 0.168,
  dollarsPerGbMonth: 0.115,
  hoursAMonth: 730,
  /** Clean-up once a day. */
  removedAfterHours: 36,
} as const;
