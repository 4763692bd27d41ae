import { DatabaseSync } from 'node:sqlite';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { Fence, LeaseProvider, PlainStore } from '../../../src/core/ports.ts';
import { runOnce, storeLeases, tryAcquire } from '../../../src/index.ts';
import { type FencedTransactionOptions, fencedTransaction, sqliteStore } from '../../../src/stores/sqlite/index.ts';
import { sqliteStage } from './sqlite-subject.ts';

const LONG_MS = 60_000;

describe('fenced transactions on SQLite', () => {
  const stage = sqliteStage();
  let store: PlainStore;
  let leases: LeaseProvider;
  /** The caller's own connection, with a table of theirs. */
  let own: DatabaseSync;

  beforeEach(async () => {
    store = await stage.fresh();
    leases = storeLeases(store);
    own = stage.connection();
    own.exec('CREATE TABLE report (total INTEGER NOT NULL) STRICT');
  });

  const add = (total: number) => (database: DatabaseSync) => void database.exec(`INSERT INTO report VALUES (${total})`);
  const totals = (): unknown[] =>
    own
      .prepare('SELECT total FROM report')
      .all()
      .map(({ total }) => total);
  const taken = async (leaseMs = LONG_MS) => {
    const got = await tryAcquire(leases, 'nightly', { leaseMs, renew: 'none' });
    if (got.kind !== 'acquired') throw new Error(`the lease is ${got.kind}`);
    return got.lease;
  };
  const stale = ({ id, token }: Fence, storedToken: number | undefined) => ({
    code: 'STALE_TOKEN',
    retryable: false,
    facts: { id, token, storedToken },
  });

  describe('who may write', () => {
    it('the holder of a lease commits what its work wrote and returned', async () => {
      const lease = await taken();
      const write = (database: DatabaseSync) => database.prepare('INSERT INTO report VALUES (?) RETURNING total').get(7);
      expect(await fencedTransaction(own, lease.fence, write)).toEqual({ total: 7 });
      expect(totals()).toEqual([7]);
    });

    it('I4 whoever was overtaken is refused with both tokens, and its work does not even begin', async () => {
      const first = await taken();
      await leases.break('nightly');
      const second = await taken();
      const work = vi.fn();
      await expect(fencedTransaction(own, first.fence, work)).rejects.toMatchObject(stale(first.fence, second.token));
      expect(work).not.toHaveBeenCalled();
      await fencedTransaction(own, second.fence, add(2));
      expect(totals()).toEqual([2]);
    });

    it('I4 a break fences the holder at once, before anybody else has come', async () => {
      const lease = await taken();
      await leases.break('nightly');
      const { token } = (await leases.read('nightly')) ?? {};
      await expect(fencedTransaction(own, lease.fence, add(1))).rejects.toMatchObject(stale(lease.fence, token));
    });

    it('I4 the token alone is not enough: who holds it is asked too', async () => {
      const { fence } = await taken();
      await expect(fencedTransaction(own, { ...fence, owner: 'somebody' }, add(1))).rejects.toMatchObject({ code: 'STALE_TOKEN' });
      await expect(fencedTransaction(own, { ...fence, token: fence.token + 1 }, add(1))).rejects.toMatchObject({ code: 'STALE_TOKEN' });
      await expect(fencedTransaction(own, { ...fence, id: 'never taken' }, add(1))).rejects.toMatchObject({ code: 'STORE_MISCONFIGURED' });
      expect(totals()).toEqual([]);
    });

    it("a lease that has run out or was released is still its last holder's, until somebody takes it", async () => {
      const released = await taken();
      await released.release();
      await fencedTransaction(own, released.fence, add(1));
      const late = await taken(100);
      await vi.waitFor(async () => expect(await leases.read('nightly')).toMatchObject({ held: false }));
      await fencedTransaction(own, late.fence, add(2));
      await taken();
      await expect(fencedTransaction(own, late.fence, add(3))).rejects.toMatchObject({ code: 'STALE_TOKEN' });
      expect(totals()).toEqual([1, 2]);
    });

    it('a fence that has travelled in a message fences its receiver, with whatever travelled beside it', async () => {
      const { fence } = await taken();
      const received = JSON.parse(JSON.stringify({ ...fence, sentAt: 'noon' })) as Fence;
      await fencedTransaction(own, received, add(1));
      await leases.break('nightly');
      await expect(fencedTransaction(own, received, add(2))).rejects.toMatchObject({ code: 'STALE_TOKEN' });
      expect(totals()).toEqual([1]);
    });

    it('I4 a run writes by its own fence, and not any more when a successor has taken its record', async () => {
      const options = { store, operation: 'test/fenced', key: 1, onThrow: () => 'unknown' as const };
      let first: Fence | undefined;
      const died = runOnce(options, async (run) => {
        first = run.fence;
        await fencedTransaction(own, run.fence as Fence, add(1));
        throw new Error('died');
      });
      await expect(died).rejects.toThrow('died');
      await runOnce(options, (run) => fencedTransaction(own, run.fence as Fence, add(2)));
      await expect(fencedTransaction(own, first as Fence, add(3))).rejects.toMatchObject({ code: 'STALE_TOKEN' });
      expect(totals()).toEqual([1, 2]);
    });
  });

  describe('one transaction', () => {
    it('I4 nobody takes the lease between the check and the commit, so a successor that reads first has read everything', async () => {
      const lease = await taken(100);
      await vi.waitFor(async () => expect(await leases.read('nightly')).toMatchObject({ held: false }));
      const successor = storeLeases(stage.another({ busyTimeoutMs: 10_000 }));
      const acquiring: Promise<unknown>[] = [];
      await fencedTransaction(own, lease.fence, (database) => {
        acquiring.push(successor.acquire('nightly', { owner: 'the successor', leaseMs: LONG_MS }));
        expect(() => stage.connection().exec('BEGIN IMMEDIATE')).toThrow('locked');
        add(1)(database);
      });
      expect(await Promise.all(acquiring)).toEqual([expect.objectContaining({ kind: 'acquired' })]);
      expect(totals()).toEqual([1]);
      await expect(fencedTransaction(own, lease.fence, add(2))).rejects.toMatchObject({ code: 'STALE_TOKEN' });
    });

    it("what the work throws comes through as it is, SQLite's own errors too, and nothing is left of its writes", async () => {
      const { fence } = await taken();
      const own1 = new Error('no');
      const throwing = (what: () => void) => (database: DatabaseSync) => {
        add(1)(database);
        what();
      };
      await expect(
        fencedTransaction(
          own,
          fence,
          throwing(() => {
            throw own1;
          }),
        ),
      ).rejects.toBe(own1);
      await expect(
        fencedTransaction(
          own,
          fence,
          throwing(() => own.exec('INSERT INTO nowhere VALUES (1)')),
        ),
      ).rejects.toMatchObject({ code: 'ERR_SQLITE_ERROR' });
      await expect(
        fencedTransaction(
          own,
          fence,
          throwing(() => own.exec('INSERT INTO report VALUES (NULL)')),
        ),
      ).rejects.toThrow('NOT NULL');
      expect(totals()).toEqual([]);
      await fencedTransaction(own, fence, add(2));
      expect(totals()).toEqual([2]);
    });

    it("a constraint that is checked at the commit is the caller's own error as well", async () => {
      const { fence } = await taken();
      own.exec(
        'CREATE TABLE line (report INTEGER REFERENCES report_of (id) DEFERRABLE INITIALLY DEFERRED); CREATE TABLE report_of (id INTEGER PRIMARY KEY)',
      );
      const orphan = fencedTransaction(own, fence, (database) => database.exec('INSERT INTO line VALUES (7)'));
      await expect(orphan).rejects.toMatchObject({ code: 'ERR_SQLITE_ERROR', message: expect.stringContaining('FOREIGN KEY') });
      expect(own.prepare('SELECT count(*) AS n FROM line').get()).toEqual({ n: 0 });
    });

    it('I12 work that is not synchronous is refused and rolled back, and its own failure later is not unhandled', async () => {
      const { fence } = await taken();
      const work = async (database: DatabaseSync): Promise<void> => {
        add(1)(database);
        await Promise.resolve();
        throw new Error('later');
      };
      await expect(fencedTransaction(own, fence, work)).rejects.toMatchObject({
        code: 'INVALID_OPTIONS',
        message: expect.stringContaining('synchronous'),
      });
      expect(totals()).toEqual([]);
    });

    it.each(['COMMIT', 'ROLLBACK'])(
      'I8 work that ends the transaction itself (%s) is told so: what it wrote after that stands',
      async (statement) => {
        const lease = await taken();
        const work = (database: DatabaseSync): void => {
          database.exec(statement);
          add(1)(database);
        };
        await expect(fencedTransaction(own, lease.fence, work)).rejects.toMatchObject({
          code: 'WRITE_UNKNOWN',
          message: expect.stringContaining('the transaction was over before its work was'),
        });
        expect(totals()).toEqual([1]);
      },
    );

    it('I12 a signal that is none is refused, before anything waits for it', async () => {
      const lease = await taken();
      const options = { signal: new AbortController() as never };
      await expect(fencedTransaction(own, lease.fence, add(1), options)).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
      expect(totals()).toEqual([]);
    });

    it('readers in the way of the commit, where there is no write-ahead log: rolled back, and done again when they are gone', async () => {
      const journal = stage.opened(new DatabaseSync(`${stage.path}-journal`));
      const onJournal = await stage.fresh({ path: `${stage.path}-journal` });
      await onJournal.close();
      journal.exec('PRAGMA journal_mode = DELETE; CREATE TABLE report (total INTEGER)');
      const kept = storeLeases(sqliteStore({ database: journal }));
      const got = await tryAcquire(kept, 'nightly', { leaseMs: LONG_MS, renew: 'none' });
      if (got.kind !== 'acquired') throw new Error('not acquired');
      const reader = stage.opened(new DatabaseSync(`${stage.path}-journal`));
      reader.exec('BEGIN');
      reader.prepare('SELECT * FROM report').all();
      let calls = 0;
      const writing = fencedTransaction(journal, got.lease.fence, (database) => {
        calls += 1;
        add(calls)(database);
      });
      await vi.waitFor(() => expect(calls).toBeGreaterThan(1));
      reader.exec('COMMIT');
      await writing;
      expect(journal.prepare('SELECT total FROM report').all()).toEqual([{ total: calls }]);
    });
  });

  describe('waiting and failing', () => {
    it('I8 waits while others have the file locked, and gives up as STORE_UNAVAILABLE with nothing run', async () => {
      const { fence } = await taken();
      const other = stage.connection();
      other.exec('BEGIN IMMEDIATE');
      const work = vi.fn();
      const impatient: FencedTransactionOptions[] = [{ busyTimeoutMs: 0 }, { busyTimeoutMs: 30 }, { signal: AbortSignal.timeout(20) }];
      for (const options of impatient) {
        await expect(fencedTransaction(own, fence, work, options)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
      }
      expect(work).not.toHaveBeenCalled();
      const writing = fencedTransaction(own, fence, add(1));
      await new Promise((resolve) => setTimeout(resolve, 20));
      other.exec('ROLLBACK');
      await writing;
      expect(totals()).toEqual([1]);
    });

    it('I8 a file that holds no such table of leases is STORE_MISCONFIGURED', async () => {
      const { fence } = await taken();
      await expect(fencedTransaction(own, fence, add(1), { tableName: 'leases' })).rejects.toMatchObject({ code: 'STORE_MISCONFIGURED' });
      expect(totals()).toEqual([]);
    });

    it("a connection that is set to big integers and arrays is read as it is meant, for records too; the caller's own statements keep its setting", async () => {
      const database = stage.opened(new DatabaseSync(stage.path, { readBigInts: true, returnArrays: true }));
      const kept = storeLeases(sqliteStore({ database }));
      const got = await tryAcquire(kept, 'nightly', { leaseMs: LONG_MS, renew: 'none' });
      if (got.kind !== 'acquired') throw new Error('not acquired');
      await got.lease.renew();
      const seen = await fencedTransaction(database, got.lease.fence, (db) => db.prepare('SELECT 7').get());
      expect(seen).toEqual([7n]);
      expect(await got.lease.release()).toBe('released');
    });

    it('the table of the store can have another name', async () => {
      const named = storeLeases(await stage.fresh({ tableName: 'leases' }));
      const got = await tryAcquire(named, 'nightly', { leaseMs: LONG_MS, renew: 'none' });
      if (got.kind !== 'acquired') throw new Error('not acquired');
      await fencedTransaction(own, got.lease.fence, add(1), { tableName: 'leases' });
      expect(totals()).toEqual([1]);
    });

    it.each([
      ['no fence', undefined],
      ['no owner', { id: 'nightly', token: 1 }],
      ['a token that is no number', { id: 'nightly', owner: 'o', token: '1' }],
    ])('%s is INVALID_OPTIONS', async (_, fence) => {
      await expect(fencedTransaction(own, fence as never, add(1))).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
      await expect(fencedTransaction({} as never, (await taken()).fence, add(1))).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
    });
  });
});
