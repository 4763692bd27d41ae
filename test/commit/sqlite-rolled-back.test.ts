import type { DatabaseSync } from 'node:sqlite';
import { beforeEach, describe, expect, it } from 'vitest';
import { type Fence, PermanentError, type Run, tryRunOnce } from '../../src/index.ts';
import { commitWith, fencedTransaction, runInTransaction, sqliteStore, tryRunInTransaction } from '../../src/stores/sqlite/index.ts';
import { caught, ID, insert, linesStage, OPERATION } from './sqlite-lines.ts';

const UNIQUE = { code: 'ERR_SQLITE_ERROR', message: expect.stringContaining('UNIQUE') };
const BLOCKED = { code: 'WRITE_UNKNOWN', message: expect.stringContaining('the work ended the transaction itself') };
const remember = () => 'remember' as const;
const again = (db: DatabaseSync) => db.exec('INSERT INTO only VALUES (1)');

describe('work in a transaction of SQLite whose rows must not stand', () => {
  const its = linesStage();
  const { options, lines } = its;
  beforeEach(() => {
    its.plain.exec(`CREATE TABLE only (n INTEGER UNIQUE); INSERT INTO only VALUES (1); CREATE TABLE no (n INTEGER);
      CREATE TRIGGER no_rows BEFORE INSERT ON no BEGIN SELECT RAISE(ROLLBACK, 'no rows'); END`);
  });

  it.each([
    ['a plain failure', again],
    ['OR FAIL', (db: DatabaseSync) => db.exec('INSERT OR FAIL INTO only VALUES (2), (1)')],
    ['a mistake in the statement', (db: DatabaseSync) => db.exec('nonsense')],
  ])("I3 I8 an error of SQLite's that is remembered (%s) is replayed, and no row of its work stands", async (_, fail) => {
    let calls = 0;
    const once = () =>
      tryRunInTransaction(options({ onThrow: remember }), (db) => {
        calls += 1;
        insert(1)(db);
        fail(db);
      });
    expect(await once()).toMatchObject({ kind: 'failed', replayed: false, error: { code: 'ERR_SQLITE_ERROR' } });
    expect(await once()).toMatchObject({ kind: 'failed', replayed: true });
    expect([calls, lines(), its.plain.prepare('SELECT n FROM only').all()]).toEqual([1, [], [{ n: 1 }]]);
  });

  it.each([
    ['RAISE(ROLLBACK)', 'INSERT INTO no VALUES (1)', 'no rows'],
    ['OR ROLLBACK', 'INSERT OR ROLLBACK INTO only VALUES (1)', 'UNIQUE'],
  ])('I8 where SQLite has ended the transaction (%s) its own error is thrown, nothing is remembered, and it may run again', async (_, sql, says) => {
    const failing = runInTransaction(options({ onThrow: remember }), (db) => {
      insert(1)(db);
      db.exec(sql);
    });
    expect(await caught(failing)).toMatchObject({ code: 'ERR_SQLITE_ERROR', message: expect.stringContaining(says) });
    expect([await its.store.read(ID), lines()]).toEqual([undefined, []]);
    expect(await runInTransaction(options(), insert(2))).toBe(2);
  });

  it('I8 a PermanentError about a transaction that SQLite has ended is thrown as it is, and no row stands', async () => {
    const failure = new PermanentError('no rows');
    const failing = runInTransaction(options(), (db) => {
      insert(1)(db);
      try {
        db.exec('INSERT INTO no VALUES (1)');
      } catch {
        throw failure;
      }
    });
    expect(await caught(failing)).toBe(failure);
    expect([await its.store.read(ID), lines()]).toEqual([undefined, []]);
  });

  it.each([
    ['ROLLBACK', [2]],
    ['COMMIT', [1, 2]],
    ['COMMIT; BEGIN', [1]],
    ['INSERT OR ROLLBACK INTO only VALUES (1)', [2]],
  ])("I8 rows that stand after %s, and an error of SQLite's behind them: WRITE_UNKNOWN, and the record is blocked", async (sql, standing) => {
    for (const onThrow of [remember, () => 'release' as const]) {
      const key = onThrow === remember ? 1 : 2;
      const failing = runInTransaction(options({ onThrow, key }), (db) => {
        insert(1)(db);
        try {
          db.exec(sql);
        } catch {}
        insert(2)(db);
        again(db);
      });
      await expect(failing).rejects.toMatchObject(BLOCKED);
      expect(lines()).toEqual(standing);
      await expect(runInTransaction(options({ key }), insert(3))).rejects.toMatchObject({ code: 'BLOCKED' });
      its.plain.exec('DELETE FROM line');
    }
  });

  it('I8 a transaction that the work rolled back, and a throw with nothing written after it, is that throw', async () => {
    const failing = runInTransaction(options(), (db) => {
      insert(1)(db);
      db.exec('ROLLBACK; BEGIN');
      insert(2)(db);
      again(db);
    });
    expect(await caught(failing)).toMatchObject(UNIQUE);
    expect([await its.store.read(ID), lines()]).toEqual([undefined, []]);
    expect(await runInTransaction(options(), insert(3))).toBe(3);
  });

  it("I8 so it is on a connection of the caller's without a write-ahead log; rows in another file may stand, whatever SQLite has ended", async () => {
    await its.store.close();
    its.plain.exec('PRAGMA journal_mode = DELETE');
    const store = sqliteStore({ database: its.plain });
    const failing = (key: number, work: (db: DatabaseSync) => void) => caught(runInTransaction(options({ store, key, onThrow: remember }), work));
    const raises = (db: DatabaseSync): void => {
      insert(1)(db);
      db.exec('INSERT INTO no VALUES (1)');
    };
    expect(await failing(1, raises)).toMatchObject({ code: 'ERR_SQLITE_ERROR', message: 'no rows' });
    expect(await runInTransaction(options({ store }), insert(2))).toBe(2);
    expect(await failing(2, (db) => db.exec('ROLLBACK; INSERT INTO line VALUES (3); INSERT INTO only VALUES (1)'))).toMatchObject(BLOCKED);
    its.plain.exec("ATTACH ':memory:' AS beside; ATTACH '' AS besides");
    expect(await failing(3, raises)).toMatchObject({ code: 'ERR_SQLITE_ERROR', message: 'no rows' });
    its.plain.exec(`ATTACH '${its.stage.path}.other' AS other`);
    expect(await failing(4, raises)).toMatchObject(BLOCKED);
    expect(lines()).toEqual([2, 3]);
  });

  it('I8 in memory nothing tells whether rows stand: the record is blocked', async () => {
    const store = its.stage.opened(sqliteStore({ path: ':memory:' }));
    await store.setUp?.();
    const failing = runInTransaction(options({ store }), (db) => {
      db.exec('CREATE TABLE only (n INTEGER UNIQUE); INSERT INTO only VALUES (1)');
      db.exec('INSERT OR ROLLBACK INTO only VALUES (1)');
    });
    await expect(failing).rejects.toMatchObject(BLOCKED);
  });

  it.each(['rerunsafe_work', 'rerunsafe'])('I3 a savepoint of the work, named %s, keeps none of its rows', async (name) => {
    const failing = runInTransaction(options(), (db) => {
      insert(1)(db);
      db.exec(`SAVEPOINT ${name}`);
      insert(2)(db);
      throw new PermanentError('no');
    });
    await expect(failing).rejects.toThrow('no');
    expect(lines()).toEqual([]);
    expect(await tryRunInTransaction(options(), insert(3))).toMatchObject({ kind: 'failed', replayed: true });
  });

  describe('a statement of the work that is still going on', () => {
    const kept: unknown[] = [];
    const unfinished = (db: DatabaseSync): void => {
      const rows = db.prepare('INSERT INTO line VALUES (1), (2) RETURNING n').iterate();
      rows.next();
      kept.push(rows);
    };
    const GOING_ON = { code: 'INVALID_OPTIONS', message: expect.stringContaining('still going on') };

    it("I12 is refused at once by that name, rolled back, and in no later call's way", async () => {
      let calls = 0;
      const failing = runInTransaction(options(), (db) => {
        calls += 1;
        unfinished(db);
      });
      await expect(failing).rejects.toMatchObject(GOING_ON);
      expect([calls, await its.store.read(ID), lines()]).toEqual([1, undefined, []]);
      expect(await runInTransaction(options(), insert(3))).toBe(3);
      expect(lines()).toEqual([3]);
    });

    it('I12 and a throw after it: the throw comes through, and nothing stands', async () => {
      const failure = new PermanentError('no');
      const failing = runInTransaction(options(), (db) => {
        unfinished(db);
        throw failure;
      });
      expect(await caught(failing)).toBe(failure);
      expect(lines()).toEqual([]);
      expect(await runInTransaction(options({ key: 2 }), insert(3))).toBe(3);
    });

    it("I12 on a connection of the caller's it is named to every call, until it has ended", async () => {
      const store = sqliteStore({ database: its.plain });
      let rows: Iterator<unknown> | undefined;
      const failing = runInTransaction(options({ store }), (db) => {
        rows = db.prepare('INSERT INTO line VALUES (1), (2) RETURNING n').iterate();
        rows.next();
      });
      await expect(failing).rejects.toMatchObject(GOING_ON);
      await expect(runInTransaction(options({ store }), insert(3))).rejects.toMatchObject(GOING_ON);
      rows?.return?.();
      expect(await runInTransaction(options({ store }), insert(3))).toBe(3);
      expect(lines()).toEqual([3]);
    });

    it("a reading one is in nobody's way", async () => {
      await runInTransaction(options(), (db) => {
        for (const n of [1, 2, 3]) insert(n)(db);
        const rows = db.prepare('SELECT n FROM line').iterate();
        rows.next();
        kept.push(rows);
      });
      expect(await runInTransaction(options({ key: 2 }), insert(4))).toBe(4);
      expect(lines()).toEqual([1, 2, 3, 4]);
    });
  });

  describe('under commitWith and fencedTransaction', () => {
    const restarts = (db: DatabaseSync): void => {
      db.exec('COMMIT; BEGIN');
      insert(1)(db);
    };
    const ends = (db: DatabaseSync): void => {
      db.exec('ROLLBACK');
      insert(1)(db);
      again(db);
    };

    it("I8 a rollback of its own, rows, and an error of SQLite's: WRITE_UNKNOWN, and it is not called again", async () => {
      let calls = 0;
      const running = tryRunOnce<unknown>({ store: its.store, operation: OPERATION, key: 1, leaseMs: 2_000, renew: 'none' }, (at: Run) =>
        commitWith(at, 1, (db) => {
          calls += 1;
          ends(db);
        }),
      );
      await expect(running).rejects.toMatchObject({ code: 'WRITE_UNKNOWN' });
      expect([calls, lines()]).toEqual([1, [1]]);
    });

    it('S6 the same under a fence is WRITE_UNKNOWN, thrown or not: those rows were not fenced', async () => {
      await tryRunOnce({ store: its.store, operation: OPERATION, key: 1 }, async ({ fence }) => {
        for (const work of [ends, restarts, (db: DatabaseSync) => db.exec('COMMIT')]) {
          await expect(fencedTransaction(its.plain, fence as Fence, work)).rejects.toMatchObject({ code: 'WRITE_UNKNOWN' });
        }
      });
    });
  });
});
