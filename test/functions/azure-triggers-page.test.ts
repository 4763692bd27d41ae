import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { keys } from '../../src/adapters/azure-functions/index.ts';

const ROOT = join(import.meta.dirname, '../..');
const PAGE = readFileSync(join(ROOT, 'docs/azure-triggers.md'), 'utf8');
const [TABLES = '', LISTS = ''] = PAGE.split('\n## The tests\n');
/** `- R1 `test/x.test.ts` “a title”, “another”`, or a sentence on why there is none. */
const notes = [...LISTS.matchAll(/^- ([A-Z]\d+) (.*)$/gm)].map(([, id = '', said = '']) => ({ id, said }));

describe('the page on triggers', () => {
  it('names a test, or says why there is none, for every letter it uses, and for no other', () => {
    const used = [...TABLES.matchAll(/\[([A-Z]\d+)\]/g)].map(([, id]) => id as string);
    expect([...new Set(used)].sort()).toEqual(notes.map(({ id }) => id).sort());
  });

  it.each(notes.filter(({ id }) => !id.startsWith('X')))('names tests that are there: $id', ({ said }) => {
    const named = [...said.matchAll(/`(test\/[^`]+)`((?:,? “[^”]+”)+)/g)];
    expect(named.length).toBeGreaterThan(0);
    for (const [, file = '', titles = ''] of named) {
      const source = readFileSync(join(ROOT, file), 'utf8');
      for (const [, title = ''] of titles.matchAll(/“([^”]+)”/g)) expect(source).toContain(title);
    }
  });

  it('names every key that can be asked for, and no other', () => {
    const told = new Set([...TABLES.matchAll(/\bkeys\.(\w+)/g)].map(([, name]) => name as string));
    expect([...told].sort()).toEqual(Object.keys(keys).sort());
  });
});
