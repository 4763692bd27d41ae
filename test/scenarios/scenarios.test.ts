import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Ran, ROOT, run } from '../../scripts/run.ts';
import { SCENARIOS } from '../../scripts/scenarios/list.ts';
import { excerptOf, linesOf, withoutFigures } from './output.ts';

const page = readFileSync(join(ROOT, 'docs/scenarios.md'), 'utf8');
const sectionOf = (id: string): string => page.split(new RegExp(`\n## ${id}\\b`))[1]?.split('\n## ')[0] ?? '';

describe('the scenarios, on real stores and emulators', () => {
  let ran: Ran;
  beforeAll(async () => {
    ran = await run(join(ROOT, 'scripts/scenarios/main.ts'), []);
  }, 300_000);

  it('I1 I2 I3 I4 I5 I6 all hold, and the exit code says so', () => {
    const failures = ran.output.split('\n').filter((line) => line.includes('✗'));
    expect(failures, ran.output).toEqual([]);
    expect(ran.ok, ran.output).toBe(true);
  });

  it.each(SCENARIOS.map((scenario) => [scenario.id, scenario] as const))('%s is shown on each of its backends', (id, { parts }) => {
    const shown = excerptOf(ran.output, id);
    for (const { on, shows } of parts) expect(shown).toContain(`\n   ${on}: ${shows}\n`);
  });

  it.each(SCENARIOS.map(({ id }) => id))('%s prints what docs/scenarios.md prints, but for figures and ids', (id) => {
    const printed = /```console\n([\s\S]*?)\n```/.exec(sectionOf(id))?.[1] ?? '';
    expect(withoutFigures(linesOf(printed, id).join('\n'))).toBe(withoutFigures(excerptOf(ran.output, id)));
  });
});
