/**
 * Keys that say when they were made: UUIDs of version 7 (RFC 9562, section 5.7).
 *
 * A key that comes back after its record was forgotten looks new, and would run again without a word. This kind of key gives itself away.
 *
 * @module
 */

const VERSION_7 = /^([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i;

/** Epoch ms by the client's clock; undefined for any other kind of key. */
export function madeAtMs(key: unknown): number | undefined {
  const [, high, low] = (typeof key === 'string' ? VERSION_7.exec(key) : null) ?? [];
  return high === undefined || low === undefined ? undefined : Number.parseInt(high + low, 16);
}

/**
 * Whether a record of the first use may be forgotten already. A client's clock that is ahead makes its keys look younger than they are, so a minute
 * (at most a tenth of the retention) is taken off: only a first use that comes as late as that is refused for it.
 */
export function isPastRetention(key: unknown, { nowMs, retentionMs }: { readonly nowMs: number; readonly retentionMs: number }): boolean {
  const made = madeAtMs(key);
  return made !== undefined && nowMs - made > retentionMs - Math.min(60_000, retentionMs / 10);
}
