/**
 * Everything that docs/performance.md says: `npm run bench`, or by name `npm run bench -- cpu peers`. Prints tables, and keeps them with the figures in
 * bench/results.json, from which the page and its picture are made (`node bench/page/write.ts`).
 *
 * @module
 */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { printed } from './print.ts';
import type { Measured, Section } from './section.ts';

/** In the order of the page. Loaded when it is its turn: no emulator of one runs beside another. */
const SECTIONS: Readonly<Record<string, () => Promise<{ readonly section: Section }>>> = {
  floor: () => import('./floor/section.ts'),
  peers: () => import('./peers/section.ts'),
  cpu: () => import('./cpu/section.ts'),
  imports: () => import('./imports/section.ts'),
  batches: () => import('./batches/section.ts'),
  waiting: () => import('./waiting/section.ts'),
  growth: () => import('./growth/section.ts'),
  cost: () => import('./cost/section.ts'),
};

export interface Results {
  readonly machine: { readonly node: string; readonly cpu: string; readonly cores: number };
  readonly sections: Readonly<Record<string, Measured>>;
}

const RESULTS = join(import.meta.dirname, 'results.json');

const { values, positionals } = parseArgs({ allowPositionals: true, options: { share: { type: 'string', default: '1' }, json: { type: 'string' } } });
const share = Number(values.share);
if (!(share > 0)) throw new Error('--share is a number above 0: 0.1 for a tenth of the rounds');
const unknown = positionals.filter((name) => SECTIONS[name] === undefined);
if (unknown.length > 0) throw new Error(`no such section: ${unknown.join(', ')}. There are ${Object.keys(SECTIONS).join(', ')}`);
const path = values.json ?? RESULTS;

for (const name of positionals.length > 0 ? positionals : Object.keys(SECTIONS)) {
  const load = SECTIONS[name] as () => Promise<{ readonly section: Section }>;
  const { section } = await load();
  const measured = await section.measure({ share });
  console.log(printed(measured));
  const before = JSON.parse(await readFile(path, 'utf8').catch(() => '{}')) as Partial<Results>;
  const sections = { ...before.sections, [name]: measured };
  const ordered = Object.fromEntries(Object.keys(SECTIONS).flatMap((each) => (sections[each] === undefined ? [] : [[each, sections[each]]])));
  const { cpus } = await import('node:os');
  const machine = { node: process.version, cpu: cpus()[0]?.model ?? '?', cores: cpus().length };
  await writeFile(path, `${JSON.stringify({ machine, sections: ordered } satisfies Results, undefined, 2)}\n`);
}
