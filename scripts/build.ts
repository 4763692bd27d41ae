/**
 * Builds `dist/`: ES modules and CommonJS, each with its own types. `dist/` changes only when both succeed, in one move, so that a failed build
 * leaves the last good one.
 *
 * @module
 */
import { glob, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ROOT, run, TSC } from './run.ts';

/** The compiler rewrites `.ts` in imports of its JavaScript but not of its declarations, and compilers before 5.x refuse them there. */
async function rewriteDeclarations(folder: string): Promise<void> {
  for await (const path of glob('**/*.d.ts', { cwd: folder })) {
    const file = join(folder, path);
    const text = await readFile(file, 'utf8');
    await writeFile(file, text.replaceAll(/((?:from|import) ?\(?)'(\.[^']*)\.ts'/g, "$1'$2.js'"));
  }
}

async function build(): Promise<boolean> {
  const staging = join(ROOT, '.cache', `build-${process.pid}`);
  try {
    const results = await Promise.all([
      run(TSC, ['-p', 'tsconfig.build.json', '--outDir', join(staging, 'esm')]),
      run(TSC, ['-p', 'tsconfig.cjs.json', '--outDir', join(staging, 'cjs')]),
    ]);
    for (const result of results) process.stdout.write(result.output);
    if (results.some((result) => !result.ok)) return false;
    await rewriteDeclarations(staging);
    await mkdir(join(staging, 'cjs'), { recursive: true });
    await writeFile(join(staging, 'cjs/package.json'), '{ "type": "commonjs" }\n');
    const dist = join(ROOT, 'dist');
    await rm(dist, { recursive: true, force: true });
    await rename(staging, dist);
    return true;
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}

if (!(await build())) process.exitCode = 1;
