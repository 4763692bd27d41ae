/**
 * Where Powertools for AWS Lambda (TypeScript) keeps the record of a payload: `<prefix>#<hash of its sorted JSON>`.
 *
 * @module
 */
import { createHash } from 'node:crypto';
import { RerunSafeError } from '../../core/errors.ts';
import type { Item } from './item.ts';

export interface PowertoolsKeying {
  readonly prefix: string;
  readonly hashFunction: string;
  readonly keyAttr: string;
  /** With a sort key all records lie under one partition key. */
  readonly composite: { readonly sortKeyAttr: string; readonly staticPkValue: string } | undefined;
}

/** @throws RerunSafeError `MISSING_KEY` for what Powertools cannot have hashed either. */
export function powertoolsKey({ prefix, hashFunction, keyAttr, composite }: PowertoolsKeying, payload: unknown): { id: string; key: Item } {
  const id = `${prefix}#${powertoolsHash(hashFunction, payload)}`;
  if (composite === undefined) return { id, key: { [keyAttr]: { S: id } } };
  return { id, key: { [keyAttr]: { S: composite.staticPkValue }, [composite.sortKeyAttr]: { S: id } } };
}

export function powertoolsHash(hashFunction: string, value: unknown): string {
  const json = jsonOf(value);
  // Silence here would be "no record found", and finished work would run again for a misspelt property.
  if (json === undefined) {
    throw new RerunSafeError('MISSING_KEY', 'There is no payload to look for among the records of Powertools. Nothing was run.');
  }
  return createHash(hashFunction).update(json).digest('base64');
}

function jsonOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(sorted(value));
  } catch (cause) {
    throw new RerunSafeError('MISSING_KEY', 'The payload cannot be written as JSON, so Powertools has no record of it. Nothing was run.', { cause });
  }
}

/** By their rule: names compared in lower case, dates and maps left to JSON, and names that differ in case alone in the order they came in. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (Object.prototype.toString.call(value) !== '[object Object]') return value;
  const from = value as Record<string, unknown>;
  const to: Record<string, unknown> = {};
  // Assigned one by one, as theirs is: what happens to `__proto__` has to happen here too.
  for (const name of Object.keys(from).sort((a, b) => (a.toLowerCase() < b.toLowerCase() ? -1 : 1))) to[name] = sorted(from[name]);
  return to;
}
