import { globSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { PassThrough } from 'node:stream';
import { remark } from 'remark';
import remarkValidateLinks from 'remark-validate-links';
import { type Context, engine, type Options } from 'unified-engine';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');
const PAGES = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', ...globSync('docs/**/*.md', { cwd: ROOT })];

/**
 * What is wrong with the links of the pages: files and headings that are not there. All pages at once, since the headings of another page are known
 * only where it is read too.
 */
async function wrongLinks(cwd: string, files: readonly string[]): Promise<string[]> {
  const wrong: string[] = [];
  await new Promise<void>((resolve, reject) => {
    const done = (error?: Error, _code?: unknown, context?: Context): void => {
      if (error !== undefined) reject(error);
      for (const { path, messages } of context?.files ?? []) for (const { line, reason } of messages) wrong.push(`${path}:${line} ${reason}`);
      resolve();
    };
    const quiet = new PassThrough().resume();
    const plugins = [[remarkValidateLinks, { root: cwd, repository: false }]] as unknown as Options['plugins'];
    engine({ processor: remark(), cwd, files: [...files], plugins, output: false, out: false, streamOut: quiet, streamError: quiet }, done);
  });
  return wrong.sort((a, b) => a.localeCompare(b, 'en', { numeric: true }));
}

describe('the links of the pages', () => {
  it('point at files and headings that are there', async () => {
    expect(await wrongLinks(ROOT, PAGES)).toEqual([]);
  }, 30_000);

  it('docs/README.md names every page of docs/', () => {
    const map = readFileSync(join(ROOT, 'docs/README.md'), 'utf8');
    const pages = PAGES.filter((page) => dirname(page) === 'docs' && basename(page) !== 'README.md');
    expect(pages).toContain('docs/operations.md');
    expect(pages.filter((page) => !map.includes(`](${basename(page)})`))).toEqual([]);
  });
});

describe('the check', () => {
  let folder = '';
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'links-'));
    await writeFile(join(folder, 'there.md'), '# There\n\n## A `heading`, of two words\n');
    const links = ['there.md', 'there.md#a-heading-of-two-words', '#here', 'gone.md', 'there.md#gone', '#gone'];
    await writeFile(join(folder, 'page.md'), `# Here\n\n${links.map((link) => `[text](${link})\n`).join('\n')}`);
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  it('finds a file and an anchor that are not there, and nothing else', async () => {
    const wrong = await wrongLinks(folder, ['page.md', 'there.md']);
    expect(wrong.map((text) => text.split(' ', 1)[0])).toEqual(['page.md:9', 'page.md:11', 'page.md:13']);
  });
});
