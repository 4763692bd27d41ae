import { execFileSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ROOT } from '../../scripts/run.ts';

const git = (...args: string[]): string => execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' });
/** Seven of sixteen digits, a letter and a figure among them. */
const named = (text: string): string[] => [...text.matchAll(/(?<![\w-])(?=[0-9]*[a-f])(?=[a-f]*[0-9])[0-9a-f]{7}(?![\w-])/g)].map(([hash]) => hash);

it('a commit that a page or a planted bug names is in the history', () => {
  const all = new Set(
    git('log', '--format=%H')
      .split('\n')
      .map((hash) => hash.slice(0, 7)),
  );
  const files = globSync(['docs/*.md', 'CHANGELOG.md', 'test/planted/bugs/*.ts', 'test/versions/*.ts'], { cwd: ROOT });
  const found = files.flatMap((file) => named(readFileSync(join(ROOT, file), 'utf8')).map((hash) => ({ file, hash })));
  expect(found.length).toBeGreaterThan(10);
  expect(found.filter(({ hash }) => !all.has(hash))).toEqual([]);
});
