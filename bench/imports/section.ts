/**
 * What it costs to start: imports in fresh processes, what each loads, and how large it is in a bundle.
 *
 * @module
 */
import type { Measured, Section, Table } from '../section.ts';
import { ENTRIES } from './entries.ts';
import { loadedBy } from './fresh.ts';
import { sizes } from './sizes.ts';
import { times } from './times.ts';

async function loads(): Promise<Table> {
  const rows: string[][] = [];
  for (const entry of ENTRIES) {
    const { own, foreign, builtin } = await loadedBy(entry);
    const packages = Object.entries(foreign).map(([name, files]) => `${name} (${files})`);
    rows.push([entry, String(own), packages.join(', ') || 'none', builtin.map((name) => name.slice('node:'.length)).join(', ')]);
  }
  return {
    title: 'What an import loads before anything is called',
    columns: ['entry point', 'own files', 'foreign packages (files)', "Node's own"],
    rows,
    note: 'No SDK, no telemetry, no schema library.',
  };
}

async function measure({ share }: { readonly share: number }): Promise<Measured> {
  const parts = [await times(share), { tables: [await loads()], figures: [] }, await sizes()];
  return { tables: parts.flatMap(({ tables }) => tables), figures: parts.flatMap(({ figures }) => figures) };
}

export const section: Section = { name: 'imports', measure };
