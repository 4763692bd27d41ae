/**
 * The far side: a file that every process appends to, apart from all the stores that are looked at.
 *
 * @module
 */
import { closeSync, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs';

export interface Effect {
  readonly key: string;
  /** As far as the work was told; 0: it was not. */
  readonly attempt: number;
  readonly who: string;
}

export function addEffect(path: string, effect: Effect): void {
  const file = openSync(path, 'a');
  writeSync(file, `${JSON.stringify(effect)}\n`);
  fsyncSync(file);
  closeSync(file);
}

export const effectsOf = (path: string, key: string): Effect[] =>
  readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line.includes(key))
    .map((line) => JSON.parse(line) as Effect);
