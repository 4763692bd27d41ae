import { randomUUID } from 'node:crypto';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { PlainStore } from '../../src/core/ports.ts';
import { runOnce } from '../../src/index.ts';
import { commitWith, sqliteStore } from '../../src/stores/sqlite/index.ts';
import { byLength } from '../support/long.ts';
import { type DatabaseFolder, databaseFolder } from '../support/sqlite-file.ts';
import { endAll, idOf, isFree, startWorker } from './kill-stage.ts';
import { type KillPlace, LINES, OPERATION } from './kill-task.ts';

const MOST_STATEMENTS = 40;
const KILLS = byLength(8, 10, 60);

describe('a process that is killed while it commits to a SQLite file', () => {
  let folder: DatabaseFolder;
  let place: KillPlace;
  let store: PlainStore;
  let plain: DatabaseSync;
  beforeEach(async () => {
    folder = await databaseFolder();
    place = { kind: 'sqlite', path: folder.path };
    store = sqliteStore({ path: folder.path });
    await store.setUp();
    plain = new DatabaseSync(folder.path);
    plain.exec(LINES);
  });
  afterEach(async () => {
    await endAll();
    plain.close();
    await store.close();
    await folder.remove();
  });
  const times = (row: string): number => (plain.prepare('SELECT count(*) AS n FROM line WHERE row = ?').get(row) as { n: number }).n;
  const isDone = async (row: string): Promise<boolean> => (await store.read(idOf(row)))?.record.state === 'completed';
  const insert = (row: string) => (db: DatabaseSync) => db.prepare('INSERT INTO line VALUES (?)').run(row);

  it.each(['commit', 'in-transaction'] as const)(
    'I1 I3 (%s) between any two statements: row and record agree, and the next call ends it with one row',
    async (mode) => {
      const left: string[] = [];
      for (let afterStatements = 0; ; afterStatements++) {
        if (afterStatements === MOST_STATEMENTS) throw new Error('it never came to its end');
        const row = `row-${randomUUID()}`;
        const end = await startWorker(place, { mode, keys: [row], afterStatements }).ended();
        const [stands, done] = [times(row), await isDone(row)];
        expect([stands, done]).toEqual(done ? [1, true] : [0, false]);
        left.push(done ? 'both' : 'neither');
        await isFree(store, row);
        const value = await runOnce<unknown>({ store, operation: OPERATION, key: row }, (run) => commitWith(run, 'again', insert(row)));
        expect([value, times(row)]).toEqual([done ? row : 'again', 1]);
        if (end === 0) break;
        expect(end).toBe('SIGKILL');
      }
      // Neither until COMMIT, both from there on; and there were many moments before it.
      expect(left.indexOf('both')).toBeGreaterThan(5);
      expect(left.slice(left.indexOf('both'))).not.toContain('neither');
    },
    90_000,
  );

  it.each(['commit', 'in-transaction'] as const)(
    `I1 I3 (%s) at random, ${KILLS} times: each of 60 rows stands once, with its record`,
    async (mode) => {
      const keys = Array.from({ length: 60 }, (_, n) => `row-${n}`);
      for (let kill = 0; kill < KILLS; kill++) {
        const worker = startWorker(place, { mode, keys });
        await worker.said('ready');
        await pause(Math.random() * 60);
        await worker.kill();
        for (const row of keys) expect([row, times(row)]).toEqual([row, (await isDone(row)) ? 1 : 0]);
      }
      expect(await startWorker(place, { mode, keys }).ended()).toBe(0);
      expect(keys.map(times)).toEqual(keys.map(() => 1));
      expect(await Promise.all(keys.map(isDone))).toEqual(keys.map(() => true));
    },
    KILLS * 5_000 + 30_000,
  );
});
