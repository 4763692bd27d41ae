/**
 * Whether anything stands for a key, without claiming it: a claim that is meant to be refused might be left behind, and the next attempt would run.
 *
 * @module
 */
import { bounded, withinInvocation } from '../core/bounded.ts';
import type { Call, Guard } from '../core/guard.ts';
import { keyParts, recordId, scopeParts } from '../core/key.ts';
import { isExpired } from '../core/record.ts';
import { realSystem } from '../core/system.ts';

/** @throws RerunSafeError whatever the store says, and `INVALID_OPTIONS` for a scope that is none. */
export async function isRemembered(
  { operation, store }: Pick<Guard, 'operation' | 'store'>,
  { key, scope, remainingMs, signal }: Call,
): Promise<'no' | 'yes' | 'to-be-done'> {
  // For local work nothing is guarded, and there need not be a store.
  if (process.env.RERUNSAFE_DISABLED === '1') return 'to-be-done';
  const id = recordId(operation, scopeParts(scope, operation), keyParts(key, operation));
  const limitMs = withinInvocation(Number.POSITIVE_INFINITY, remainingMs?.() ?? Number.POSITIVE_INFINITY);
  const standing = await bounded(realSystem, limitMs, (options) => store.read(id, options), signal);
  if (standing === undefined || isExpired(standing.record, standing.ageMs, store.clock.uncertaintyMs)) return 'no';
  const { state, attempt, fingerprint } = standing.record;
  // A withdrawn or forgotten record has no fingerprint: only a person leaves a counted-anew record that knows its request.
  return state === 'released' && attempt === 0 && fingerprint !== undefined ? 'to-be-done' : 'yes';
}
