/**
 * The recipes of `docs/cli.md`, as they stand there.
 *
 * @module
 */
import { readFileSync } from 'node:fs';
import { PAGE } from './write.ts';

const page = readFileSync(PAGE, 'utf8');

/** The text of the code blocks of a kind under a heading. A block may have comments that look like the heading of a page. */
export function blocksOf(heading: string, kind: string): readonly string[] {
  const section = page.split(/^#{2,3} |^# (?=`)/m).find((part) => part.startsWith(`${heading}\n`));
  if (section === undefined) throw new Error(`there is no heading ${heading}`);
  return [...section.matchAll(new RegExp(`^\`\`\`${kind}\n([\\s\\S]*?)^\`\`\``, 'gm'))].map(([, text = '']) => text);
}

/** What a pattern finds under a heading, once. */
export function found(heading: string, kind: string, pattern: RegExp): string {
  const all = blocksOf(heading, kind).flatMap((text) => [...text.matchAll(new RegExp(pattern, 'gm'))].map(([, what = '']) => what));
  if (all.length !== 1) throw new Error(`${heading} has ${all.length} of ${pattern}`);
  return all[0] as string;
}

export const prose = page;
