import { existsSync } from 'node:fs';
import { readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { sqliteStore } from '../../../src/stores/sqlite/index.ts';
import { databaseFile } from '../../../src/stores/sqlite/source.ts';
import { completed, freshId, put, sample } from '../../../src/testing/record-store/subject.ts';
import { all, sqliteStage } from './sqlite-subject.ts';

const HOUR_MS = 3_600_000;

describe('sqliteStore', () => {
  const stage = sqliteStage();

  describe('set-up', () => {
    it('refuses wrong options, all of them in one message', () => {
      const wrong = {
        path: 'file:x.db',
        tableName: 'sqlite_x',
        busyTimeoutMs: -1,
        uncertaintyMs: 0.5,
        maxRecordBytes: 1,
        clock: {},
        database: 7,
        url: '',
      };
      expect(() => sqliteStore(wrong as never)).toThrow(
        expect.objectContaining({ code: 'INVALID_OPTIONS', facts: { problems: Object.keys(wrong).map((name) => expect.stringContaining(name)) } }),
      );
      for (const options of [{}, { path: stage.path, database: stage.connection() }]) {
        expect(() => sqliteStore(options)).toThrow(expect.objectContaining({ code: 'INVALID_OPTIONS' }));
      }
      for (const tableName of ['a b', '1a', 'a"b', '', 'x'.repeat(64)])
        expect(() => sqliteStore({ path: stage.path, tableName })).toThrow(/tableName/);
    });

    it('I8 a stage.path at which there is no file is STORE_MISCONFIGURED, and no empty database appears there', async () => {
      const store = stage.another();
      await expect(store.read('x')).rejects.toMatchObject({
        code: 'STORE_MISCONFIGURED',
        retryable: false,
        message: expect.stringContaining('setUp()'),
      });
      await expect(store.create('x', sample())).rejects.toMatchObject({ code: 'STORE_MISCONFIGURED' });
      expect(existsSync(stage.path)).toBe(false);
    });

    it('I8 a file without the table is STORE_MISCONFIGURED until it was set up; the same store then goes on', async () => {
      await stage.fresh({ tableName: 'of_somebody_else' });
      const store = stage.another();
      await expect(store.create('x', sample())).rejects.toMatchObject({ code: 'STORE_MISCONFIGURED', message: expect.stringContaining('setUp()') });
      await store.setUp();
      expect(await store.create('x', sample())).toMatchObject({ ok: true });
    });

    it('I8 what is no database, cannot be opened or may not be written is STORE_MISCONFIGURED', async () => {
      await stage.fresh();
      const elsewhere = sqliteStore({ path: join(stage.path, '..', 'no-such-folder', 'x.db') });
      await expect(elsewhere.setUp()).rejects.toMatchObject({ code: 'STORE_MISCONFIGURED' });
      const readOnly = sqliteStore({ database: stage.opened(new DatabaseSync(stage.path, { readOnly: true })) });
      await expect(readOnly.create('x', sample())).rejects.toMatchObject({ code: 'STORE_MISCONFIGURED' });
      const closed = stage.connection();
      closed.close();
      await expect(sqliteStore({ database: closed }).read('x')).rejects.toMatchObject({ code: 'STORE_MISCONFIGURED' });
      await writeFile(`${stage.path}.txt`, 'no database at all, but long enough to be taken for the header of one'.repeat(20));
      await expect(sqliteStore({ path: `${stage.path}.txt` }).read('x')).rejects.toMatchObject({ code: 'STORE_MISCONFIGURED' });
    });

    it('64 stores that set up one file at the same time all succeed', async () => {
      await Promise.all(Array.from({ length: 64 }, () => stage.fresh()));
      expect(await all(stage.another())).toEqual([]);
    });

    it('two tables in one file know nothing of each other, and two stores in memory neither', async () => {
      const stores = [
        await stage.fresh(),
        await stage.fresh({ tableName: 'b' }),
        sqliteStore({ path: ':memory:' }),
        sqliteStore({ path: ':memory:' }),
      ];
      const id = freshId();
      for (const store of stores) {
        await store.setUp();
        expect(await store.create(id, sample())).toMatchObject({ ok: true });
      }
    });

    it('I3 what is answered is on the disk: a write-ahead log, a full fsync at each commit, and no lock is waited for inside SQLite', async () => {
      const source = databaseFile(stage.path);
      await source.load();
      const { database } = source.session(true);
      const pragma = (name: string): unknown => Object.values(database.prepare(`PRAGMA ${name}`).get() ?? {})[0];
      expect([pragma('journal_mode'), pragma('synchronous'), pragma('fullfsync'), pragma('busy_timeout')]).toEqual(['wal', 2, 1, 0]);
      source.close();
    });

    it("the caller's connection keeps its settings and stays open", async () => {
      const own = stage.connection();
      own.exec('PRAGMA busy_timeout = 17; PRAGMA synchronous = OFF');
      const settings = (): unknown => ['busy_timeout', 'synchronous', 'journal_mode'].map((name) => own.prepare(`PRAGMA ${name}`).get());
      const before = JSON.stringify(settings());
      const store = sqliteStore({ database: own });
      await store.setUp();
      await put(store, 'x', sample());
      await store.close();
      expect(JSON.stringify(settings())).toBe(before);
      expect(await store.read('x')).toBeDefined();
    });
  });

  describe('the file underneath', () => {
    it('I1 a file that was replaced while it was open is noticed: the store goes on with the one that stands there', async () => {
      const store = await stage.fresh();
      await put(store, 'x', sample());
      const other = sqliteStore({ path: `${stage.path}.restored` });
      await other.setUp();
      await put(other, 'y', sample());
      await other.close();
      await rename(`${stage.path}.restored`, stage.path);
      await rm(`${stage.path}-wal`);
      await rm(`${stage.path}-shm`);
      expect(await store.read('x')).toBeUndefined();
      expect(await store.create('y', sample())).toMatchObject({ ok: false });
      expect(await store.create('z', sample())).toMatchObject({ ok: true });
      expect(stage.connection().prepare('SELECT count(*) AS n FROM rerunsafe').get()).toEqual({ n: 2 });
    });

    it('I1 a file that was removed while it was open is STORE_MISCONFIGURED: nobody guards by what only he can see', async () => {
      const store = await stage.fresh();
      await put(store, 'x', sample());
      for (const name of await readdir(join(stage.path, '..'))) await rm(join(stage.path, '..', name));
      await expect(store.read('x')).rejects.toMatchObject({ code: 'STORE_MISCONFIGURED' });
      await expect(store.create('y', sample())).rejects.toMatchObject({ code: 'STORE_MISCONFIGURED' });
      expect(await readdir(join(stage.path, '..'))).toEqual([]);
    });

    it('a stage.path means the same file after the process has changed its folder', async () => {
      const before = process.cwd();
      try {
        process.chdir(join(stage.path, '..'));
        const store = stage.opened(sqliteStore({ path: 'records.db' }));
        process.chdir(before);
        await store.setUp();
        expect(existsSync(stage.path)).toBe(true);
      } finally {
        process.chdir(before);
      }
    });
  });

  describe('clocks', () => {
    it('I6 a clock set back makes nothing old, and nothing negative; set forward it ages at once', async () => {
      let nowMs = 1_767_225_600_000;
      const store = await stage.fresh({ clock: { nowMs: () => nowMs } });
      await put(store, 'x', sample());
      nowMs -= HOUR_MS;
      expect((await store.read('x'))?.ageMs).toBe(0);
      nowMs += 3 * HOUR_MS;
      expect((await store.read('x'))?.ageMs).toBe(2 * HOUR_MS);
      expect(store.clock).toMatchObject({ source: 'store', uncertaintyMs: 0 });
      expect(stage.another({ uncertaintyMs: 250 }).clock.uncertaintyMs).toBe(250);
    });
  });

  describe('failures', () => {
    it('I8 a full disk in the middle of a transaction is STORE_UNAVAILABLE: nothing was written, and it goes on when there is room', async () => {
      const own = stage.connection();
      const store = sqliteStore({ database: own });
      await store.setUp();
      const { page_count: pages } = own.prepare('PRAGMA page_count').get() as { page_count: number };
      own.exec(`PRAGMA max_page_count = ${pages + 2}`);
      const id = freshId();
      const large = completed({ outcome: { kind: 'value', value: 'x'.repeat(100_000) } });
      await expect(store.create(id, large)).rejects.toMatchObject({
        code: 'STORE_UNAVAILABLE',
        retryable: true,
        message: expect.stringContaining('full'),
      });
      expect(await store.read(id)).toBeUndefined();
      expect(await store.create(id, sample())).toMatchObject({ ok: true });
      own.exec('PRAGMA max_page_count = 100000');
      expect(await store.create(freshId(), large)).toMatchObject({ ok: true });
    });

    it("a lower limit on the caller's own connection makes a record too large, and that is a value", async () => {
      const store = sqliteStore({ database: stage.opened(new DatabaseSync(stage.path, { limits: { length: 20_000 } })) });
      await store.setUp();
      const large = completed({ outcome: { kind: 'value', value: 'x'.repeat(30_000) } });
      expect(await store.create('x', large)).toEqual({ ok: false, reason: 'too-large' });
      expect(await store.read('x')).toBeUndefined();
    });

    it('a limit of bytes counts bytes, and holds for the whole record', async () => {
      const store = await stage.fresh({ maxRecordBytes: 2_000 });
      expect(store.limits).toMatchObject({ maxRecordBytes: 2_000, inlineBytes: 2_000 });
      expect(await store.create('x', completed({ outcome: { kind: 'value', value: '漢'.repeat(600) } }))).toEqual({ ok: false, reason: 'too-large' });
      expect(await store.create('x', completed({ outcome: { kind: 'value', value: 'a'.repeat(600) } }))).toMatchObject({ ok: true });
    });

    it('a row that people have spoilt is STORE_MISCONFIGURED, an integer beyond 2^53 too; the others are not concerned', async () => {
      const store = await stage.fresh();
      const [spoilt, big, sound] = [freshId(), freshId(), freshId()];
      for (const id of [spoilt, big, sound]) await put(store, id, sample());
      stage
        .connection()
        .exec(`UPDATE rerunsafe SET state = 'done' WHERE id = '${spoilt}'; UPDATE rerunsafe SET token = 9007199254740993 WHERE id = '${big}'`);
      await expect(store.read(spoilt)).rejects.toMatchObject({ code: 'STORE_MISCONFIGURED' });
      await expect(store.read(big)).rejects.toMatchObject({ code: 'STORE_MISCONFIGURED' });
      expect(await store.read(sound)).toBeDefined();
      expect(() => stage.connection().exec(`UPDATE rerunsafe SET token = 'seven'`)).toThrow(/INTEGER/);
    });

    it('a fraction of a millisecond is rounded up, so that no lease ends before its owner thinks', async () => {
      const store = await stage.fresh({ clock: { nowMs: () => 1_767_225_600_000.7 } });
      await put(store, 'x', sample({ leaseMs: 100.2 }));
      expect((await store.read('x'))?.record).toMatchObject({ leaseMs: 101, writtenAtMs: 1_767_225_600_000 });
    });
  });
});
