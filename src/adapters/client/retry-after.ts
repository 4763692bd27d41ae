/**
 * The value of `Retry-After` (RFC 9110, section 10.2.3).
 *
 * @module
 */

const SECONDS = /^[0-9]+$/;
const HTTP_DATE = /^[A-Z][a-z]{2}, [0-9]{2} [A-Z][a-z]{2} [0-9]{4} [0-9]{2}:[0-9]{2}:[0-9]{2} GMT$/;

/**
 * How long to wait, ms; undefined where it is missing or says nothing.
 *
 * A date is taken against the `Date` of the same answer: our own clock may be minutes off.
 */
export function retryAfterMs(headers: Headers, wallMs: number): number | undefined {
  const value = headers.get('retry-after')?.trim() ?? '';
  if (SECONDS.test(value)) return Number(value) * 1_000;
  const at = dateOf(value);
  return at === undefined ? undefined : Math.max(0, at - (dateOf(headers.get('date')?.trim() ?? '') ?? wallMs));
}

function dateOf(value: string): number | undefined {
  const ms = HTTP_DATE.test(value) ? Date.parse(value) : Number.NaN;
  return Number.isNaN(ms) ? undefined : ms;
}
