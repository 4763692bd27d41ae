import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Ran, ROOT, run } from '../../scripts/run.ts';
import { stepsOf, withoutFigures } from '../../scripts/walk/page.ts';
import { type Packed, pack } from './packed.ts';

describe("a newcomer's walk, with the package as npm packs it", () => {
  let packed: Packed;
  let ran: Ran;
  beforeAll(async () => {
    packed = await pack();
    ran = await run(join(ROOT, 'scripts/walk/main.ts'), ['--tarball', packed.tarball]);
  }, 400_000);
  afterAll(() => packed?.cleanUp());

  it('every block of the pages that begin with an empty folder runs, and prints what the page says', () => {
    expect(ran.output).toMatch(/\n\d\d steps as the pages say, 0 not\n$/);
    expect(ran.ok).toBe(true);
  });

  it('goes through the command line, both clouds and the shell', () => {
    for (const typed of ['$ npx rerunsafe run', '$ npm install rerunsafe @azure/functions', '$ npm install rerunsafe @aws-sdk/client-dynamodb'])
      expect(ran.output).toContain(typed);
  });
});

describe('what a page says there is to do', () => {
  const block = (mark: string, text = 'x\n'): string => `<!-- walk: ${mark} -->\n\n\`\`\`sh\n${text}\`\`\`\n\n`;

  it('is taken from its marks, in their order', () => {
    const page = `${block('file a/b.ts', 'text\n')}${block('run')}\n\nwords\n\n${block('prints', 'y\n')}${block('background')}`;
    expect(stepsOf(page)).toEqual([
      { kind: 'file', path: 'a/b.ts', text: 'text\n' },
      { kind: 'run', text: 'x\n', prints: 'y\n' },
      { kind: 'background', text: 'x\n' },
    ]);
  });

  it.each(['<!-- walk: run -->\n\nno block', block('prints'), block('file'), block('runs'), `${block('background')}${block('prints')}`])(
    'is refused where a mark means nothing: %j',
    (page) => expect(() => stepsOf(page)).toThrow(),
  );

  it('does not tell apart times, durations, people and processes, and everything else', () => {
    const one = 'done (2026-12-01T02:01:35Z, by root@vm, pid 21658) after 3ms';
    expect(withoutFigures(one)).toBe(withoutFigures('done (2027-01-31T12:01:35.5Z, by me@host.local, pid 9) after 1.25s'));
    expect(withoutFigures(one)).not.toBe(withoutFigures('done (2026-12-01T02:01:35Z, by root@vm, pid 21658) after 3 tries'));
  });
});
