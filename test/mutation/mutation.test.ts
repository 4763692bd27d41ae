import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Score } from './run.ts';
import { MUTATED, ROUNDS, testsOf, testsUpTo } from './tests.ts';
import config from './vitest.config.ts';

const ROOT = join(import.meta.dirname, '../..');
const scores = Object.entries(JSON.parse(readFileSync(join(import.meta.dirname, 'scores.json'), 'utf8')) as Record<string, Score>);
const survivors = readFileSync(join(import.meta.dirname, 'survivors.md'), 'utf8');
const ENOUGH_PERCENT = 95;
/** Measured, and neither noticed nor explained enough so far. A file leaves this list as soon as it is. */
const NOT_YET: readonly string[] = [
  'src/core/beside.ts',
  'src/core/codec.ts',
  'src/core/together.ts',
  'src/core/owned.ts',
  'src/leases/file/native-lock.ts',
  'src/leases/file/operate.ts',
  'src/leases/file/place.ts',
];

describe('what changes of the source were noticed, when that was last measured', () => {
  it.each(globSync([...MUTATED], { cwd: ROOT }).sort())('the tests that are asked about %s are there', (file) => {
    const tests = ROUNDS.flatMap((round) => testsOf(file)[round]);
    expect(tests.filter((pattern) => globSync(pattern, { cwd: ROOT }).length === 0)).toEqual([]);
  });

  it.each(scores)(
    '%s: enough of them, or each that was not is explained; or it is known that this is not so yet',
    (file, { percent, survived, explained }) => {
      expect(existsSync(join(ROOT, file))).toBe(true);
      expect(percent >= ENOUGH_PERCENT || explained === survived).toBe(!NOT_YET.includes(file));
    },
  );

  it('a round has the tests of those before it', () => {
    expect(testsUpTo('src/core/decide.ts', 'own')).toEqual(testsOf('src/core/decide.ts').own);
    expect(config.test?.include).toEqual(testsUpTo('src/core/decide.ts', 'quick'));
  });

  it('what is explained is of files that were measured', () => {
    const named = [...survivors.matchAll(/^## (.*)$/gm)].map(([, file]) => file);
    expect(named.filter((file) => !scores.some(([measured]) => measured === file))).toEqual([]);
  });
});
