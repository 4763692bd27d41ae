import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { DatabaseSync } from 'node:sqlite';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { currentRun, memoryStore, NotDoneError, PermanentError, runOnce, tryRunOnce } from '../../src/index.ts';
import { type RunInTransactionOptions, runInTransaction, sqliteStore, tryRunInTransaction } from '../../src/stores/sqlite/index.ts';
import { incompressible } from '../support/incompressible.ts';
import { gate } from '../support/promises-case.ts';
import { caught, ID, insert, linesStage, OPERATION } from './sqlite-lines.ts';

describe('runInTransaction on SQLite', () => {
  const its = linesStage();
  const { stage, options, lines } = its;

  it('I1 I3 the value and the rows stand together; a duplicate gets the value, and its work is not called', async () => {
    expect(await tryRunInTransaction(options(), insert(7))).toEqual({ kind: 'completed', value: 7, replayed: false, saved: true, attempt: 1 });
    expect(await runInTransaction(options(), insert(8))).toBe(7);
    expect(lines()).toEqual([7]);
    expect((await its.store.read(ID))?.record).toMatchObject({ state: 'completed', operation: OPERATION, label: '1', attempt: 1 });
    // The same record as that of runOnce.
    expect(await runOnce({ store: its.store, operation: OPERATION, key: 1 }, () => 9)).toBe(7);
  });

  it('I1 nothing of it is seen before all of it is', async () => {
    await runInTransaction(options(), (db) => {
      insert(1)(db);
      expect([lines(), its.plain.prepare('SELECT count(*) AS n FROM rerunsafe').get()]).toEqual([[], { n: 0 }]);
    });
    expect(lines()).toEqual([1]);
  });

  it('I1 I2 of 16 callers at once, over two connections, one writes its row, and all have its value', async () => {
    const other = stage.another();
    const values = await Promise.all(
      Array.from({ length: 16 }, (_, n) => runInTransaction(options({ store: n % 2 === 0 ? its.store : other }), insert(n))),
    );
    expect(new Set(values).size).toBe(1);
    expect(lines()).toEqual([values[0]]);
  });

  it('I9 the same key with another input is KEY_REUSED', async () => {
    await runInTransaction(options({ input: { total: 1 } }), insert(1));
    expect(await tryRunInTransaction(options({ input: { total: 2 } }), insert(2))).toEqual({ kind: 'key-reused' });
    await expect(runInTransaction(options({ input: { total: 2 } }), insert(2))).rejects.toMatchObject({ code: 'KEY_REUSED' });
    expect(lines()).toEqual([1]);
  });

  it('I8 a throw comes through untouched, rolls everything back and leaves no trace; the next call is the first', async () => {
    const failure = new Error('a rule of the business');
    const failing = runInTransaction(options({ input: 1 }), (db) => {
      insert(1)(db);
      throw failure;
    });
    expect(await caught(failing)).toBe(failure);
    expect([await its.store.read(ID), lines()]).toEqual([undefined, []]);
    expect(await tryRunInTransaction(options({ input: 2 }), insert(2))).toMatchObject({ value: 2, attempt: 1 });
    expect(lines()).toEqual([2]);
  });

  it('I3 a PermanentError is remembered and replayed, without the rows that were written before it', async () => {
    const failure = new PermanentError('card was declined', { code: 'card_declined', data: { last4: '4242' } });
    const failing = runInTransaction(options(), (db) => {
      insert(1)(db);
      throw failure;
    });
    expect(await caught(failing)).toBe(failure);
    expect(lines()).toEqual([]);
    const replayed = await caught(runInTransaction(options(), insert(2)));
    expect(replayed).toMatchObject({ name: 'PermanentError', message: 'card was declined', code: 'card_declined', data: { last4: '4242' } });
    expect(await tryRunInTransaction(options(), insert(2))).toMatchObject({ kind: 'failed', replayed: true });
    expect(lines()).toEqual([]);
  });

  it.each([
    ['remember', new Error('remembered'), 'failed'],
    ['release', new PermanentError('not remembered'), 'completed'],
  ] as const)('I3 onThrow says %s', async (verdict, failure, later) => {
    const failing = runInTransaction(options({ onThrow: () => verdict }), () => {
      throw failure;
    });
    expect(await caught(failing)).toBe(failure);
    expect((await tryRunInTransaction(options(), insert(2))).kind).toBe(later);
  });

  it('the run is known to the work and from below, with the key of every attempt', async () => {
    let derived: string | undefined;
    await runInTransaction(options(), (_, run) => {
      expect(currentRun()).toBe(run);
      expect(run).toMatchObject({ operation: OPERATION, attempt: 1, token: expect.any(Number) });
      derived = run.keyFor('charge');
    });
    expect(currentRun()).toBeUndefined();
    const other = await runOnce({ store: memoryStore(), operation: OPERATION, key: 1 }, (run) => run.keyFor('charge'));
    expect(derived).toBe(other);
  });

  it('I1 a runOnce under the same key that is at work is in flight; one that has lapsed is taken over, or blocked where that is asked for', async () => {
    const resume = gate();
    const first = tryRunOnce({ store: its.store, operation: OPERATION, key: 1, leaseMs: 100, renew: 'none' }, async () => {
      await resume.opened;
      return 'the old owner';
    });
    await pause(10);
    expect(await tryRunInTransaction(options(), insert(1))).toMatchObject({ kind: 'in-flight' });
    await pause(150);
    expect(await tryRunInTransaction(options({ onUnknown: 'block' }), insert(1))).toMatchObject({ kind: 'blocked', why: 'unknown' });
    await expect(runInTransaction(options(), insert(2))).rejects.toMatchObject({ code: 'BLOCKED' });
    resume.open();
    await expect(first).rejects.toMatchObject({ code: 'LEASE_LOST' });
    const key = 2;
    const second = tryRunOnce({ store: its.store, operation: OPERATION, key, leaseMs: 100, renew: 'none' }, async () => {
      await pause(200);
      return 'the old owner';
    });
    await pause(150);
    expect(await tryRunInTransaction(options({ key }), insert(3))).toMatchObject({ value: 3, attempt: 2 });
    // I2: the old owner gets the outcome that stands.
    expect(await second).toMatchObject({ value: 3, replayed: true });
    expect(lines()).toEqual([3]);
  });

  it.each([
    ['is too large', incompressible(200_000)],
    ['does not come back as it is', { handler: () => {} }],
  ])('I3 a value that %s is left out: the rows stand, the first caller has it, later ones RESULT_NOT_STORED', async (_, value) => {
    const work = (db: DatabaseSync) => {
      insert(1)(db);
      return value;
    };
    expect(await runInTransaction<unknown>(options(), work)).toBe(value);
    await expect(runInTransaction<unknown>(options(), work)).rejects.toMatchObject({ code: 'RESULT_NOT_STORED' });
    expect(lines()).toEqual([1]);
  });

  it('I3 an outcome is forgotten after its retention, and not before', async () => {
    let nowMs = Date.now();
    const aging = stage.another({ clock: { nowMs: () => nowMs } });
    await runInTransaction(options({ store: aging, retentionMs: 1_000 }), insert(1));
    nowMs += 900;
    expect(await runInTransaction(options({ store: aging, retentionMs: 1_000 }), insert(2))).toBe(1);
    nowMs += 200;
    expect(await runInTransaction(options({ store: aging, retentionMs: 1_000 }), insert(3))).toBe(3);
    expect(lines()).toEqual([1, 3]);
  });

  it('I3 an error may be remembered for another time than a value', async () => {
    let nowMs = Date.now();
    const aging = stage.another({ clock: { nowMs: () => nowMs } });
    const call = { store: aging, retentionMs: { completed: 10_000, error: 1_000 } };
    const declined = () => {
      throw new PermanentError('declined');
    };
    await expect(runInTransaction(options(call), declined)).rejects.toThrow('declined');
    nowMs += 900;
    await expect(runInTransaction(options(call), insert(1))).rejects.toThrow('declined');
    nowMs += 200;
    expect(await runInTransaction(options(call), insert(2))).toBe(2);
    nowMs += 9_000;
    expect(await runInTransaction(options(call), insert(3))).toBe(2);
    await expect(runInTransaction(options({ ...call, retentionMs: { error: 1 } as never }), insert(3))).rejects.toMatchObject({
      code: 'INVALID_OPTIONS',
    });
  });

  it('I10 others who hold the lock are waited for, a replay waits for nobody, and who waits too long is told', async () => {
    const hasty = stage.another({ busyTimeoutMs: 50 });
    await runInTransaction(options(), insert(1));
    its.plain.exec('BEGIN IMMEDIATE');
    expect(await runInTransaction(options({ store: hasty }), insert(2))).toBe(1);
    await expect(runInTransaction(options({ store: hasty, key: 2 }), insert(2))).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    const waiting = runInTransaction(options({ key: 2 }), insert(3));
    await pause(100);
    its.plain.exec('COMMIT');
    expect(await waiting).toBe(3);
  });

  it('I12 a signal that aborts ends the wait with its reason, and nothing was written', async () => {
    const reason = new Error('the user has gone');
    expect(await caught(runInTransaction(options({ signal: AbortSignal.abort(reason) }), insert(1)))).toBe(reason);
    const aborting = new AbortController();
    its.plain.exec('BEGIN IMMEDIATE');
    const waiting = caught(runInTransaction(options({ signal: aborting.signal }), insert(1)));
    await pause(50);
    aborting.abort(reason);
    expect(await waiting).toBe(reason);
    its.plain.exec('COMMIT');
    expect([await its.store.read(ID), lines()]).toEqual([undefined, []]);
  });

  it('events tell of the claim, the outcome, the replay and what was rolled back', async () => {
    const heard: unknown[] = [];
    const listen = (event: unknown): void => {
      const { event: name, operation, store: of } = event as Record<string, unknown>;
      if (operation === OPERATION) heard.push(`${name} ${of}`);
    };
    subscribe('rerunsafe:run', listen);
    try {
      await caught(
        runInTransaction(options(), () => {
          throw new NotDoneError('no');
        }),
      );
      await runInTransaction(options(), insert(1));
      await runInTransaction(options(), insert(1));
      await caught(runInTransaction(options({ key: 2 }), () => Promise.resolve()));
    } finally {
      unsubscribe('rerunsafe:run', listen);
    }
    expect(heard).toEqual(['claimed', 'released', 'claimed', 'completed', 'replayed', 'claimed', 'refused'].map((name) => `${name} sqlite`));
  });

  it('RERUNSAFE_DISABLED=1: every call runs the work, in a transaction of its own rows alone', async () => {
    process.env.RERUNSAFE_DISABLED = '1';
    try {
      expect(await runInTransaction(options(), insert(1))).toBe(1);
      expect(await runInTransaction(options(), insert(2))).toBe(2);
      const failure = new Error('a rule of the business');
      const failing = runInTransaction(options(), (db) => {
        insert(3)(db);
        throw failure;
      });
      expect(await caught(failing)).toBe(failure);
    } finally {
      delete process.env.RERUNSAFE_DISABLED;
    }
    expect([await its.store.read(ID), lines()]).toEqual([undefined, [1, 2]]);
  });

  it.each([
    ['no store', { store: undefined }, /store is missing/],
    ['a store of another kind', { store: memoryStore() }, /must be a sqliteStore, or spread from one, not "memory"/],
    ['an option that is none', { leaseMs: 1 }, /leaseMs is not an option/],
    ['a key that is missing', { key: undefined }, /key is missing/],
    ['a retention of 0', { retentionMs: 0 }, /retentionMs must be/],
  ])('%s is INVALID_OPTIONS', async (_, wrong, message) => {
    const running = runInTransaction({ ...options(), ...wrong } as RunInTransactionOptions, insert(1));
    await expect(running).rejects.toMatchObject({ code: 'INVALID_OPTIONS', message: expect.stringMatching(message) });
  });

  it('a key that is empty is MISSING_KEY, and a table that is not set up STORE_MISCONFIGURED', async () => {
    await expect(runInTransaction(options({ key: '' }), insert(1))).rejects.toMatchObject({ code: 'MISSING_KEY' });
    const bare = sqliteStore({ path: stage.path, tableName: 'elsewhere' });
    await expect(runInTransaction(options({ store: stage.opened(bare) }), insert(1))).rejects.toMatchObject({ code: 'STORE_MISCONFIGURED' });
  });

  it("on a connection of the caller's, and on a store that was spread from another, it is the same", async () => {
    const own = sqliteStore({ database: its.plain });
    expect(await runInTransaction(options({ store: own }), insert(1))).toBe(1);
    expect(await runInTransaction(options({ store: { ...its.store, name: 'a copy' } }), insert(2))).toBe(1);
    expect(lines()).toEqual([1]);
  });
});
