/**
 * `purge`: removes what is no longer remembered.
 *
 * @module
 */
import { PURGE_MIN_AGE_MS } from '../../core/ports.ts';
import { formatDuration } from '../duration.ts';
import { EXIT } from '../exit-codes.ts';
import type { Screen } from '../output.ts';
import type { OpenPlace } from '../places/open.ts';
import { recordsOf } from './find-run.ts';

export interface PurgeRequest {
  readonly place: OpenPlace;
  /** Default: all of them. */
  readonly operation?: string | undefined;
  /** Also runs without an outcome whose lease ended longer ago than this, ms. Then nothing is left that says that they were begun, so the next run runs. */
  readonly lapsedOlderThanMs?: number | undefined;
  /** Stop after so many. */
  readonly limit?: number | undefined;
  readonly out: Screen;
}

/**
 * Exit code: 0. What is blocked is never removed, nor what is younger than an hour, nor a lease.
 *
 * @throws UsageError; RerunSafeError `STORE_UNAVAILABLE`, …
 */
export async function purge({ place, operation, lapsedOlderThanMs, limit, out }: PurgeRequest): Promise<number> {
  const { removed } = await recordsOf(place).purge({
    ...(operation === undefined ? {} : { operation }),
    ...(lapsedOlderThanMs === undefined ? {} : { lapsedOlderThanMs }),
    ...(limit === undefined ? {} : { limit }),
  });
  if (out.isJson) {
    out.json({ removed });
    return EXIT.ok;
  }
  const more = limit !== undefined && removed >= limit ? ' There may be more.' : '';
  out.print(`${removed} removed: what was remembered for as long as it was to be, and is older than ${formatDuration(PURGE_MIN_AGE_MS)}.${more}`);
  if (lapsedOlderThanMs !== undefined) {
    out.print(
      `Among them runs whose lease ended more than ${formatDuration(lapsedOlderThanMs)} before, with no outcome. Nobody knows what they did, and nothing is left that says so: their keys run again.`,
    );
  }
  return EXIT.ok;
}
