/**
 * What a wrapper takes of an item before the work: key, scope and input, each from a function of the user's.
 *
 * @module
 */
import { fingerprintOf } from '../core/fingerprint.ts';
import type { Call } from '../core/guard.ts';
import { atOnce, copied } from '../core/key.ts';
import { invalidOptions } from '../core/options.ts';

export interface KeyFunctions<A extends readonly unknown[]> {
  readonly key: (...item: A) => unknown;
  readonly scope?: unknown;
  readonly input?: ((...item: A) => unknown) | undefined;
}

/**
 * Each is taken at once, copied or hashed: a function that uses one array or object again for the next item must not make two items one.
 *
 * @throws RerunSafeError `INVALID_OPTIONS` where `input` finds nothing: whoever gives it wants a comparison, and there would be none.
 */
export async function keyed<A extends readonly unknown[]>(
  operation: string,
  { key, scope, input }: KeyFunctions<A>,
  ...item: A
): Promise<Pick<Call, 'key' | 'scope' | 'inputFingerprint'>> {
  const [givenKey, givenScope, inputFingerprint] = await Promise.all([
    atOnce(key(...item), copied),
    typeof scope === 'function' ? atOnce((scope as (...item: A) => unknown)(...item), copied) : scope,
    input && atOnce(input(...item), (value) => (value === undefined ? undefined : fingerprintOf(value))),
  ]);
  if (input !== undefined && inputFingerprint === undefined) {
    throw invalidOptions(operation, ['input answered undefined: nothing would be compared. Nothing was run']);
  }
  // undefined from a function means that it found none; only an option that was not given means none is wanted.
  return { key: givenKey, scope: typeof scope === 'function' ? (givenScope ?? null) : scope, inputFingerprint };
}
