/**
 * `assert`: asked by a script that runs under the guard: is what it runs under still held?
 *
 * A check, not a fence: the answer is about a moment that is over when the script goes on. What must never be written by a stale script has to be refused by
 * the store that it is written to, which compares the token (docs/leases.md).
 *
 * @module
 */
import { rowIdOf } from '../../core/fence.ts';
import type { Fence, LeaseState, Stored } from '../../core/ports.ts';
import { formatDuration } from '../duration.ts';
import { EXIT } from '../exit-codes.ts';
import type { Screen } from '../output.ts';
import type { OpenPlace } from '../places/open.ts';
import { UsageError } from '../usage-error.ts';
import { recordsOf } from './find-run.ts';

export interface AssertRequest {
  /** Of the script: `RERUNSAFE_STORE` and `RERUNSAFE_FENCE` are read. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly open: (url: string) => Promise<OpenPlace>;
  /** At least so much of the lease has to be left, ms. Default 0. */
  readonly minMs?: number | undefined;
  readonly out: Screen;
}

export type Holding =
  /** undefined: held, and the place does not tell for how long. */
  { readonly held: true; readonly remainingMs: number | undefined } | { readonly held: false; readonly why: Lost; readonly sentence: string };

export type Lost = 'gone' | 'taken' | 'ended' | 'lapsed' | 'short';

/**
 * Exit code: 0 held; 125 lost, or less than `minMs` is left.
 *
 * @throws UsageError outside of a guarded run, and for `minMs` where the place does not tell what is left; RerunSafeError of the store.
 */
export async function assertHeld({ env, open, minMs = 0, out }: AssertRequest): Promise<number> {
  const { url, fence, isLease } = told(env);
  const place = await open(url);
  try {
    const sinceMs = performance.now();
    const holding = isLease
      ? leaseHolding(await place.leases.read(fence.id), fence)
      : runHolding(await recordsOf(place).read(rowIdOf(fence.id)), fence, place.store?.clock.uncertaintyMs ?? 0);
    return say(out, fence, enough(holding, performance.now() - sinceMs, minMs));
  } finally {
    await place.close();
  }
}

function say(out: Screen, { id, token }: Fence, holding: Holding): number {
  if (out.isJson) {
    out.json({
      ...(holding.held ? { held: true, remainingMs: holding.remainingMs ?? null } : { held: false, why: holding.why, message: holding.sentence }),
      id,
      token,
    });
  } else if (!holding.held) out.print(`lost: ${holding.sentence}`);
  // Within a script, at each of its steps: that all is well needs no word, and cron would mail it.
  else if (out.columns !== undefined) {
    const left = holding.remainingMs === undefined ? '' : ` for another ${formatDuration(holding.remainingMs)} without renewal`;
    out.print(`held${left} (token ${token}). This is a check, not a fence: let the store that you write to compare the token (docs/leases.md)`);
  }
  return holding.held ? EXIT.ok : EXIT.guard;
}

const OUTSIDE =
  'not inside a guarded run: RERUNSAFE_STORE and RERUNSAFE_FENCE are what `rerunsafe run` and `rerunsafe lock` give to their command (and an unguarded run has no fence)';

function told({ RERUNSAFE_STORE: url, RERUNSAFE_FENCE: json }: AssertRequest['env']): { url: string; fence: Fence; isLease: boolean } {
  if (url === undefined || url === '' || json === undefined || json === '') throw new UsageError(OUTSIDE);
  let given: unknown;
  try {
    given = JSON.parse(json);
  } catch {
    throw new UsageError('RERUNSAFE_FENCE is no JSON: it has to be handed on as it is');
  }
  const { id, owner, token, kind } = (given ?? {}) as Record<string, unknown>;
  if (typeof id !== 'string' || typeof owner !== 'string' || !Number.isSafeInteger(token) || id === '' || owner === '') {
    throw new UsageError('RERUNSAFE_FENCE has no id, owner and token: it has to be handed on as it is');
  }
  return { url, fence: { id, owner, token: token as number }, isLease: kind === 'lease' };
}

export function runHolding(stored: Stored | undefined, { owner, token }: Fence, uncertaintyMs: number): Holding {
  if (stored === undefined) return lost('gone', 'its record is gone: it was purged, or another store is asked');
  const { record, ageMs } = stored;
  if (record.owner !== owner || record.token !== token) return taken(record.token, token);
  if (record.state !== 'running') return lost('ended', `this attempt has ended (${record.state})`);
  // Its own side of the allowance for clocks: whoever takes over waits for the lease and the uncertainty.
  const remainingMs = record.leaseMs - ageMs;
  return remainingMs > 0 ? { held: true, remainingMs } : lapsed(-remainingMs, uncertaintyMs);
}

export function leaseHolding(state: LeaseState | undefined, { owner, token }: Fence): Holding {
  if (state === undefined) return lost('gone', 'there is no such lease: another place is asked, or its row was removed');
  if (state.token !== token || (state.owner !== undefined && state.owner !== owner)) return taken(state.token, token);
  // A minimum hold has an end and no owner: nobody works under it any more.
  if (!state.held || (state.owner === undefined && state.remainingMs !== undefined)) return lost('ended', 'it was released, or its lease is over');
  if (state.remainingMs !== undefined && state.remainingMs <= 0) return lapsed(0, 0);
  return { held: true, remainingMs: state.remainingMs };
}

/** What the look took has passed since. */
function enough(holding: Holding, tookMs: number, minMs: number): Holding {
  if (!holding.held) return holding;
  if (holding.remainingMs === undefined) {
    if (minMs > 0) throw new UsageError('this place does not tell how much of a lease is left: ask without --min');
    return holding;
  }
  const remainingMs = Math.max(0, holding.remainingMs - tookMs);
  if (remainingMs > 0 && remainingMs >= minMs) return { held: true, remainingMs: Math.floor(remainingMs) };
  return minMs === 0 ? lapsed(0, 0) : lost('short', `${formatDuration(remainingMs)} of its lease are left, less than ${formatDuration(minMs)}`);
}

const lost = (why: Lost, sentence: string): Holding => ({ held: false, why, sentence });
const taken = (standing: number, ours: number): Holding =>
  lost(
    'taken',
    standing === ours
      ? 'somebody else has taken it'
      : `somebody else has taken it, or it was broken: token ${standing} stands there, ours is ${ours}`,
  );
const lapsed = (agoMs: number, uncertaintyMs: number): Holding =>
  lost('lapsed', `its lease is over${agoMs > uncertaintyMs ? ` since ${formatDuration(agoMs)}` : ''}, and anybody may take it`);
