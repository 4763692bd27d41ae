/**
 * A page whose claims carry letters, `[R1]`, and that ends with a list of the tests behind them: ``- R1 `test/x.test.ts` “a title”, “another”``, or for
 * `X…` a sentence on why there is none.
 *
 * @module
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../scripts/run.ts';

export interface Note {
  readonly id: string;
  readonly said: string;
}

export interface NotedPage {
  /** Everything before the list. */
  readonly claims: string;
  readonly notes: readonly Note[];
  /** Each letter that the claims use, once, sorted. */
  readonly used: readonly string[];
}

export function notedPage(path: string): NotedPage {
  const [claims = '', list = ''] = readFileSync(join(ROOT, path), 'utf8').split('\n## The tests\n');
  const notes = [...list.matchAll(/^- ([A-Z]+\d+) (.*)$/gm)].map(([, id = '', said = '']) => ({ id, said }));
  const used = [...claims.matchAll(/\[([A-Z]+\d+)\]/g)].map(([, id]) => id as string);
  return { claims, notes, used: [...new Set(used)].sort() };
}

/** What a note names: each title, and whether its file has it. */
export function namedTests({ said }: Note): { readonly title: string; readonly isThere: boolean }[] {
  return [...said.matchAll(/`((?:test|src\/testing)\/[^`]+)`((?:,? “[^”]+”)+)/g)].flatMap(([, file = '', titles = '']) => {
    const source = readFileSync(join(ROOT, file), 'utf8');
    return [...titles.matchAll(/“([^”]+)”/g)].map(([, title = '']) => ({ title, isThere: source.includes(title) }));
  });
}
