import { IdempotencyConfig } from '@aws-lambda-powertools/idempotency';
import { BasePersistenceLayer } from '@aws-lambda-powertools/idempotency/persistence';
import { describe, expect, it } from 'vitest';
import { powertoolsKey } from '../../../src/stores/dynamodb/powertools-key.ts';

/** Numbers that look random, the same in every run. */
function dice(seed: number): (sides: number) => number {
  let state = seed;
  return (sides) => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x6d2b79f5) | 0;
    return ((state >>> 8) & 0xffff) % sides;
  };
}
const NAMES = [
  'a',
  'A',
  'aa',
  'aB',
  'Ab',
  'b',
  'B',
  '10',
  '9',
  '-1',
  'ä',
  'Ä',
  'İ',
  'ß',
  'z_',
  'z',
  '_',
  '',
  '😀',
  '__proto__',
  'toJSON',
  'constructor',
];
const LEAVES = [0, -0, 1.5, -7, 1e21, 2 ** 53, '', 'x', 'Ünï😀', '2025-01-01T00:00:00Z', 'a\u0000"\\\u2028', true, false, null];

function someJson(roll: (sides: number) => number, depth = 0): unknown {
  const kind = roll(depth > 3 ? 1 : 4);
  if (kind === 0) return LEAVES[roll(LEAVES.length)];
  const children = Array.from({ length: roll(6) }, () => someJson(roll, depth + 1));
  if (kind === 1) return children;
  // As events are made: JSON.parse gives even `__proto__` as a property like any other.
  return JSON.parse(`{${children.map((child) => `${JSON.stringify(NAMES[roll(NAMES.length)])}:${JSON.stringify(child)}`).join(',')}}`);
}

/** Only the key is asked for. */
class Keys extends BasePersistenceLayer {
  _deleteRecord = async (): Promise<void> => {};
  _putRecord = async (): Promise<void> => {};
  _updateRecord = async (): Promise<void> => {};
  _getRecord = async (): Promise<never> => {
    throw new Error('nothing is kept');
  };
  of(payload: unknown): string {
    return this.getHashedIdempotencyKey(payload as Parameters<BasePersistenceLayer['getHashedIdempotencyKey']>[0]);
  }
}

describe('the key of Powertools', () => {
  it('I3 is the one that Powertools makes, for 3,000 payloads with names in any order and case', () => {
    const keys = new Keys();
    keys.configure({ config: new IdempotencyConfig({}), keyPrefix: 'payments' });
    const keying = { prefix: 'payments', hashFunction: 'md5', keyAttr: 'id', composite: undefined };
    const roll = dice(7);
    const seen = new Set<string>();
    const warn = console.warn;
    console.warn = () => {};
    try {
      for (let n = 0; n < 3_000; n++) {
        const payload = someJson(roll);
        const { id, key } = powertoolsKey(keying, payload);
        expect(id, JSON.stringify(payload)).toBe(keys.of(payload));
        expect(key).toEqual({ id: { S: id } });
        seen.add(id);
      }
    } finally {
      console.warn = warn;
    }
    expect(seen.size).toBeGreaterThan(1_000);
  });
});
