import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT, run } from '../../scripts/run.ts';
import { SCENARIOS } from '../../scripts/scenarios/list.ts';
import { backendsOf, WITHOUT } from '../../scripts/scenarios/scenario.ts';

const page = readFileSync(join(ROOT, 'docs/scenarios.md'), 'utf8');
const sectionOf = (id: string): string => page.split(new RegExp(`\n## ${id}\\b`))[1]?.split('\n## ')[0] ?? '';
const rows = [...page.matchAll(/^\| (S\d+) \| (.+) \| `(.+)` \| (.+) \| (.+) \|$/gm)].map(([, id, title, command, , backends]) => ({
  id,
  title,
  command,
  backends,
}));
const SCRIPT = join(ROOT, 'scripts/scenarios/main.ts');

describe('the page on scenarios', () => {
  it('has a row for each that the script lists, with its command and its backends, and no other', () => {
    const listed = SCENARIOS.map((scenario) => ({
      id: scenario.id,
      title: scenario.title,
      command: `npm run scenario ${scenario.id}`,
      backends: backendsOf(scenario).join(', '),
    }));
    expect(rows).toEqual(listed);
  });

  it.each(SCENARIOS.map((scenario) => [scenario.id, scenario] as const))(
    'shows for %s its command, what each part printed, and what is not shown',
    (id, { title, parts }) => {
      const section = sectionOf(id);
      expect(section).toContain(title);
      const printed = /```console\n([\s\S]*?)\n```/.exec(section)?.[1] ?? '';
      expect(printed.split('\n')[0]).toBe(`$ npm run scenario ${id}`);
      for (const { on, shows } of parts) expect(printed).toContain(`\n   ${on}: ${shows}\n   `);
      expect(printed).not.toContain('✗');
      expect(printed).toMatch(/\n1 of 1 scenarios held \(\d+ expectations met, 0 not\) in \d+ s$/);
      expect(section).toMatch(/\n\*\*Not shown:\*\* \S/);
    },
  );

  it('shows of every scenario what goes wrong without', () => {
    // S6 shows it on each backend, with the same write without its fence.
    for (const { id, parts } of SCENARIOS) expect(id === 'S6' || parts[0]?.on === WITHOUT, id).toBe(true);
  });

  it('is about every situation that is to be shown', () => {
    expect(SCENARIOS.map(({ id }) => id)).toEqual(['S1', 'S2', 'S3', 'S4', 'S5', 'S6', 'S7', 'S8', 'S9', 'S10', 'S11', 'S12', 'S13']);
  });
});

describe('npm run scenario', () => {
  it('lists what it can show', async () => {
    const { ok, output } = await run(SCRIPT, ['--list']);
    expect(ok).toBe(true);
    expect(output.trim().split('\n')).toEqual(SCENARIOS.map((one) => `${one.id.padEnd(4)}${one.title} · ${backendsOf(one).join(', ')}`));
  });

  it('refuses what it does not know, and shows nothing', async () => {
    const { ok, output } = await run(SCRIPT, ['S1', 'S99']);
    expect(ok).toBe(false);
    expect(output).toBe('There is no scenario S99. npm run scenario -- --list names them.\n');
  });
});
