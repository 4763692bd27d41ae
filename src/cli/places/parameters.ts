/**
 * What stands behind the name in a store's URL, as `a=b&c=d`.
 *
 * @module
 */
import { UsageError } from '../usage-error.ts';

export type Parameters<N extends string> = Readonly<Partial<Record<N, string>>>;

const joined = (names: readonly string[]): string => names.join(', ');

/**
 * Names and values are never repeated in an error: a mistyped URL has a part of its password here.
 *
 * @param flags may stand without a value, and then are `true`
 * @throws UsageError
 */
export function readParameters<N extends string>(scheme: string, text: string, names: readonly N[], flags: readonly N[] = []): Parameters<N> {
  const read: Partial<Record<N, string>> = {};
  for (const [name, value] of new URLSearchParams(text)) {
    const known = names.find((one) => one === name);
    if (known === undefined) throw new UsageError(`--store ${scheme} has a parameter that is not known. The parameters are ${joined(names)}.`);
    if (read[known] !== undefined) throw new UsageError(`--store ${scheme} has ${known} twice.`);
    const isFlag = flags.includes(known);
    if (isFlag && value !== '' && value !== 'true') throw new UsageError(`--store ${scheme}: ${known} takes no value: it is there or not.`);
    if (!isFlag && value === '') throw new UsageError(`--store ${scheme}: ${known} is empty.`);
    read[known] = isFlag ? 'true' : value;
  }
  return read;
}

/** What is checked of a value. @throws UsageError */
export function checkValue(scheme: string, what: string, value: string | undefined, pattern: RegExp, otherwise: string): void {
  if (value !== undefined && !pattern.test(value)) throw new UsageError(`--store ${scheme}: ${what} must be ${otherwise}.`);
}
