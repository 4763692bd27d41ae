/**
 * From one run to a month of them: money, and the limit that is met first.
 *
 * @module
 */
import { DYNAMODB, gigabytes, KEPT_HOURS, POSTGRES, REPLAYS_A_RUN, RUNS_A_MONTH, SECONDS_A_MONTH, TABLES } from './assumptions.ts';
import type { DynamodbRun } from './dynamodb.ts';
import type { PostgresRun } from './postgres.ts';
import type { TablesRun } from './tables.ts';

export const RUNS_A_SECOND = RUNS_A_MONTH / SECONDS_A_MONTH;
const kept = (hours: number): number => RUNS_A_SECOND * hours * 3_600;
const MILLION = 1e6;

/** Dollars for what is asked, and for what is kept. */
export interface Bill {
  readonly asked: number;
  readonly kept: number;
  readonly keptGb: number;
}

export const total = ({ asked, kept: room }: Bill): number => asked + room;

export function dynamodbBill({ first, replay, keptBytes }: DynamodbRun): Bill {
  const units = (of: 'writes' | 'reads'): number => RUNS_A_MONTH * (first[of] + REPLAYS_A_RUN * replay[of]);
  const asked = (units('writes') / MILLION) * DYNAMODB.dollarsPerMillionWrites + (units('reads') / MILLION) * DYNAMODB.dollarsPerMillionReads;
  return stored(asked, gigabytes(kept(KEPT_HOURS - 24 + DYNAMODB.removedAfterHours) * keptBytes), DYNAMODB.dollarsPerGbMonth);
}

/** Each record is removed by a request of its own, found by a listing. */
export function tablesBill({ first, replay, keptBytes }: TablesRun): Bill {
  const cleanUp = 1 + 1 / TABLES.entitiesOfAPage;
  const transactions = RUNS_A_MONTH * (first + REPLAYS_A_RUN * replay + cleanUp);
  return stored(
    (transactions / 10_000) * TABLES.dollarsPer10kTransactions,
    gigabytes(kept(TABLES.removedAfterHours) * keptBytes),
    TABLES.dollarsPerGbMonth,
  );
}

export const postgresBill = ({ keptBytes }: PostgresRun): Bill =>
  stored(POSTGRES.dollarsPerHour * POSTGRES.hoursAMonth, gigabytes(kept(POSTGRES.removedAfterHours) * keptBytes), POSTGRES.dollarsPerGbMonth);

const stored = (asked: number, keptGb: number, dollarsPerGb: number): Bill => ({ asked, kept: keptGb * dollarsPerGb, keptGb });

export interface Limit {
  readonly store: string;
  readonly what: string;
  /** Runs a second, replays included in their share. */
  readonly runsASecond: number;
  readonly why: string;
}

export function limits(dynamodb: DynamodbRun, tables: TablesRun): readonly Limit[] {
  const units = dynamodb.first.writes + REPLAYS_A_RUN * dynamodb.replay.writes;
  const transactions = tables.first + REPLAYS_A_RUN * tables.replay + 1;
  const inPartition = tables.first + REPLAYS_A_RUN * tables.replay;
  return [
    {
      store: 'DynamoDB',
      what: `a new table at once: ${DYNAMODB.newTableWrites} units/s`,
      runsASecond: DYNAMODB.newTableWrites / units,
      why: 'first to be met by a table that is new: it doubles in 30 minutes, and can be warmed',
    },
    {
      store: 'DynamoDB',
      what: `the table's default quota: ${DYNAMODB.tableWrites} units/s`,
      runsASecond: DYNAMODB.tableWrites / units,
      why: 'first to be met later on: ids are hashes, so that keys spread over all partitions; can be raised',
    },
    {
      store: 'DynamoDB',
      what: `one key: ${DYNAMODB.partitionWrites} units/s of a partition`,
      runsASecond: DYNAMODB.partitionWrites / Math.max(1, dynamodb.replay.writes),
      why: 'replays of one key alone; no spreading helps, `localReplay` does',
    },
    {
      store: 'Table Storage',
      what: `the account: ${TABLES.accountTransactions} transactions/s`,
      runsASecond: TABLES.accountTransactions / transactions,
      why: 'first to be met: ids are hashed over 256 partitions, each with room for more than its share; more accounts are more',
    },
    {
      store: 'Table Storage',
      what: `one partition: ${TABLES.partitionEntities} entities/s`,
      runsASecond: TABLES.partitionEntities / inPartition,
      why: 'only where a partition is chosen (`inPartition`, `partitions: 1`), and for replays of one key',
    },
  ];
}
