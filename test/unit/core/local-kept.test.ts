import { describe, expect, it } from 'vitest';
import type { CallFacts } from '../../../src/core/claim.ts';
import { forgetLocally, keepLocally, LOCAL_REPLAY_RULES, recallLocally } from '../../../src/core/local-replay.ts';
import type { RecordStore } from '../../../src/core/ports.ts';
import type { Whole } from '../../../src/core/record.ts';
import { virtualClock } from '../../../src/testing/index.ts';

const outcome = (json: unknown): Whole => ({ kind: 'value', value: { json } });

function stage(localReplay: object | 'off' = { maxEntries: 2 }) {
  const clock = virtualClock();
  const store = {} as RecordStore;
  const call = (id: string, fingerprint?: string): CallFacts =>
    ({ guard: { store, ...(localReplay === 'off' ? {} : { localReplay }) }, id, fingerprint, system: clock }) as never;
  /** As a call does: it asks here first, and then keeps what it came to. */
  const seen = (id: string, json: unknown = id, forMs = 10_000, fingerprint?: string): void => {
    const facts = call(id, fingerprint);
    recallLocally(facts);
    keepLocally(facts, outcome(json), 1, forMs);
  };
  const recalled = (id: string, fingerprint?: string): unknown => recallLocally(call(id, fingerprint));
  return { clock, store, call, seen, recalled };
}

describe('outcomes that this process has seen', () => {
  it('I2 are recalled, with the attempt; of others nothing is known', () => {
    const { call, recalled } = stage();
    const facts = call('a');
    expect(recallLocally(facts)).toBeUndefined();
    keepLocally(facts, outcome('a'), 3, 10_000);
    expect(recalled('a')).toMatchObject({ outcome: outcome('a'), attempt: 3 });
    expect(recalled('b')).toBeUndefined();
  });

  it('I11 are not kept where that was not asked for, nor recalled', () => {
    const off = stage('off');
    off.seen('a');
    expect(off.recalled('a')).toBeUndefined();
    const on = stage();
    on.seen('a');
    expect(recallLocally({ ...on.call('a'), guard: { store: on.store } } as never)).toBeUndefined();
  });

  it('are kept for one store only', () => {
    const [one, two] = [stage(), stage()];
    one.seen('a');
    two.seen('b');
    expect([one.recalled('b'), two.recalled('a')]).toEqual([undefined, undefined]);
  });

  it('end with their retention, or after maxAgeMs, to the millisecond; by default after five minutes', async () => {
    for (const [localReplay, forMs, endsAfterMs] of [
      [{ maxEntries: 1 }, 5_000, 5_000],
      [{ maxEntries: 1, maxAgeMs: 4_000 }, 5_000, 4_000],
      [{ maxEntries: 1, maxAgeMs: 6_000 }, 5_000, 5_000],
      [{ maxEntries: 1 }, 900_000, 300_000],
    ] as const) {
      const { clock, seen, recalled } = stage(localReplay);
      seen('a', 'a', forMs);
      await clock.advance(endsAfterMs - 1);
      expect(recalled('a')).toBeDefined();
      await clock.advance(1);
      expect(recalled('a')).toBeUndefined();
    }
  });

  it('I9 with another input, or none, are for the store to judge; and stay for those who have the same', () => {
    const { seen, recalled } = stage();
    seen('a', 'a', 10_000, 'v1:a');
    expect([recalled('a', 'v1:b'), recalled('a')]).toEqual([undefined, undefined]);
    expect(recalled('a', 'v1:a')).toBeDefined();
  });

  it('the one that was asked for longest ago goes first; asked for with another input does not count', () => {
    const { seen, recalled } = stage();
    seen('a');
    seen('b');
    recalled('a', 'v1:other');
    seen('c');
    expect([recalled('a'), recalled('b'), recalled('c')].map((found) => found !== undefined)).toEqual([false, true, true]);
    recalled('b');
    seen('d');
    expect([recalled('b'), recalled('c'), recalled('d')].map((found) => found !== undefined)).toEqual([true, false, true]);
  });

  it('one that is seen again is the last, and counts once', () => {
    const { seen, recalled } = stage();
    seen('a');
    seen('b');
    seen('a', 'newer');
    seen('c');
    expect(recalled('b')).toBeUndefined();
    expect([recalled('a'), recalled('c')]).toMatchObject([{ outcome: outcome('newer') }, { outcome: outcome('c') }]);
  });

  it('also one that another input was given to meanwhile', () => {
    const { seen, recalled } = stage();
    seen('a', 'a', 10_000, 'v1:a');
    seen('b');
    seen('a', 'newer', 10_000, 'v1:b');
    seen('c');
    expect(recalled('b')).toBeUndefined();
    expect(recalled('a', 'v1:b')).toMatchObject({ outcome: outcome('newer') });
  });

  it('one that has ended leaves its place', async () => {
    const { clock, seen, recalled } = stage();
    seen('a');
    seen('short', 'short', 100);
    await clock.advance(100);
    expect(recalled('short')).toBeUndefined();
    seen('b');
    expect([recalled('a'), recalled('b')].every((found) => found !== undefined)).toBe(true);
  });

  it('I2 what was forgotten is gone; a call that had begun before keeps nothing, one that begins then does', () => {
    const { call, store, seen, recalled } = stage();
    seen('a');
    const began = call('a');
    recallLocally(began);
    forgetLocally(store, 'a');
    expect(recalled('a')).toBeUndefined();
    keepLocally(began, outcome('old'), 1, 10_000);
    expect(recalled('a')).toBeUndefined();
    seen('a', 'new');
    expect(recalled('a')).toMatchObject({ outcome: outcome('new') });
    forgetLocally(store, 'a');
    const late = call('b');
    keepLocally(late, outcome('b'), 1, 10_000);
    expect(recalled('b'), 'of a call that never asked').toBeUndefined();
  });

  it('what was forgotten before anything was kept is no hindrance', () => {
    const { store, seen, recalled } = stage();
    forgetLocally(store, 'a');
    forgetLocally(store, 'a');
    seen('a');
    expect(recalled('a')).toBeDefined();
  });

  it('its options are whole numbers above 0', () => {
    expect(LOCAL_REPLAY_RULES.maxEntries(1_000_000)).toBeUndefined();
    expect(LOCAL_REPLAY_RULES.maxEntries(1_000_001)).toBeDefined();
    expect(LOCAL_REPLAY_RULES.maxAgeMs(1)).toBeUndefined();
    expect(LOCAL_REPLAY_RULES.maxAgeMs(0)).toBeDefined();
  });
});
