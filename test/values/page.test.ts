import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { KEPT, type Kind } from '../support/values.ts';
import { NOT_KEPT } from '../support/values-not-kept.ts';
import { PAGE, STORES, TABLES, withTables } from './page.ts';

const page = readFileSync(PAGE, 'utf8');
const names = (kinds: readonly Kind[]): string[] => kinds.flatMap(({ values }) => Object.keys(values));

describe('the page on values', () => {
  it.each(Object.keys(TABLES))('has a place for the table of %s', (name) => {
    expect(page.split(`<!-- ${name} -->`)).toHaveLength(2);
    expect(page.split(`<!-- /${name} -->`)).toHaveLength(2);
  });

  it('says what the tests run over, and no more (if not: node test/values/page.ts)', () => {
    expect(withTables(page)).toBe(page);
    for (const { kind } of [...KEPT, ...NOT_KEPT]) expect(page).toContain(`| ${kind} |`);
  });

  it('calls nothing kept and not kept', () => {
    const all = [...names(KEPT), ...names(NOT_KEPT)];
    expect(new Set(all).size).toBe(all.length);
    const kinds = [...KEPT, ...NOT_KEPT].map(({ kind }) => kind);
    expect(new Set(kinds).size).toBe(kinds.length);
  });

  it('has the limits of every store', () => {
    for (const [name] of STORES) expect(page).toContain(`| \`${name}\` |`);
  });
});
