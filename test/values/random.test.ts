import { expect, it } from 'vitest';
import { decode, encode } from '../../src/core/codec.ts';
import { packed, unpacked } from '../../src/core/pack.ts';
import { byLength } from '../support/long.ts';
import { difference } from '../support/same.ts';
import { KEPT } from '../support/values.ts';

/** Of mulberry32: the same numbers for the same seed, in [0, 1). */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

// Kept only where all the rest is JSON.
const PROTO = 'names of the language';
/** Large ones only make it slow. */
const SMALL = KEPT.flatMap(({ values }) => Object.entries(values))
  .filter(([name, make]) => name !== PROTO && (JSON.stringify(encode(make())) ?? '').length < 1_000)
  .map(([, make]) => make);
const NAMES = ['a', 'b', '', '0', '-1', 'constructor', 'then', 'length', 'toJSON', 'ä\uD800', '\u0000'];

function randomValue(seed: number): unknown {
  const next = random(seed);
  const below = (most: number): number => Math.floor(next() * most);
  const made: unknown[] = [];
  const value = (depth: number): unknown => {
    const kind = depth === 0 ? 0 : below(9);
    const some = (): unknown[] => Array.from({ length: below(4) }, () => value(depth - 1));
    if (kind < 3) return (SMALL[below(SMALL.length)] as () => unknown)();
    // What is there already, in another place; an outer one makes a cycle.
    if (kind === 3 && made.length > 0) return made[below(made.length)];
    if (kind === 4) return keep(new Set(some()));
    if (kind === 5) return keep(new Map(some().map((key) => [key, value(depth - 1)])));
    if (kind < 8) return keep(Object.fromEntries(some().map((inner) => [NAMES[below(NAMES.length)] as string, inner])));
    const list = keep<unknown[]>([]);
    list.push(...some());
    return list;
  };
  const keep = <O extends object>(object: O): O => {
    made.push(object);
    return object;
  };
  return value(5);
}

const COUNT = byLength(1_000, 4_000, 50_000);

it(`I2 ${COUNT} values made at random of what is kept come back as they were`, () => {
  for (let seed = 1; seed <= COUNT; seed++) {
    const encoding = encode(randomValue(seed));
    // Its text is what a store has.
    const back = encoding.ok ? unpacked(packed({ kind: 'value', value: JSON.parse(JSON.stringify(encoding.encoded)) })) : undefined;
    expect(back?.kind, `seed ${seed} is not kept`).toBe('value');
    if (back?.kind === 'value') expect(difference(decode(back.value), randomValue(seed)), `seed ${seed}`).toBeUndefined();
  }
}, 120_000);
