import { describe, expect, it } from 'vitest';
import { counted } from '../../bench/cpu/section.ts';

/** Counted on the memory store with the package as it is built. Fewer is welcome: then these change. */
const PROMISES = { first: 56, replay: 18 };
const TIMERS = { first: 4, replay: 1 };
const BYTES = { first: 34_000, replay: 6_500 };

describe('what a call makes on its way', () => {
  it('I11 so many promises and timers, and no more bytes', () => {
    const { first, replay } = counted();
    expect({ first: first.promises, replay: replay.promises }).toEqual(PROMISES);
    expect({ first: first.timers, replay: replay.timers }).toEqual(TIMERS);
    expect(first.bytes).toBeLessThan(BYTES.first);
    expect(replay.bytes).toBeLessThan(BYTES.replay);
  });
});
