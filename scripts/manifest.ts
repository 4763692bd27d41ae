/**
 * `main` has two readers. In the work tree it is the glob by which the Azure Functions worker finds the sample app; in the published package it
 * is the library. `library` and `work-tree` each set it outright, whatever stands there, so a pack that died half way is mended by the next one.
 *
 * @module
 */
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ROOT } from './run.ts';

const MAIN: Readonly<Record<string, string>> = {
  library: './dist/cjs/index.js',
  'work-tree': 'functions/dist/azure/*.js',
};

const main = MAIN[process.argv[2] ?? ''];
if (main === undefined) throw new Error(`usage: node scripts/manifest.ts ${Object.keys(MAIN).join(' | ')}`);

const path = join(ROOT, 'package.json');
const before = await readFile(path, 'utf8');
const after = before.replace(/^( {2}"main": )"[^"]*"/m, `$1${JSON.stringify(main)}`);
if ((JSON.parse(after) as { main?: string }).main !== main) throw new Error('package.json has no line for "main".');
if (after !== before) {
  // Written beside and moved: a crash in the middle of a write would leave half a manifest.
  await writeFile(`${path}.tmp`, after);
  await rename(`${path}.tmp`, path);
}
