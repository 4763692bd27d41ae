/**
 * What a billion runs a month cost: an estimate from counted requests and bytes, and which limit of a service is met first.
 *
 * @module
 */
import type { Figure, Measured, Section, Table } from '../section.ts';
import { DYNAMODB, POSTGRES, REPLAYS_A_RUN, RESULT_BYTES, RUNS_A_MONTH, TABLES } from './assumptions.ts';
import { type DynamodbRun, measureDynamodb } from './dynamodb.ts';
import { type Bill, dynamodbBill, limits, postgresBill, RUNS_A_SECOND, tablesBill, total } from './month.ts';
import { measurePostgres, type PostgresRun } from './postgres.ts';
import { measureTables, type TablesRun } from './tables.ts';

export interface Costs {
  readonly dynamodb: readonly DynamodbRun[];
  readonly tables: readonly TablesRun[];
  readonly postgres: readonly PostgresRun[];
}

const ASSUMED = `Assumed: ${RUNS_A_MONTH / 1e9} billion runs a month (${RUNS_A_SECOND.toFixed(0)} a second all the time), ${REPLAYS_A_RUN * 100} % of them called again, records kept for a day; results that do not compress; list prices of May 2025 in us-east-1 and East US (bench/cost/assumptions.ts).`;

const bytes = (count: number): string => `${count.toLocaleString('en-US', { maximumFractionDigits: 0 })} B`;
const dollars = (value: number): string => `$${value.toLocaleString('en-US', { maximumFractionDigits: 0 })}`;
const billed = (bill: Bill): string[] => [dollars(bill.asked), `${dollars(bill.kept)} (${bill.keptGb.toFixed(0)} GB)`, dollars(total(bill))];

const dynamodbTable = (runs: readonly DynamodbRun[]): Table => ({
  title: 'DynamoDB on demand: a billion runs a month',
  columns: ['result', 'first run: requests, write units', 'replay: requests, write + read units', 'stays', 'requests', 'storage', 'a month'],
  rows: runs.map((run) => [
    bytes(run.resultBytes),
    `${run.first.requests}, ${run.first.writes}`,
    `${run.replay.requests}, ${run.replay.writes} + ${run.replay.reads}`,
    bytes(run.keptBytes),
    ...billed(dynamodbBill(run)),
  ]),
  note: `${ASSUMED} Removal by TTL is free. $${DYNAMODB.dollarsPerMillionWrites} for a million write units, $${DYNAMODB.dollarsPerMillionReads} for read units, $${DYNAMODB.dollarsPerGbMonth} for a GB.`,
});

const tablesTable = (runs: readonly TablesRun[]): Table => ({
  title: 'Table Storage: a billion runs a month',
  columns: ['result', 'first run: transactions', 'replay: transactions', 'stays', 'transactions', 'storage', 'a month'],
  rows: runs.map((run) => [bytes(run.resultBytes), String(run.first), String(run.replay), bytes(run.keptBytes), ...billed(tablesBill(run))]),
  note: `${ASSUMED} One transaction more removes a record. $${TABLES.dollarsPer10kTransactions} for 10,000 transactions, $${TABLES.dollarsPerGbMonth} for a GB.`,
});

const postgresTable = (runs: readonly PostgresRun[]): Table => ({
  title: 'PostgreSQL: a billion runs a month',
  columns: ['result', 'statements/s', 'log for a run (after a checkpoint)', 'log, MB/s', 'row with indexes', 'server', 'storage', 'a month'],
  rows: runs.map((run) => [
    bytes(run.resultBytes),
    (RUNS_A_SECOND * (run.first + REPLAYS_A_RUN * run.replay)).toFixed(0),
    `${bytes(run.walBytes)} (${bytes(run.walBytesAfterCheckpoint)})`,
    ((RUNS_A_SECOND * run.walBytes) / 1e6).toFixed(2),
    bytes(run.keptBytes),
    ...billed(postgresBill(run)),
  ]),
  note: `${ASSUMED} No request has a price: a server of 2 vCPU ($${POSTGRES.dollarsPerHour} an hour; a standby doubles it) and its disk ($${POSTGRES.dollarsPerGbMonth} for a GB). After a checkpoint: with the images of whole pages.`,
});

function limitsTable({ dynamodb, tables }: Costs): Table {
  const [smallDynamodb] = dynamodb;
  const [smallTables] = tables;
  if (smallDynamodb === undefined || smallTables === undefined) throw new Error('nothing was measured');
  return {
    title: `Which limit is met first (results of ${bytes(smallDynamodb.resultBytes)})`,
    columns: ['store', 'limit', 'runs/s', 'a month', ''],
    rows: limits(smallDynamodb, smallTables).map(({ store, what, runsASecond, why }) => [
      store,
      what,
      runsASecond.toLocaleString('en-US', { maximumFractionDigits: 0 }),
      `${((runsASecond / RUNS_A_SECOND) * (RUNS_A_MONTH / 1e9)).toFixed(1)} × 10^9`,
      why,
    ]),
    note: 'PostgreSQL: no limit of a service; the disk and its log are met first, see the statements and MB a second above.',
  };
}

export function shown(costs: Costs): Measured {
  const figure = (store: string, resultBytes: number, bill: Bill): Figure => ({
    name: `10^9 runs a month, ${store}, result of ${bytes(resultBytes)}`,
    value: Math.round(total(bill)),
    unit: '$',
  });
  return {
    tables: [dynamodbTable(costs.dynamodb), tablesTable(costs.tables), postgresTable(costs.postgres), limitsTable(costs)],
    figures: [
      ...costs.dynamodb.map((run) => figure('DynamoDB on demand', run.resultBytes, dynamodbBill(run))),
      ...costs.tables.map((run) => figure('Table Storage', run.resultBytes, tablesBill(run))),
      ...costs.postgres.map((run) => figure('PostgreSQL (2 vCPU)', run.resultBytes, postgresBill(run))),
    ],
  };
}

async function measure({ share }: { readonly share: number }): Promise<Measured> {
  const dynamodb = await measureDynamodb(RESULT_BYTES);
  const tables = await measureTables(RESULT_BYTES);
  const postgres = await measurePostgres(RESULT_BYTES, Math.max(20, Math.round(500 * Math.min(1, share))));
  return shown({ dynamodb, tables, postgres });
}

export const section: Section = { name: 'cost', measure };
