/**
 * Durations, as people type and read them.
 *
 * @module
 */
import ms from 'ms';
import { FOREVER_MS } from '../core/record.ts';
import { UsageError } from './usage-error.ts';

const SECOND_MS = 1_000;
const DAY_MS = 86_400_000;
/** Longer is a slip of the finger, or meant as `forever`. */
const LONGEST_MS = 100 * 365 * DAY_MS;

export interface DurationLimits {
  /** Shortest that is taken, ms. Default 1. */
  readonly min?: number;
  /** Longest that is taken, ms. Default 100 years. */
  readonly max?: number;
  /** Whether the word `forever` is taken: `FOREVER_MS`. Default false. */
  readonly forever?: boolean;
}

/**
 * `90s`, `10m`, `1.5h`, `7d` → whole ms. A unit is a must: `--ttl 10` is seconds for one reader and minutes for the next.
 *
 * @param what The option, as it is typed: for the sentence.
 * @throws UsageError
 * @example parseDuration('10m', '--lease', { min: 1_000 }) // 600_000
 */
export function parseDuration(text: string, what: string, limits: DurationLimits = {}): number {
  const { min = 1, max = LONGEST_MS, forever = false } = limits;
  const given = text.trim();
  if (given === 'forever') {
    if (forever) return FOREVER_MS;
    throw new UsageError(`${what}: "forever" cannot be had here; the longest is ${formatDuration(max)}`);
  }
  const orForever = forever ? ', or forever' : '';
  if (/^[\d.]+$/.test(given)) throw new UsageError(`${what}: "${text}" has no unit; say ${given}s, ${given}m, ${given}h or ${given}d${orForever}`);
  // Typed for literals; any other text gives undefined.
  const parsed = given === '' ? undefined : (ms(given as ms.StringValue) as number | undefined);
  if (parsed === undefined || !Number.isFinite(parsed) || given.startsWith('-'))
    throw new UsageError(`${what}: "${text}" is no duration; say one number and one unit: 30s, 10m, 24h, 7d${orForever}`);
  const whole = Math.round(parsed);
  if (whole < min) throw new UsageError(`${what}: "${text}" is too short; the shortest is ${formatDuration(min)}`);
  if (whole > max) throw new UsageError(`${what}: "${text}" is too long; the longest is ${formatDuration(max)}${orForever}`);
  return whole;
}

const UNITS: readonly (readonly [unitMs: number, unit: string])[] = [
  [DAY_MS, 'd'],
  [3_600_000, 'h'],
  [60_000, 'm'],
  [SECOND_MS, 's'],
];

/** For people, the two largest units: `350ms`, `2.5s`, `2m 5s`, `1d 4h`, `forever`. Rounded down: what is left of a lease is never said to be more. */
export function formatDuration(durationMs: number): string {
  if (durationMs >= FOREVER_MS) return 'forever';
  if (durationMs < 0) return `-${formatDuration(-durationMs)}`;
  if (durationMs < SECOND_MS) return `${Math.floor(durationMs)}ms`;
  if (durationMs < 60 * SECOND_MS) return `${Math.floor(durationMs / 100) / 10}s`;
  const largest = UNITS.findIndex(([unitMs]) => durationMs >= unitMs);
  let leftMs = durationMs;
  const said: string[] = [];
  for (const [unitMs, unit] of UNITS.slice(largest, largest + 2)) {
    const count = Math.floor(leftMs / unitMs);
    leftMs -= count * unitMs;
    if (count > 0) said.push(`${count}${unit}`);
  }
  return said.join(' ');
}
