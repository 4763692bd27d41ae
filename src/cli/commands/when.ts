/**
 * Points in time, as people read them and as programs do.
 *
 * @module
 */
import { FOREVER_MS } from '../../core/record.ts';
import { formatDuration } from '../duration.ts';

/** Beyond, there is no date. What is stored may be any number. */
const LAST_DATE_MS = 8.64e15;
const isDate = (ms: number): boolean => Math.abs(ms) <= LAST_DATE_MS;

/** For programs: UTC; null where it is no date. */
export const isoOf = (ms: number | undefined): string | null => (ms === undefined || !isDate(ms) ? null : new Date(ms).toISOString());

/** For people: the time of this machine's zone, and how long ago: `2026-03-01T10:00:00+01:00 (3m ago)`. */
export function moment(ms: number, nowMs: number): string {
  if (!isDate(ms)) return 'at no valid time';
  const agoMs = nowMs - ms;
  return `${localIso(ms)} (${agoMs >= 0 ? `${formatDuration(agoMs)} ago` : `in ${formatDuration(-agoMs)}`})`;
}

function localIso(ms: number): string {
  const offset = -new Date(ms).getTimezoneOffset();
  const local = ms + offset * 60_000;
  if (!isDate(local)) return new Date(ms).toISOString();
  const two = (value: number): string => String(Math.floor(value)).padStart(2, '0');
  return `${new Date(local).toISOString().slice(0, 19)}${offset < 0 ? '-' : '+'}${two(Math.abs(offset) / 60)}:${two(Math.abs(offset) % 60)}`;
}

/** When something that was written then ends; undefined: never. */
export function endOf(writtenAtMs: number, retentionMs: number): number | undefined {
  return retentionMs >= FOREVER_MS || !isDate(writtenAtMs + retentionMs) ? undefined : writtenAtMs + retentionMs;
}
