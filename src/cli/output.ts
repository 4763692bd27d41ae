/**
 * The answer of a command on its standard output: coloured for people at a terminal, plain for whatever else reads it, JSON when asked to.
 *
 * @module
 */
import { styleText } from 'node:util';
import type { Out } from './out.ts';

export type Ink = Parameters<typeof styleText>[0];

export interface Screen extends Out {
  /** How wide the terminal is; undefined where there is none: a file, a pipe. */
  readonly columns: number | undefined;
  /** The text in a colour, where colours are seen and wanted (`NO_COLOR`). */
  paint(ink: Ink, text: string): string;
}

export interface OutOptions {
  readonly json: boolean;
  readonly stdout: NodeJS.WritableStream;
  readonly isTTY: boolean;
  readonly columns: number | undefined;
}

const USUAL_COLUMNS = 80;

/** @example const out = makeOut({ json: false, stdout: process.stdout, isTTY: process.stdout.isTTY === true, columns: process.stdout.columns }); */
export function makeOut({ json, stdout, isTTY, columns }: OutOptions): Screen {
  return {
    isJson: json,
    columns: isTTY && !json ? (columns ?? USUAL_COLUMNS) : undefined,
    print(line) {
      if (!json) stdout.write(`${line}\n`);
    },
    json(value) {
      stdout.write(`${harmlessJson(value)}\n`);
    },
    paint: (ink, text) => (isTTY && !json ? styleText(ink, text, { stream: stdout }) : text),
  };
}

/** JSON escapes the first 32 control characters only; a terminal also obeys those from U+0080 on. They can stand nowhere but in strings. */
const harmlessJson = (value: unknown): string =>
  JSON.stringify(value).replace(
    /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
