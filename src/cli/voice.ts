/**
 * What the guard says beside the command: on the error stream, since the other one is the command's.
 *
 * @module
 */
import { harmless } from './commands/harmless.ts';
import type { Report } from './run/report.ts';

export interface Voice {
  /** A sentence that matters, whoever reads it. */
  say(sentence: string): void;
  /** What became of it, once. */
  tell(report: Report): void;
}

export interface VoiceOptions {
  readonly json: boolean;
  readonly quiet: boolean;
  /** Whether a person reads. */
  readonly isTerminal: boolean;
  readonly write: (text: string) => void;
}

/** What normal life brings: cron would mail each line of it. */
const USUAL: ReadonlySet<Report['became']> = new Set(['already-done', 'busy']);

export function voiceOf({ json, quiet, isTerminal, write }: VoiceOptions): Voice {
  const said: string[] = [];
  const line = (sentence: string): void => write(`rerunsafe: ${harmless(sentence)}\n`);
  return {
    say(sentence) {
      if (json) said.push(sentence);
      else line(sentence);
    },
    tell(report) {
      if (json) write(`${JSON.stringify({ ...report, ...(said.length === 0 ? {} : { said }) })}\n`);
      // That all went well is seen by the command's own output. Whoever finds nothing run has to be told why, in a log too.
      else if (report.became === 'succeeded' && report.saved !== false ? isTerminal && !quiet : !(quiet && USUAL.has(report.became)))
        line(sentenceOf(report));
    },
  };
}

function sentenceOf({ key, lease, message }: Report): string {
  const name = key ?? lease;
  return name === undefined ? message : `${JSON.stringify(name)}: ${message}`;
}
