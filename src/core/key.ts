/**
 * Keys: what makes a run "the same run again".
 *
 * Parts are length-prefixed before they are hashed, so no separator can be forged, and the hash fits every store's rules for keys.
 *
 * @module
 */
import { hash } from 'node:crypto';
import { RerunSafeError } from './errors.ts';
import { invalidOptions } from './options.ts';
import type { RecordId } from './record.ts';

export type KeyPart = string | number | bigint;
/** A string, number, bigint, or an array of those. A number and the string of the same digits are one key. */
export type Key = KeyPart | readonly KeyPart[];

/**
 * @throws RerunSafeError `MISSING_KEY` for undefined, null, '' or an empty array (also inside), and for the texts `undefined`, `null`, `NaN` and
 * `[object Object]`; `INVALID_OPTIONS` for unsafe numbers, objects and ill-formed strings.
 */
export const keyParts = (key: unknown, operation = 'key'): string[] =>
  partsOf(
    key,
    operation,
    'key',
    (what) => new RerunSafeError('MISSING_KEY', `${operation}: the idempotency key ${what}. Nothing was run.`, { facts: { operation } }),
  );

/** @throws RerunSafeError `MISSING_SCOPE`, and `INVALID_OPTIONS` as {@link keyParts}. `undefined` is no scope: []. */
export const scopeParts = (scope: unknown, operation = 'scope'): string[] =>
  scope === undefined
    ? []
    : partsOf(
        scope,
        operation,
        'scope',
        (what) =>
          new RerunSafeError('MISSING_SCOPE', `${operation}: the scope ${what}; records are never shared by accident. Nothing was run.`, {
            facts: { operation },
          }),
      );

/**
 * A key or a scope, copied where a user's function gives it: an array that the function uses again for the next message would make two messages one
 * key. Without an `await` in between, since other calls may be under way.
 */
export const taken = <V>(answer: V | PromiseLike<V>): V | PromiseLike<V> => atOnce(answer, copied);

export const copied = <V>(value: V): V => (Array.isArray(value) ? ([...value] as V) : value);

/** At once where it can be. */
export const atOnce = <V, W>(answer: V | PromiseLike<V>, use: (value: V) => W): W | PromiseLike<W> =>
  typeof (answer as PromiseLike<V> | undefined | null)?.then === 'function' ? (answer as PromiseLike<V>).then(use) : use(answer as V);

/** What `String(…)` makes of a claim or a field that is not there: all who lack it would share one key. */
const NOTHINGS: ReadonlySet<unknown> = new Set(['undefined', 'null', 'NaN', '[object Object]']);

function partsOf(value: unknown, operation: string, what: string, missing: (what: string) => RerunSafeError): string[] {
  const parts: readonly unknown[] = Array.isArray(value) ? value : [value];
  if (parts.length === 0) throw missing('is an empty array');
  return parts.map((part) => {
    if (part === undefined || part === null || part === '') throw missing(`is missing (${part === '' ? 'an empty string' : String(part)})`);
    if (NOTHINGS.has(part)) throw missing(`is the text "${part}", which is what is left of a value that was not there`);
    if (typeof part === 'bigint') return part.toString();
    if (typeof part === 'number' && Number.isFinite(part) && Math.abs(part) <= Number.MAX_SAFE_INTEGER) return String(part === 0 ? 0 : part);
    // A lone surrogate becomes U+FFFD in UTF-8: two keys would be one.
    if (typeof part === 'string' && !/\p{Surrogate}/u.test(part)) return part;
    const given = typeof part === 'number' ? String(part) : typeof part === 'string' ? 'one with a lone surrogate' : `a value of type ${typeof part}`;
    throw invalidOptions(operation, [`a part of the ${what} must be a well-formed string, a safe number or a bigint, not ${given}`]);
  });
}

/** SHA-256 over length-prefixed parts, base64url, 43 characters. */
export function hashParts(...groups: readonly (string | readonly string[])[]): string {
  let text = '';
  for (const group of groups) {
    const parts = typeof group === 'string' ? [group] : group;
    text += `${parts.length}[`;
    for (const part of parts) text += `${Buffer.byteLength(part)}:${part}`;
  }
  return hash('sha256', text, 'base64url');
}

export const recordId = (operation: string, scope: readonly string[], key: readonly string[]): RecordId =>
  `r1_${hashParts('record', operation, scope, key)}` as RecordId;

/** Kept in the record so that everything of one scope can be found and erased. */
export const scopeHash = (scope: readonly string[]): string => (scope.length === 0 ? '' : hashParts('scope', scope));

/** A key for the far side: the same in every attempt, tells nothing of the original. 43 characters of `[A-Za-z0-9_-]`. */
export const derivedKey = (id: RecordId, name: string): string => hashParts('derived', id, name);

/** The key as people know it, short enough for any column. */
export const labelOf = (parts: readonly string[]): string => {
  const label = parts.join('/').replaceAll(/\p{Cc}/gu, ' ');
  return label.length <= 200 ? label : `${label.slice(0, 199).replace(/[\uD800-\uDBFF]$/, '')}…`;
};
