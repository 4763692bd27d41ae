/**
 * What differs each time, replaced by what does not: nonces, times, the process. So a file that is written anew differs only in what has changed.
 *
 * @module
 */

/** 1 March 2026, when the golden rows say they were written. */
const WRITTEN_AT_MS = 1_772_323_200_000;
const NEAR_MS = 3_600_000;

/** Replaces in texts and bytes, however deep. `nonces`: of owners and revisions, and what each becomes. */
export function fixed(value: unknown, nonces: ReadonlyMap<string, string>, nowMs: number): unknown {
  const text = (given: string): string => {
    let changed = given;
    for (const [nonce, instead] of nonces) changed = changed.replaceAll(nonce, instead);
    return changed
      .replace(/\b\d{13}\b/g, (found) => (Math.abs(Number(found) - nowMs) < NEAR_MS ? String(WRITTEN_AT_MS) : found))
      .replace(/^process \d+$/, 'process 1');
  };
  const walk = (given: unknown): unknown => {
    if (typeof given === 'string') return text(given);
    if (typeof given === 'number') return Number(text(String(given)));
    if (given instanceof Uint8Array) return { base64: Buffer.from(text(Buffer.from(given).toString('latin1')), 'latin1').toString('base64') };
    if (Array.isArray(given)) return given.map(walk);
    if (typeof given !== 'object' || given === null) return given;
    return Object.fromEntries(Object.entries(given).map(([name, inner]) => [text(name), walk(inner)]));
  };
  return walk(value);
}

/** Of the service's own clean-up, epoch seconds: as long after the write as it was. */
export function fixedTtl<R extends object>(row: R, nowMs: number): R {
  const { expiresAtS } = row as { expiresAtS?: { N: string } };
  if (expiresAtS === undefined) return row;
  return { ...row, expiresAtS: { N: String(Math.round((Number(expiresAtS.N) - (nowMs - WRITTEN_AT_MS) / 1000) / 60) * 60) } };
}
