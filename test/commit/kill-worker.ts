/**
 * A process of its own that commits rows with `commitWith` or `runInTransaction`, and says so, until it is killed.
 *
 * @module
 */
import { writeSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import type { RecordStore } from '../../src/core/ports.ts';
import { type Run, runOnce } from '../../src/index.ts';
import { dynamodbStore } from '../../src/stores/dynamodb/index.ts';
import { commitWith, runInTransaction, sqliteStore } from '../../src/stores/sqlite/index.ts';
import { type KillPlace, type KillTask, LEASE_MS, OPERATION } from './kill-task.ts';
import { dynamodbRows } from './places.ts';

const say = (line: string): void => void writeSync(1, `${line}\n`);

/** Dies in between two statements. */
function mortal(database: DatabaseSync, afterStatements: number): DatabaseSync {
  let left = afterStatements;
  const dying = <T>(statement: () => T): T => {
    if (left === 0) process.kill(process.pid, 'SIGKILL');
    left -= 1;
    return statement();
  };
  const exec = database.exec.bind(database);
  const prepare = database.prepare.bind(database);
  database.exec = (sql) => dying(() => exec(sql));
  database.prepare = (sql) => {
    const statement = prepare(sql);
    const [get, run] = [statement.get.bind(statement), statement.run.bind(statement)];
    statement.get = (...values: never[]) => dying(() => get(...values));
    statement.run = (...values: never[]) => dying(() => run(...values));
    return statement;
  };
  return database;
}

interface Opened {
  readonly store: RecordStore;
  commit(run: Run, row: string): Promise<void>;
}

function open(place: KillPlace, afterStatements: number): Opened {
  if (place.kind === 'dynamodb') {
    const { endpoint, tableName, TableName } = place;
    const client = new DynamoDBClient({ endpoint, region: 'eu-west-1', credentials: { accessKeyId: 'local', secretAccessKey: 'local' } });
    const rows = dynamodbRows(client, TableName);
    return { store: dynamodbStore({ client, tableName }), commit: (run, row) => rows.commit(run, row, row) };
  }
  const database = mortal(new DatabaseSync(place.path), afterStatements);
  return { store: sqliteStore({ database }), commit: (run, row) => commitWith(run, row, insert(row)) };
}

const insert =
  (row: string) =>
  (db: DatabaseSync): string => {
    db.prepare('INSERT INTO line VALUES (?)').run(row);
    return row;
  };

const [place, { mode, keys, afterStatements = Number.POSITIVE_INFINITY, stays }] = JSON.parse(process.argv[2] ?? '[]') as [KillPlace, KillTask];
const { store, commit } = open(place, afterStatements);
say('ready');
for (const key of keys) {
  const call = { store, operation: OPERATION, key };
  if (mode === 'in-transaction') await runInTransaction(call, insert(key));
  else {
    await runOnce({ ...call, leaseMs: LEASE_MS[place.kind], renew: 'none', onInFlight: { waitMs: 20_000 } }, async (run) => {
      await commit(run, key);
      say('committed');
      if (stays) await new Promise((resolve) => setTimeout(resolve, 60_000));
    });
  }
}
say('done');
