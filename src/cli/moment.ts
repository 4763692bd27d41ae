/**
 * A moment, as people and schedulers write it.
 *
 * @module
 */
import { UsageError } from './usage-error.ts';

const ISO = /^(\d{4}-\d\d-\d\d)(?:[Tt ]((?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:[.,]\d+)?)?)([Zz]|[+-]\d\d:?\d\d)?)?$/;
/** Epoch seconds reach this in the year 5138, epoch milliseconds did so in 1973. */
const SECONDS_BELOW = 1e11;

/**
 * Epoch ms of `2026-10-25T02:30:00Z`, `2026-10-25T02:30+02:00`, `2026-10-25` (midnight UTC), epoch seconds or epoch milliseconds.
 *
 * A time of day without its offset is refused: each host would read another moment, and two hosts would run the same slot.
 *
 * @throws UsageError
 */
export function parseMoment(text: string): number {
  const given = text.trim();
  if (/^\d+(\.\d+)?$/.test(given)) {
    const count = Number(given);
    const epochMs = Math.floor(count < SECONDS_BELOW ? count * 1_000 : count);
    if (epochMs <= 8.64e15) return epochMs;
  }
  const [, date, time, zone] = ISO.exec(given) ?? [];
  if (date !== undefined) {
    if (time !== undefined && zone === undefined)
      throw new UsageError(`--at: "${text}" does not say in which time zone; put Z (UTC) or an offset such as +02:00 behind it`);
    const offset = zone === undefined || /^z$/i.test(zone) ? 'Z' : zone.replace(/^(...)(\d\d)$/, '$1:$2');
    const midnightMs = Date.parse(`${date}T00:00Z`);
    const momentMs = Date.parse(`${date}T${time?.replace(',', '.') ?? '00:00'}${offset}`);
    // The 31st of February is read as the 3rd of March.
    const isOnCalendar = Number.isFinite(midnightMs) && new Date(midnightMs).toISOString().startsWith(date);
    if (isOnCalendar && momentMs >= 0) return momentMs;
  }
  throw new UsageError(`--at: "${text}" is no moment; say 2026-10-25T02:30:00Z, 2026-10-25T02:30+02:00, or seconds since 1970`);
}
