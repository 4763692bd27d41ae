/**
 * How a command ended where it did not succeed: thrown by the work, so that the engine judges it.
 *
 * @module
 */

import type { TailPiece } from '../child/child.ts';
import { codeOfSignal } from '../child/code-of-signal.ts';
import type { ChildEnd } from '../child/run-child.ts';
import { formatDuration } from '../duration.ts';
import { EXIT } from '../exit-codes.ts';

export type Unsuccessful = Exclude<ChildEnd, { kind: 'exited' }> | { readonly kind: 'failed'; readonly code: number } | NotBroughtAbout | NotAsked;

/** It ended with 0, and what it was to bring about is not there. */
interface NotBroughtAbout {
  readonly kind: 'not-brought-about';
  readonly missing: readonly string[];
}

/** It ended with 0, and whether what it was to bring about is there could not be asked. */
interface NotAsked {
  readonly kind: 'not-asked';
  readonly message: string;
}

export class CommandEnded extends Error {
  override readonly name = 'CommandEnded';
  readonly end: Unsuccessful;

  /** The last words of its output, where they were captured. */
  readonly lastWords: string;

  constructor(end: Unsuccessful, tail: readonly TailPiece[] = []) {
    super(sentenceOf(end));
    this.end = end;
    this.lastWords = lastWordsOf('tail' in end ? (end.tail ?? []) : tail);
  }

  /** For those who look at the record later. */
  get note(): string {
    return this.lastWords === '' ? this.message : `${this.message}; its output ended with: ${this.lastWords}`;
  }
}

/** A note is short, and the end of it says most. */
const MOST_WORDS = 700;

const lastWordsOf = (tail: readonly TailPiece[]): string =>
  Buffer.concat(tail.map(({ bytes }) => bytes))
    .toString('utf8')
    .trim()
    .slice(-MOST_WORDS);

/** `unknown`: nobody can say what it did. `not-started`: nothing has happened. */
export type Verdict = 'failed' | 'unknown' | 'not-started';

export function verdictOf({ kind }: Unsuccessful): Verdict {
  if (kind === 'failed' || kind === 'not-brought-about') return 'failed';
  return kind === 'not-started' ? 'not-started' : 'unknown';
}

export function exitCodeOf(end: Unsuccessful): number {
  switch (end.kind) {
    case 'failed':
      return end.code;
    case 'not-brought-about':
      return EXIT.notBroughtAbout;
    case 'not-asked':
      return EXIT.guard;
    case 'not-started':
      return end.exitCode;
    case 'signalled':
      return codeOfSignal(end.signal);
    case 'stopped':
      if (end.why === 'timeout') return EXIT.timeout;
      return end.why === 'signal' ? codeOfSignal(end.signal) : EXIT.guard;
  }
}

export function sentenceOf(end: Unsuccessful): string {
  switch (end.kind) {
    case 'failed':
      return `exit code ${end.code}`;
    case 'not-brought-about':
      return `ended with 0, but ${end.missing.join('; ')}`;
    case 'not-asked':
      return `ended with 0, but what it was to bring about could not be asked: ${end.message}`;
    case 'not-started':
      return end.message;
    case 'signalled':
      return `ended by ${end.signal} after ${formatDuration(end.durationMs)}`;
    case 'stopped':
      return `${STOPPED[end.why]}${end.why === 'signal' ? ` (${end.signal})` : ''} after ${formatDuration(end.durationMs)}`;
  }
}

const STOPPED = {
  timeout: 'stopped, since its time was over',
  'lease-lost': 'stopped, since its lease was lost',
  signal: 'stopped by a signal',
} as const;
