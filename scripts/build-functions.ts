/**
 * Compiles the sample functions to `functions/dist/`. They import the package by its name, so `dist/` has to be there first.
 *
 * @module
 */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ROOT, run, TSC } from './run.ts';

await rm(join(ROOT, 'functions/dist'), { recursive: true, force: true });
const { ok, output } = await run(TSC, ['-p', 'functions/tsconfig.json']);
process.stdout.write(output);
if (!ok) process.exitCode = 1;
