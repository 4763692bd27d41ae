/**
 * Where the answers of a command go in these tests.
 *
 * @module
 */
import type { Out } from '../../../src/cli/out.ts';

export interface Collected {
  readonly out: Out;
  readonly lines: string[];
  readonly values: unknown[];
}

export function collected(isJson = false): Collected {
  const lines: string[] = [];
  const values: unknown[] = [];
  return { out: { isJson, print: (line) => void lines.push(line), json: (value) => void values.push(value) }, lines, values };
}
