import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SCHEMA } from '../../src/core/record.ts';
import type { Run } from '../../src/index.ts';
import { placeKinds, type Server } from '../golden/places.ts';
import { next, runOf } from '../golden/scenarios.ts';
import { databaseFolder } from '../support/sqlite-file.ts';
import { type Engine, engineOf, OLD } from './engines.ts';
import { openPlace } from './place.ts';
import { Reading } from './reading.ts';

const [sqlite] = await placeKinds();
if (sqlite?.name !== 'sqlite') throw new Error('the first place is to be a file');
const never = (): never => expect.unreachable('the work must not run');
const VALUE = { at: new Date(0), n: 1 };

describe.each(OLD)('today’s engine and the one of %s', (version) => {
  let server: Server;
  let reading: Reading;
  let old: Engine;
  let today: Engine;
  beforeAll(async () => {
    server = await sqlite.start();
    reading = new Reading(version, sqlite, server);
    [old, today] = await Promise.all([engineOf(version), engineOf('today')]);
  });
  afterAll(() => server.stop());

  it('I3 the old one reads every row of today as it is written down, runs no work over an outcome, and leaves it as it is', () =>
    reading.readsAsMeant());

  it('I3 the old one neither runs nor drops a step that today’s has kept or begun', () => reading.stepsAsMeant());

  it('I8 a record of a later schema is refused by both, and nothing runs or changes', async () => {
    for (const name of ['running', 'completed', 'blocked-failed', 'released']) {
      const { place, store } = await reading.laid([name], (row) => ({ ...row, schema: SCHEMA + 1 }));
      const before = await place.dump();
      const tooNew = expect.objectContaining({ code: 'RECORD_TOO_NEW' });
      const options = { operation: `golden/${name}`, key: 'order-1' };
      await expect(old.tryRunOnce({ ...options, store }, never)).rejects.toEqual(tooNew);
      await expect(today.tryRunOnce({ ...options, store: place.store }, never)).rejects.toEqual(tooNew);
      await expect(old.forgetRun({ ...options, store, force: true })).rejects.toEqual(tooNew);
      expect(await place.dump()).toEqual(before);
    }
  });

  it('a person resolves and forgets by the old one what today’s has left, and today’s callers get that', async () => {
    for (const name of ['blocked-unknown', 'blocked-failed', 'blocked-step-not-stored', 'running']) {
      const { place, store } = await reading.laid([name]);
      expect(await old.resolveRun(runOf(store, name), { done: VALUE }), name).toEqual({ kind: 'written' });
      expect(await next(place.store, name, never), name).toMatchObject({ value: VALUE, replayed: true, resolved: true });
      expect(await old.forgetRun(runOf(store, name)), name).toEqual({ kind: 'written' });
      expect(await next(place.store, name, (run) => run.attempt), name).toMatchObject({ value: 1, replayed: false });
    }
  });

  describe.each(['old', 'today'] as const)('where the %s one comes first', (first) => {
    const both = (): readonly [Engine, Engine] => (first === 'old' ? [old, today] : [today, old]);
    const KEY = { operation: 'versions/rolling', key: 1 };

    async function file() {
      const { path, remove } = await databaseFolder();
      const made = today.sqliteStore({ path });
      // Of the store. Owners count by clocks of their own, and learn nothing of what passes here.
      let passedMs = 0;
      const clock = { nowMs: () => Date.now() + passedMs };
      // Either may make the table.
      await both()[0].sqliteStore({ path }).setUp?.();
      await made.setUp();
      await made.close();
      const [one, other] = await Promise.all(both().map((engine) => openPlace(engine, { kind: 'sqlite', path, clock })));
      if (one === undefined || other === undefined) throw new Error('two places are to be open');
      return {
        one,
        other,
        pass: (ms: number): void => {
          passedMs += ms;
        },
        async end() {
          await Promise.all([one.close(), other.close()]);
          await remove();
        },
      };
    }

    it('I1 I4 I5 it stalls, the other takes over with its step and a higher token; then it gets that outcome, and no write of it is accepted', async () => {
      const { one, other, pass, end } = await file();
      const [begins, takesOver] = both();
      let tokens: readonly number[] = [];
      const charge = (run: Run, value: unknown) => run.step('charge', () => value);
      const late: string[] = [];
      const stalled = begins.tryRunOnce({ ...KEY, store: one.store, renew: 'none' }, async (run) => {
        await charge(run, VALUE);
        pass(70_000);
        const result = await takesOver.tryRunOnce({ ...KEY, store: other.store }, async (again) => {
          tokens = [run.token ?? 0, again.token ?? 0];
          expect(await charge(again, 'charged again')).toEqual(VALUE);
          await other.write?.(again.fence as NonNullable<Run['fence']>, 'row');
          return { ...VALUE, by: 'the second' };
        });
        expect(result).toMatchObject({ kind: 'completed', replayed: false, attempt: 2 });
        await one.write?.(run.fence as NonNullable<Run['fence']>, 'row').catch((error: { code: string }) => late.push(error.code));
        return { ...VALUE, by: 'the first' };
      });
      expect(await stalled).toMatchObject({ kind: 'completed', value: { by: 'the second' }, replayed: true });
      expect(late).toEqual(['STALE_TOKEN']);
      expect(tokens[1]).toBeGreaterThan(tokens[0] ?? Number.NaN);
      for (const [engine, { store }] of [[begins, one] as const, [takesOver, other] as const]) {
        expect(await engine.runOnce({ ...KEY, store }, never)).toEqual({ ...VALUE, by: 'the second' });
      }
      await end();
    });

    it('I2 in one process: the other’s store may be given to it, its errors are known, and each finds the other’s run', async () => {
      const { one, other, end } = await file();
      const [begins, nests] = both();
      const value = await begins.runOnce({ ...KEY, store: other.store }, async (run) => {
        expect(nests.currentRun()?.key).toBe(run.key);
        await run.step('charge', () => VALUE);
        const inFlight = await nests.runOnce({ ...KEY, store: one.store }, never).catch((error: unknown) => error);
        expect(begins.isRerunSafeError(inFlight, 'IN_FLIGHT')).toBe(true);
        expect(nests.isRerunSafeError(inFlight, 'IN_FLIGHT')).toBe(true);
        return VALUE;
      });
      expect(value).toEqual(VALUE);
      expect(await nests.tryRunOnce({ ...KEY, store: one.store }, never)).toMatchObject({ value: VALUE, replayed: true });
      // What the work throws as "not done" by the other's class is that for this one.
      const notDone = { ...KEY, key: 2, store: one.store, onUnknown: 'block' } as const;
      await expect(begins.runOnce(notDone, () => Promise.reject(new nests.NotDoneError('no')))).rejects.toThrow('no');
      expect(await nests.tryRunOnce({ ...notDone, store: other.store }, () => VALUE)).toMatchObject({ value: VALUE, attempt: 2 });
      await end();
    });

    it('I5 leases: the other waits for its end, its token is higher, slots are known to both, and a stale holder’s release is lost', async () => {
      const { one, other, pass, end } = await file();
      const [a, b] = [both()[0].storeLeases(one.store), both()[1].storeLeases(other.store)];
      const mine = { owner: 'a', leaseMs: 60_000 };
      const first = await a.acquire('turn', { ...mine, slot: 1_000 });
      expect(await b.acquire('turn', { owner: 'b', leaseMs: 60_000 })).toMatchObject({ kind: 'held' });
      pass(70_000);
      const second = await b.acquire('turn', { owner: 'b', leaseMs: 60_000, slot: 1_000 });
      if (first.kind !== 'acquired' || second.kind !== 'acquired') return expect.unreachable('both are to have it');
      expect(second.token).toBeGreaterThan(first.token);
      expect(await a.renew('turn', { ...mine, token: first.token })).toBe('lost');
      expect(await a.release('turn', { ...mine, token: first.token, slotDone: 1_000 })).toBe('lost');
      expect(await b.release('turn', { owner: 'b', token: second.token, slotDone: 1_000 })).toBe('released');
      expect(await a.acquire('turn', { ...mine, slot: 1_000 })).toEqual({ kind: 'slot-done' });
      expect(await a.acquire('turn', { ...mine, slot: 999 })).toEqual({ kind: 'slot-passed', lastSlot: 1_000 });
      await end();
    });
  });
});
