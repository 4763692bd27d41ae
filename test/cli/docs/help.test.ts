import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { ROOT } from '../../../scripts/run.ts';
import { namedTests, notedPage } from '../../support/page-notes.ts';
import { optionsOf, strangers, wrongCalls } from './options.ts';
import { blocks, COMMANDS, PAGE, withBlocks } from './write.ts';

const { claims, notes, used } = notedPage('docs/cli.md');
const prose = claims.slice(0, claims.indexOf('<!-- help -->'));

describe('the page on the command line', () => {
  let made: Readonly<Record<string, string>>;
  beforeAll(async () => {
    made = await blocks();
  });

  it('has what the program prints, word for word (else: node test/cli/docs/write.ts)', () => {
    const page = readFileSync(PAGE, 'utf8');
    for (const [name, block] of Object.entries(made)) expect(page, name).toContain(`<!-- ${name} -->\n\n${block}\n\n<!-- /${name} -->`);
    expect(withBlocks(page, made)).toBe(page);
  });

  it('has every command and every option in its reference', () => {
    expect(COMMANDS.length).toBeGreaterThan(10);
    for (const command of COMMANDS) {
      expect(made.help).toContain(`\n### rerunsafe ${command.name()}\n`);
      for (const option of optionsOf(command.name()) ?? []) expect(made.help).toContain(option);
    }
  });

  it('speaks of each command, and of each option of run, before the reference', () => {
    for (const command of COMMANDS) expect(prose).toMatch(new RegExp(`rerunsafe ${command.name()}\\b|\`${command.name()}\``));
    const unsaid = (optionsOf('run') ?? []).filter((option) => option.startsWith('--') && !prose.includes(option));
    expect(unsaid).toEqual([]);
  });

  it('names no option that there is not, and none with a command that does not have it', () => {
    expect(strangers(prose)).toEqual([]);
    expect(wrongCalls(prose)).toEqual([]);
  });

  it('would see a command or an option that there is not', () => {
    expect(strangers('with `--ttl 3d`, `--tll 3d` and x--y')).toEqual(['--tll']);
    expect(wrongCalls('`rerunsafe lock a --ttl 3d -- x --y` and `rerunsafe lock a --wait 3s -- x --y`')).toEqual(['rerunsafe lock a --ttl 3d']);
    expect(wrongCalls('rerunsafe exec --wait 3s\nrerunsafe status --json')).toEqual(['rerunsafe exec --wait 3s']);
  });

  it('names everything that can become of a call, and nothing else', () => {
    const source = readFileSync(join(ROOT, 'src/cli/run/report.ts'), 'utf8');
    const union = /type Became =([^;]+);/.exec(source)?.[1]?.match(/'([^']+)'/g) ?? [];
    const said = /Its `became` is one of ([\s\S]*?)\[R4\]/.exec(prose)?.[1]?.match(/`([^`]+)`/g) ?? [];
    expect(union.length).toBeGreaterThan(5);
    expect(said.map((word) => word.slice(1, -1)).sort()).toEqual(union.map((word) => word.slice(1, -1)).sort());
  });

  it('names a test, or says why there is none, for every letter it uses, and for no other', () => {
    expect(used).toEqual(notes.map(({ id }) => id).sort());
  });

  it.each(notes.filter(({ id }) => !id.startsWith('X')))('names tests that are there: $id', (note) => {
    const named = namedTests(note);
    expect(named.length).toBeGreaterThan(0);
    expect(named.filter(({ isThere }) => !isThere)).toEqual([]);
  });

  it('leads to places that are there', () => {
    const headings = [...readFileSync(PAGE, 'utf8').matchAll(/^#+ (.*)$/gm)].map(([, text = '']) => slug(text));
    for (const [, place = ''] of claims.matchAll(/\]\(#([^)]+)\)/g)) expect(headings).toContain(place);
    for (const [, file = ''] of claims.matchAll(/\]\(([a-z-]+\.md)/g)) expect(() => readFileSync(join(ROOT, 'docs', file))).not.toThrow();
  });
});

/** As GitHub makes the name of a heading's place. */
const slug = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
