import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { type Run, tryRunOnce } from '../../src/index.ts';
import { commitWith, runInTransaction } from '../../src/stores/sqlite/index.ts';
import { caught, ID, insert, linesStage, OPERATION } from './sqlite-lines.ts';

describe('work in a transaction of SQLite that does what it must not', () => {
  const its = linesStage();
  const { options, lines } = its;

  it.each([
    ['an async function', async () => {}],
    ['no function', 7],
  ])('%s as work is refused before anything is done', async (_, work) => {
    await expect(runInTransaction(options(), work as () => void)).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
  });

  it('I12 work that returns a promise is refused and rolled back, and its own failure later is not unhandled', async () => {
    const running = runInTransaction(options(), (db) => {
      insert(1)(db);
      return Promise.reject(new Error('nobody hears of it'));
    });
    await expect(running).rejects.toMatchObject({ code: 'INVALID_OPTIONS', message: expect.stringContaining('synchronous') });
    expect([await its.store.read(ID), lines()]).toEqual([undefined, []]);
  });

  it.each([
    ['run.step', (run: Run) => run.step('a', () => 1)],
    ['run.commit', (run: Run) => run.commit(1, async () => ({ ok: true, version: '' }))],
    ['a message for the outbox', (run: Run) => run.outbox.add({ topic: 'orders/placed', payload: 1 })],
  ])('I12 %s is refused at once, nothing is unhandled, and all is rolled back', async (_, use) => {
    const running = runInTransaction(options(), (db, run) => {
      insert(1)(db);
      void use(run);
      return 1;
    });
    await expect(running).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
    await pause(1);
    expect([await its.store.read(ID), lines()]).toEqual([undefined, []]);
  });

  it.each([
    ['COMMIT', false],
    ['ROLLBACK', false],
    ['COMMIT; BEGIN', false],
    ['COMMIT', true],
    ['ROLLBACK', true],
  ])(
    'I8 work that ends the transaction itself (%s, and throws: %s) is WRITE_UNKNOWN, and the record is blocked until a person has looked',
    async (statement, throws) => {
      const running = runInTransaction(options(), (db) => {
        db.exec(statement);
        insert(1)(db);
        if (throws) throw new Error('afterwards');
      });
      await expect(running).rejects.toMatchObject({
        code: 'WRITE_UNKNOWN',
        message: expect.stringContaining('the work ended the transaction itself'),
      });
      await expect(runInTransaction(options(), insert(2))).rejects.toMatchObject({ code: 'BLOCKED' });
      // The connection is whole.
      expect(await runInTransaction(options({ key: 2 }), insert(3))).toBe(3);
    },
  );

  it('a transaction that SQLite itself ended under the work (OR ROLLBACK) has left nothing, and may run again', async () => {
    its.plain.exec('CREATE TABLE only (n INTEGER UNIQUE); INSERT INTO only VALUES (1)');
    const failing = runInTransaction(options(), (db) => {
      insert(1)(db);
      db.exec('INSERT OR ROLLBACK INTO only VALUES (1)');
    });
    await expect(failing).rejects.toMatchObject({ code: 'ERR_SQLITE_ERROR', message: expect.stringContaining('UNIQUE') });
    expect(await runInTransaction(options(), insert(2))).toBe(2);
    expect(lines()).toEqual([2]);
  });

  it('I8 an error of SQLite about the rows of the work is its own, and so is one that only the commit finds', async () => {
    its.plain.exec(
      'CREATE TABLE parent (id INTEGER PRIMARY KEY); CREATE TABLE child (p INTEGER REFERENCES parent (id) DEFERRABLE INITIALLY DEFERRED)',
    );
    const missing = await caught(runInTransaction(options(), (db) => db.exec('INSERT INTO nowhere VALUES (1)')));
    expect(missing).toMatchObject({ code: 'ERR_SQLITE_ERROR', message: expect.stringContaining('nowhere') });
    const orphan = await caught(runInTransaction(options(), (db) => db.exec('INSERT INTO child VALUES (7)')));
    expect(orphan).toMatchObject({ code: 'ERR_SQLITE_ERROR', message: expect.stringContaining('FOREIGN KEY') });
    expect([await its.store.read(ID), its.plain.prepare('SELECT count(*) AS n FROM child').get()]).toEqual([undefined, { n: 0 }]);
  });

  describe('under commitWith', () => {
    const run = (work: (at: Run) => Promise<unknown>) =>
      tryRunOnce<unknown>({ store: its.store, operation: OPERATION, key: 1, leaseMs: 2_000, renew: 'none' }, work);

    it('I8 a rollback of its own: WRITE_UNKNOWN, it is not called again, and the record is left to lapse', async () => {
      let calls = 0;
      const running = run((at) =>
        commitWith(at, 1, (db) => {
          calls += 1;
          db.exec('ROLLBACK');
          insert(1)(db);
        }),
      );
      await expect(running).rejects.toMatchObject({ code: 'WRITE_UNKNOWN' });
      expect([calls, lines(), (await its.store.read(ID))?.record.state]).toEqual([1, [1], 'running']);
    });

    it('I8 a commit of its own: what stands is found out, it is the outcome', async () => {
      const result = await run((at) =>
        commitWith(at, 'committed', (db) => {
          insert(1)(db);
          db.exec('COMMIT');
        }),
      );
      expect(result).toMatchObject({ value: 'committed', saved: true });
      expect(lines()).toEqual([1]);
    });

    it('I8 a constraint that only the commit finds is its own error; nothing is written, and the run goes on', async () => {
      its.plain.exec(
        'CREATE TABLE parent (id INTEGER PRIMARY KEY); CREATE TABLE child (p INTEGER REFERENCES parent (id) DEFERRABLE INITIALLY DEFERRED)',
      );
      const result = await run(async (at) => {
        const orphan = commitWith(at, 1, (db) => {
          insert(1)(db);
          db.exec('INSERT INTO child VALUES (7)');
        });
        await expect(orphan).rejects.toMatchObject({ code: 'ERR_SQLITE_ERROR', message: expect.stringContaining('FOREIGN KEY') });
        await commitWith(at, 2, insert(2));
      });
      expect(result).toMatchObject({ value: 2 });
      expect(lines()).toEqual([2]);
    });

    it('messages of the outbox are refused, and nothing is written', async () => {
      const running = run(async (at) => {
        at.outbox.add({ topic: 'orders/placed', payload: 1 });
        await commitWith(at, 1, insert(1));
      });
      await expect(running).rejects.toMatchObject({ code: 'INVALID_OPTIONS', message: expect.stringContaining('SQLite has no outbox') });
      expect(lines()).toEqual([]);
    });
  });
});
