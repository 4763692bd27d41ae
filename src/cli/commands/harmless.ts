/**
 * What is stored was written by others, and a terminal obeys what it is shown: titles, colours, the clipboard, lines written over.
 *
 * @module
 */
import { stripVTControlCharacters } from 'node:util';

/** Also what turns the reading direction round: a name that reads as another one. */
const COMMANDING = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu;

/** On one line. What should be a text may be anything. */
export const harmless = (text: unknown): string => stripVTControlCharacters(String(text)).replace(/\s+/gu, ' ').replace(COMMANDING, '\uFFFD');

/** The lines of a text that has several. */
export const harmlessLines = (text: string): string[] =>
  stripVTControlCharacters(text)
    .split(/\r?\n|\r/)
    .map((line) => line.replaceAll('\t', '    ').replace(COMMANDING, '\uFFFD'));
