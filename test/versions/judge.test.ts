import { describe, expect, it } from 'vitest';
import { broken, type Line, staleWrites } from './judge.ts';

const key = 'k';
const [old, today] = [
  { version: '8a3546b', key },
  { version: 'today', key },
] as const;
const GOOD: readonly Line[] = [
  { ...old, told: 'started', attempt: 1, token: 10 },
  { ...old, told: 'charging', token: 10, id: 'c' },
  { ...old, told: 'charged', token: 10, id: 'c' },
  { ...today, told: 'started', attempt: 2, token: 11 },
  { ...today, told: 'charged', token: 11, id: 'c' },
  { ...today, told: 'got', id: 'v', charge: 'c', token: 11, replayed: false },
  { ...old, told: 'got', id: 'v', charge: 'c', token: 11, replayed: true },
];

describe('the judge of mixed versions', () => {
  it('finds nothing wrong with a history that keeps the promises', () => {
    expect(broken(GOOD)).toEqual([]);
    expect(broken([...GOOD, { ...old, told: 'started', attempt: 0, token: 9 }])).toEqual([]);
  });

  it.each<[string, Line]>([
    ['I2', { ...old, told: 'got', id: 'another', charge: 'c', token: 11, replayed: true }],
    ['I2', { ...old, told: 'got', id: 'v', charge: 'another', token: 11, replayed: true }],
    ['I3', { ...old, told: 'started', attempt: 3, token: 12 }],
    ['today was told INVALID_OPTIONS', { ...today, told: 'refused', code: 'INVALID_OPTIONS' }],
    ['8a3546b was told Error: Invalid input', { ...old, told: 'refused', code: 'Error: Invalid input' }],
    ['I5', { ...old, told: 'started', attempt: 3, token: 11 }],
    ['attempt 2 was made twice', { ...old, told: 'started', attempt: 2, token: 12 }],
    ['a step that 8a3546b had kept was begun again', { ...today, told: 'charging', token: 11, id: 'd' }],
  ])('finds what breaks %s: %j', (what, line) => {
    expect(broken([...GOOD, line]).join()).toContain(what);
  });

  it('I5 finds one token that was given to two holders of a lease', () => {
    const leased: Line = { ...old, told: 'leased', token: 5 };
    expect(broken([leased, { ...today, told: 'leased', token: 6 }])).toEqual([]);
    expect(broken([leased, { ...today, told: 'leased', token: 5 }]).join()).toContain('I5');
  });

  it('I4 finds a stale write among those that were accepted', () => {
    expect(staleWrites([1, 1, 2, 3].map((token) => ({ name: 'a', token })))).toEqual([]);
    expect(staleWrites([1, 3, 2].map((token) => ({ name: 'a', token }))).join()).toContain('I4');
  });
});
