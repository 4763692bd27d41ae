import { describe, expect, it } from 'vitest';
import { keys } from '../../src/adapters/azure-functions/index.ts';
import { namedTests, notedPage } from '../support/page-notes.ts';

const { claims, notes, used } = notedPage('docs/azure-triggers.md');

describe('the page on triggers', () => {
  it('names a test, or says why there is none, for every letter it uses, and for no other', () => {
    expect(used).toEqual(notes.map(({ id }) => id).sort());
  });

  it.each(notes.filter(({ id }) => !id.startsWith('X')))('names tests that are there: $id', (note) => {
    const named = namedTests(note);
    expect(named.length).toBeGreaterThan(0);
    expect(named.filter(({ isThere }) => !isThere)).toEqual([]);
  });

  it('names every key that can be asked for, and no other', () => {
    const told = new Set([...claims.matchAll(/\bkeys\.(\w+)/g)].map(([, name]) => name as string));
    expect([...told].sort()).toEqual(Object.keys(keys).sort());
  });
});
