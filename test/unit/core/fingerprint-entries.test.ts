import { expect, it } from 'vitest';
import { fingerprintOf } from '../../../src/core/fingerprint.ts';

it('I9 maps and sets differ by each of their keys, values and items, and by their order', () => {
  const inputs = [
    new Map<unknown, unknown>([['a', 1]]),
    new Map<unknown, unknown>([['a', 2]]),
    new Map<unknown, unknown>([['b', 1]]),
    new Map<unknown, unknown>([['a', undefined]]),
    new Map<unknown, unknown>([[undefined, 1]]),
    new Map<unknown, unknown>([
      ['a', 1],
      ['b', 2],
    ]),
    new Map<unknown, unknown>([
      ['b', 2],
      ['a', 1],
    ]),
    new Map<unknown, unknown>([[{ id: 1 }, 1]]),
    new Map<unknown, unknown>([[{ id: 2 }, 1]]),
    new Set<unknown>(['a']),
    new Set<unknown>(['b']),
    new Set<unknown>([undefined]),
    new Set<unknown>(['a', 'b']),
    new Set<unknown>(['b', 'a']),
  ];
  expect(new Set(inputs.map(fingerprintOf)).size).toBe(inputs.length);
});
