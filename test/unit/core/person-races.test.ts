import { describe, expect, it } from 'vitest';
import { recordId } from '../../../src/core/key.ts';
import { forgetRun, type PersonResult, type RecordStore, resolveRun } from '../../../src/index.ts';
import { bench, held, inTime } from './engine.ts';

const KEY = { operation: 'test/op', key: 'k' };
const ID = recordId('test/op', [], ['k']);
const timeOut = (): never => {
  throw new Error('time-out, perhaps charged');
};

type Bench = ReturnType<typeof bench>;
type Say = (store: RecordStore, force?: boolean) => Promise<PersonResult>;

const SAYS: Readonly<Record<'forget' | 'not done' | 'done', Say>> = {
  forget: (store, force = false) => forgetRun({ store, ...KEY, force }),
  'not done': (store, force = false) => resolveRun({ store, ...KEY, force }, 'not-done'),
  done: (store, force = false) => resolveRun({ store, ...KEY, force }, { done: 'said' }),
};
const NAMES = Object.keys(SAYS) as (keyof typeof SAYS)[];

/** A run that ended with no outcome. */
async function lapsed(): Promise<Bench> {
  const b = bench({ onUnknown: () => 'not-done' });
  await b.run(timeOut).catch(() => {});
  await b.clock.advance(10);
  return b;
}

/** Comes in between the look and the write; with 'after' the first write has landed and its client sends it again. */
function inBetween(b: Bench, when: 'before' | 'after', what: () => Promise<unknown>): { readonly store: RecordStore; happened(): boolean } {
  let happened = false;
  const { store } = b;
  return {
    happened: () => happened,
    store: {
      ...store,
      replace: async (id, record, version, options) => {
        if (happened) return store.replace(id, record, version, options);
        happened = true;
        if (when === 'after') await store.replace(id, record, version, options);
        await what();
        return store.replace(id, record, version, options);
      },
    },
  };
}

const recordOf = async (b: Bench) => (await b.store.read(ID))?.record;

describe("a person's word is about what stood when it was said", () => {
  describe.each(NAMES)('%s', (name) => {
    const say = SAYS[name];

    it('I2 what somebody has completed meanwhile stays', async () => {
      const b = await lapsed();
      const race = inBetween(b, 'before', () => b.run(() => 'charged'));
      expect(await say(race.store)).toEqual({ kind: name === 'forget' ? 'changed' : 'not-needed' });
      expect(race.happened()).toBe(true);
      expect(await b.run(() => 'again')).toMatchObject({ value: 'charged', replayed: true });
    });

    it('I2 what is said of an attempt does not settle the next one, whose outcome nobody knows', async () => {
      const b = await lapsed();
      const race = inBetween(b, 'before', () => b.run(timeOut).catch(() => {}));
      expect(await say(race.store)).toEqual({ kind: 'changed' });
      expect(await recordOf(b)).toMatchObject({ state: 'running', attempt: 2, leaseMs: 0 });
      // They look again, and say so.
      expect(await say(b.store)).toEqual({ kind: 'written' });
    });

    it('I4 one that somebody has begun meanwhile is running', async () => {
      const b = await lapsed();
      const work = held<string>();
      let running: Promise<unknown> | undefined;
      const race = inBetween(b, 'before', async () => {
        running = b.run(work.work);
        await work.started;
      });
      expect(await say(race.store)).toMatchObject({ kind: 'running', retryAfterMs: expect.any(Number) });
      work.end('its own');
      expect(await inTime(b.clock, running as Promise<unknown>)).toMatchObject({ value: 'its own', saved: true });
    });

    it('one whose row is gone is absent', async () => {
      const b = await lapsed();
      const race = inBetween(b, 'before', async () => {
        const stored = await b.store.read(ID);
        await b.store.delete(ID, stored?.version ?? '');
      });
      expect(await say(race.store)).toEqual({ kind: 'absent' });
    });

    it('force: they want it whatever stands there, but for an outcome of the work itself', async () => {
      const b = await lapsed();
      const race = inBetween(b, 'before', () => b.run(timeOut).catch(() => {}));
      expect(await say(race.store, true)).toEqual({ kind: 'written' });
      expect((await recordOf(b))?.state).toBe(name === 'done' ? 'completed' : 'released');
      const c = await lapsed();
      const completed = inBetween(c, 'before', () => c.run(() => 'charged'));
      expect(await say(completed.store, true)).toEqual({ kind: name === 'forget' ? 'written' : 'not-needed' });
    });

    it('I7 a refusal that shows the very record they looked at is no reason to give up', async () => {
      const b = await lapsed();
      let refusals = 0;
      const store: RecordStore = {
        ...b.store,
        replace: async (id, record, version, options) => {
          if (refusals++ > 0) return b.store.replace(id, record, version, options);
          return { ok: false, reason: 'conflict', current: await b.store.read(id) };
        },
      };
      expect(await say(store)).toEqual({ kind: 'written' });
    });

    it.each(['lost-answer', 'retried-lost-answer'] as const)('I7 their own write is known again: %s', async (fault) => {
      const b = await lapsed();
      b.plan.replace = { [b.store.counts.replace + 1]: fault };
      expect(await say(b.store)).toEqual({ kind: 'written' });
    });

    it('I7 doubt is said, also where somebody else has written since, or nothing can be read', async () => {
      const lost = await lapsed();
      lost.plan.replace = { [lost.store.counts.replace + 1]: 'lost-request' };
      await expect(say(lost.store)).rejects.toMatchObject({ code: 'WRITE_UNKNOWN' });

      const overtaken = await lapsed();
      const n = overtaken.store.counts.replace + 1;
      overtaken.plan.replace = { [n]: 'lost-answer' };
      overtaken.plan.after = async (operation, at) => {
        if (operation === 'replace' && at === n) await overtaken.run(timeOut).catch(() => {});
      };
      // Only where the work may run again could somebody come in between.
      const answer = say(overtaken.store);
      if (name === 'done') expect(await answer).toEqual({ kind: 'written' });
      else await expect(answer).rejects.toMatchObject({ code: 'WRITE_UNKNOWN' });

      const dark = await lapsed();
      dark.plan.replace = { [dark.store.counts.replace + 1]: 'lost-answer' };
      dark.plan.read = { [dark.store.counts.read + 2]: 'unavailable' };
      await expect(say(dark.store)).rejects.toMatchObject({ code: 'WRITE_UNKNOWN' });
    });
  });

  it('I2 a forget that landed, and is sent again by its client, does not forget what has run since', async () => {
    const b = bench();
    await b.run(() => 'old');
    const race = inBetween(b, 'after', () => b.run(() => 'new'));
    expect(await forgetRun({ store: race.store, ...KEY })).toEqual({ kind: 'changed' });
    expect(await b.run(() => 'third')).toMatchObject({ value: 'new', replayed: true });
  });
});
