/**
 * Builds `dist/`: ES modules and CommonJS, each with its own types, the command line, and `parts`, the ES modules as they are in the source, for our own tests.
 * `dist/` changes only when both succeed, in one move, so that a failed build
 * leaves the last good one.
 *
 * @module
 */
import { cp, glob, mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { rollup } from 'rollup';
import { ROOT, run, TSC } from './run.ts';

/** The compiler rewrites `.ts` in imports of its JavaScript but not of its declarations, and compilers before 5.x refuse them there. */
async function rewriteDeclarations(folder: string): Promise<void> {
  for await (const path of glob('**/*.d.ts', { cwd: folder })) {
    const file = join(folder, path);
    const text = await readFile(file, 'utf8');
    await writeFile(file, text.replaceAll(/((?:from|import) ?\(?)'(\.[^']*)\.ts'/g, "$1'$2.js'"));
  }
}

/** Not of the command line, which nobody imports. */
async function copyDeclarations(from: string, to: string): Promise<void> {
  await cp(from, to, {
    recursive: true,
    filter: async (path) => path !== join(from, 'cli') && ((await stat(path)).isDirectory() || path.endsWith('.d.ts')),
  });
}

/** Our own code in few files: each one more costs half a millisecond before a function answers, or a guarded command starts. */
async function bundled(input: Readonly<Record<string, string>>, dir: string, inCore: (path: string) => boolean): Promise<void> {
  const bundle = await rollup({
    input: { ...input },
    external: (id) => !/^[./]/.test(id),
    // No module of ours has any.
    treeshake: { moduleSideEffects: false },
  });
  await bundle.write({
    dir,
    format: 'es',
    entryFileNames: '[name].js',
    chunkFileNames: 'shared/[name]-[hash].js',
    hoistTransitiveImports: false,
    manualChunks: (path) => (inCore(path) ? 'core' : undefined),
  });
  await bundle.close();
}

/** What package.json exports, by its place below `dist/esm`. */
async function entriesIn(parts: string): Promise<Record<string, string>> {
  const { exports } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as { exports: Record<string, { import?: { default: string } }> };
  const files = Object.values(exports).flatMap(({ import: found }) => (found === undefined ? [] : [found.default.replace('./dist/esm/', '')]));
  return Object.fromEntries(files.map((file) => [file.replace(/\.js$/, ''), join(parts, file)]));
}

async function build(): Promise<boolean> {
  const staging = join(ROOT, '.cache', `build-${process.pid}`);
  try {
    const results = await Promise.all([
      run(TSC, ['-p', 'tsconfig.build.json', '--outDir', join(staging, 'parts')]),
      run(TSC, ['-p', 'tsconfig.cjs.json', '--outDir', join(staging, 'cjs')]),
    ]);
    for (const result of results) process.stdout.write(result.output);
    if (results.some((result) => !result.ok)) return false;
    await rewriteDeclarations(staging);
    const parts = join(staging, 'parts');
    await bundled(await entriesIn(parts), join(staging, 'esm'), (path) => path.startsWith(join(parts, 'core')));
    await bundled({ main: join(parts, 'cli/main.js') }, join(staging, 'cli'), () => false);
    await copyDeclarations(parts, join(staging, 'esm'));
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
