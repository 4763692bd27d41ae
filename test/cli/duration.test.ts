import { describe, expect, it } from 'vitest';
import { formatDuration, parseDuration } from '../../src/cli/duration.ts';
import { UsageError } from '../../src/cli/usage-error.ts';
import { FOREVER_MS } from '../../src/core/record.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

describe('durations as they are typed', () => {
  it.each([
    ['30s', 30_000],
    ['10m', 10 * MINUTE_MS],
    ['24h', DAY_MS],
    ['7d', 7 * DAY_MS],
    ['1.5h', 90 * MINUTE_MS],
    ['250ms', 250],
    ['15 minutes', 15 * MINUTE_MS],
    [' 2h ', 120 * MINUTE_MS],
  ])('one number and one unit are a duration: %s', (text, expected) => {
    expect(parseDuration(text, '--ttl')).toBe(expected);
  });

  it.each([
    ['10', /--ttl: "10" has no unit; say 10s, 10m, 10h or 10d/],
    ['0', /no unit/],
    ['', /no duration/],
    ['   ', /no duration/],
    ['-5s', /no duration/],
    ['NaN', /no duration/],
    ['Infinity', /no duration/],
    ['1e3s', /no duration/],
    ['1h30m', /no duration; say one number and one unit/],
    ['soon', /no duration/],
    ['s', /no duration/],
    ['0.2ms', /too short/],
    ['0s', /too short/],
    ['900y', /too long/],
    ['9'.repeat(99), /no unit/],
    [`${'9'.repeat(98)}s`, /too long/],
    [`${'9'.repeat(400)}s`, /no duration/],
    ['forever', /"forever" cannot be had/],
  ])('what is none is refused, and the option is named: %j', (text, expected) => {
    const parse = () => parseDuration(text, '--ttl');
    expect(parse).toThrow(UsageError);
    expect(parse).toThrow(/^--ttl: /);
    expect(parse).toThrow(expected);
  });

  it('limits are inclusive, and said where they are passed', () => {
    const limits = { min: 1_000, max: MINUTE_MS };
    expect(parseDuration('1s', '--lease', limits)).toBe(1_000);
    expect(parseDuration('1m', '--lease', limits)).toBe(MINUTE_MS);
    expect(() => parseDuration('999ms', '--lease', limits)).toThrow('the shortest is 1s');
    expect(() => parseDuration('61s', '--lease', limits)).toThrow('the longest is 1m');
    expect(parseDuration('0s', '--wait', { min: 0 })).toBe(0);
  });

  it('forever is taken where it is allowed, and offered to who went without a unit', () => {
    expect(parseDuration('forever', '--ttl', { forever: true, max: 1 })).toBe(FOREVER_MS);
    expect(() => parseDuration('10', '--ttl', { forever: true })).toThrow(/or forever/);
  });
});

describe('durations as they are read', () => {
  it.each([
    [0, '0ms'],
    [350, '350ms'],
    [999.9, '999ms'],
    [1_000, '1s'],
    [2_560, '2.5s'],
    [59_999, '59.9s'],
    [125_000, '2m 5s'],
    [120_000, '2m'],
    [3_599_999, '59m 59s'],
    [3_600_000, '1h'],
    [3_605_000, '1h'],
    [100_800_000, '1d 4h'],
    [400 * DAY_MS, '400d'],
    [-1_500, '-1.5s'],
    [FOREVER_MS, 'forever'],
  ])('%d ms are its two largest units, never rounded up', (durationMs, expected) => {
    expect(formatDuration(durationMs)).toBe(expected);
  });
});
