/**
 * The far side, and what was seen of the runs: a file that every process appends to. A line whose write has returned outlives a SIGKILL of its process.
 *
 * @module
 */
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';

interface Seen {
  readonly run: string;
  /** The number of the process. */
  readonly child: number;
}

interface SeenStep extends Seen {
  readonly attempt: number;
  readonly step: string;
}

export interface Effect extends SeenStep {
  readonly what: 'effect';
  readonly key: string;
  readonly value: string;
}

export type End =
  | { readonly kind: 'completed'; readonly value: readonly string[]; readonly attempt: number }
  | { readonly kind: 'blocked'; readonly attempt: number }
  /** Anything else. */
  | { readonly kind: 'other'; readonly why: string };

export type Line =
  | Effect
  /** The far side was asked by `onInterrupted`. */
  | (SeenStep & { readonly what: 'asked'; readonly key: string })
  | (SeenStep & { readonly what: 'resolved'; readonly value: string })
  /** What a caller of the run was told. */
  | (Seen & { readonly what: 'ended'; readonly end: End });

export interface Witness {
  add(line: Line): void;
  find(key: string): Effect | undefined;
  close(): void;
}

export function openWitness(path: string): Witness {
  const file = openSync(path, 'a');
  return {
    add: (line) => void writeSync(file, `${JSON.stringify(line)}\n`),
    find: (key) => readLines(path).find((line): line is Effect => line.what === 'effect' && line.key === key),
    close: () => closeSync(file),
  };
}

export const readLines = (path: string): Line[] =>
  readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Line);
