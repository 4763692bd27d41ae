import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT } from '../../scripts/run.ts';
import { PUBLIC_FAILURES } from './public-failures.ts';
import { BASE, EXTENDING } from './shedlock-suite.ts';
import type { PublicFailure } from './test-files.ts';

const ROWS = 37;

function holds({ tests, not }: Pick<PublicFailure, 'tests' | 'not'>): void {
  expect(tests.length > 0 || (not ?? '').length > 0).toBe(true);
  const missing = tests.filter(([file, title]) => !readFileSync(join(ROOT, file), 'utf8').includes(title));
  expect(missing).toEqual([]);
}

describe('what has gone wrong with the leases of others', () => {
  it('is all there, each once', () => {
    expect(new Set(PUBLIC_FAILURES.map(({ issues }) => issues)).size).toBe(ROWS);
  });
  it.each(PUBLIC_FAILURES)('$issues ($happened) has a test that is there, or a reason why not', holds);
});

describe('the suite of ShedLock, 8 cases and 7 for extending', () => {
  it('is all there', () => {
    expect([BASE.length, EXTENDING.length]).toEqual([8, 7]);
  });
  it.each([...BASE, ...EXTENDING])('$asks: has a case that is there', holds);
});
