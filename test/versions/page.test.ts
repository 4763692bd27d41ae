import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { ODD } from './rows.ts';

it('the page says each way in which an earlier engine reads a row of today otherwise', () => {
  const page = readFileSync(new URL('README.md', import.meta.url), 'utf8');
  const answers = Object.values(ODD).flatMap((odd) => Object.values(odd).map((answer) => answer.replace(/(?<=TypeError): .*/, '')));
  expect([...new Set(answers)].filter((answer) => !page.includes(answer))).toEqual([]);
  expect(Object.keys(ODD).filter((commit) => !page.includes(commit))).toEqual([]);
});
