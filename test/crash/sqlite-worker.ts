/**
 * A process of its own on a database file: says each thing it did as a line of JSON, written before it goes on.
 *
 * @module
 */
import { randomUUID } from 'node:crypto';
import { writeSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { isRerunSafeError } from '../../src/index.ts';
import { sqliteStore } from '../../src/stores/sqlite/index.ts';
import { completed, sample } from '../../src/testing/record-store/subject.ts';
import type { SqliteTask } from './sqlite-task.ts';

const say = (line: object): void => void writeSync(1, `${JSON.stringify(line)}\n`);
const codeOf = (error: unknown): string => (isRerunSafeError(error) ? error.code : String(error));

/** Once the record is there, adds 1 to it so often, by read and conditional write, without a pause. */
async function add(path: string, id: string, times: number): Promise<void> {
  const store = sqliteStore({ path });
  say({ ready: true });
  while ((await store.read(id)) === undefined) await new Promise((resolve) => setTimeout(resolve, 2));
  const failed: string[] = [];
  let lost = 0;
  for (let done = 0; done < times; ) {
    try {
      const standing = await store.read(id);
      if (standing === undefined) throw new Error('no record');
      const result = await store.replace(id, sample({ attempt: standing.record.attempt + 1 }), standing.version);
      if (result.ok) done += 1;
      else lost += 1;
    } catch (error) {
      failed.push(codeOf(error));
    }
  }
  say({ failed, lost });
}

/** Until it is killed, or the first failure. */
async function keepWriting(path: string): Promise<void> {
  const store = sqliteStore({ path });
  for (;;) {
    const id = randomUUID();
    try {
      await store.create(id, completed({ outcome: { kind: 'value', value: 'x'.repeat(10_000) } }));
    } catch (error) {
      return say({ failed: codeOf(error), id });
    }
    say({ written: id });
  }
}

/** Dies of SIGKILL when so many statements have been executed. */
async function dieInside(path: string, { transition, id, afterStatements }: Extract<SqliteTask, { do: 'die inside' }>): Promise<void> {
  const store = sqliteStore({ database: mortal(new DatabaseSync(path), afterStatements) });
  const result =
    transition === 'create'
      ? store.create(id, sample({ attempt: 2 }))
      : store.replace(id, sample({ attempt: 2 }), (await plainVersion(path, id)) ?? '');
  await result;
  say({ survived: true });
}

async function plainVersion(path: string, id: string): Promise<string | undefined> {
  const store = sqliteStore({ path });
  const standing = await store.read(id);
  await store.close();
  return standing?.version;
}

function mortal(database: DatabaseSync, afterStatements: number): DatabaseSync {
  let left = afterStatements;
  const dying = <T>(statement: () => T): T => {
    if (left === 0) process.kill(process.pid, 'SIGKILL');
    left -= 1;
    const result = statement();
    if (left === 0) process.kill(process.pid, 'SIGKILL');
    return result;
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

/** Writes and leaves the store open. */
async function leaveOpen(path: string): Promise<void> {
  const store = sqliteStore({ path });
  await store.create(randomUUID(), sample());
  say({ written: true });
}

const [path, task] = JSON.parse(process.argv[2] ?? '[]') as [string, SqliteTask];
if (task.do === 'add') await add(path, task.id, task.times);
else if (task.do === 'keep writing') await keepWriting(path);
else if (task.do === 'die inside') await dieInside(path, task);
else await leaveOpen(path);
