/**
 * Everything that can be said about the code without running it, side by side: lint and format, types, arrows, unused code.
 *
 * @module
 */
import { join } from 'node:path';
import { ROOT, run, TSC } from './run.ts';

const bin = (path: string): string => join(ROOT, 'node_modules', path);

const CHECKS: Readonly<Record<string, readonly [program: string, ...args: string[]]>> = {
  lint: [bin('@biomejs/biome/bin/biome'), 'check', '--error-on-warnings', '.'],
  types: [TSC, '-p', 'tsconfig.json', '--noEmit'],
  arrows: [
    bin('dependency-cruiser/bin/dependency-cruiser.mjs'),
    '--config',
    '.dependency-cruiser.cjs',
    'src',
    'test',
    'functions',
    'scripts',
    'bench',
  ],
  unused: [bin('knip/bin/knip.js'), '--no-progress'],
};

const results = await Promise.all(Object.entries(CHECKS).map(async ([name, [program, ...args]]) => ({ name, ...(await run(program, args)) })));
for (const { name, ok, output, tookMs } of results) {
  if (!ok) process.stdout.write(`\n== ${name} ==\n${output}\n`);
  process.stdout.write(`${ok ? 'ok    ' : 'FAILED'} ${name} (${(tookMs / 1000).toFixed(1)} s)\n`);
}
if (results.some((result) => !result.ok)) process.exitCode = 1;
