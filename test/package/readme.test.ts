import { globSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { memoryStore } from '../../src/index.ts';
import { blobLeases } from '../../src/leases/azure-blob/index.ts';
import { tableStore } from '../../src/stores/azure-tables/index.ts';
import { dynamodbStore } from '../../src/stores/dynamodb/index.ts';
import { ROOT, runNode } from './packed.ts';

/**
 * The ```ts blocks of a page. What a block leaves to the reader's imagination is declared in a comment right before it:
 * `<!-- given: declare const order: { id: string }; -->`
 */
function snippetsOf(page: string): { line: number; source: string }[] {
  const blocks = page.matchAll(/(?:<!--\s*given:(?<given>[\s\S]*?)-->\s*)?^ *```ts\b[^\n]*\n(?<code>[\s\S]*?)^ *```/gm);
  return [...blocks].map((block) => ({
    line: page.slice(0, block.index).split('\n').length,
    // Of a store, as it stands in src/stores/<name>/.
    source: `${block.groups?.given ?? ''}\n${(block.groups?.code ?? '').replaceAll("'../../core/", "'../../src/core/")}\nexport {};\n`,
  }));
}

const slug = (name: string): string => name.replaceAll(/\W/g, '-');

/** What the compiler says of the examples, by page. All in one program: reading the SDKs' types takes longer than the examples do. */
async function complaints(pages: Readonly<Record<string, string>>): Promise<(name: string) => string> {
  // Inside the tree, so that packages resolve as they do for the source.
  await mkdir(join(ROOT, '.cache'), { recursive: true });
  const folder = await mkdtemp(join(ROOT, '.cache/snippets-'));
  try {
    for (const [name, page] of Object.entries(pages))
      for (const { line, source } of snippetsOf(page)) await writeFile(join(folder, `${slug(name)}.line-${line}.ts`), source);
    const compilerOptions = { noUnusedLocals: false, noUnusedParameters: false, noEmit: true };
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ extends: '../../tsconfig.json', compilerOptions, include: ['*.ts'] }));
    const { stdout } = await runNode(folder, join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', '.');
    const lines = stdout.split('\n').filter((line) => line !== '');
    return (name) => lines.filter((line) => line.startsWith(`${slug(name)}.`) || !/^[\w-]+\.line-/.test(line)).join('\n');
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const WRONG = "text\n\n```ts\nimport { runTwice } from 'rerunsafe';\nrunTwice();\n```\n";
const GIVEN = '<!-- given: declare const orderId: string; -->\n\n```ts\nconst key: string = orderId;\n```\n';

describe('the pages', () => {
  const pages = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', ...globSync('docs/*.md', { cwd: ROOT })];
  const withExamples = pages.filter((name) => snippetsOf(readFileSync(join(ROOT, name), 'utf8')).length > 0);

  let said: (name: string) => string;
  beforeAll(async () => {
    const read = (name: string): [string, string] => [name, readFileSync(join(ROOT, name), 'utf8')];
    said = await complaints({ ...Object.fromEntries(withExamples.map(read)), WRONG, GIVEN });
  }, 240_000);

  it('are looked for where they are', () => {
    expect(withExamples).toEqual(expect.arrayContaining(['README.md', 'docs/azure-triggers.md', 'docs/client.md']));
  });

  it.each(withExamples)('%s has examples that compile against the source as it is', (name) => {
    expect(said(name)).toBe('');
  });

  it('fail for an example that does not compile', () => {
    expect(snippetsOf(WRONG)).toHaveLength(1);
    expect(said('WRONG')).toMatch(/^WRONG\.line-3\.ts.*runTwice/);
  });

  it('may declare before an example what the reader has to imagine', () => {
    expect(said('GIVEN')).toBe('');
  });

  it('the README has the limits that the stores have', async () => {
    const page = await readFile(join(ROOT, 'README.md'), 'utf8');
    const row = (name: string): string => page.split('\n').find((line) => line.startsWith(`| \`${name}\``)) ?? '';
    const kib = (bytes: number): string => (bytes % 1_048_576 === 0 ? `${bytes / 1_048_576} MiB` : `${bytes / 1_024} KiB`);
    for (const [name, store] of Object.entries({
      tableStore: tableStore(),
      dynamodbStore: dynamodbStore({ tableName: 't' }),
      memoryStore: memoryStore(),
    })) {
      expect(row(name), name).toContain(`| ${kib(store.limits.maxRecordBytes)} |`);
    }
    const { minLeaseMs, maxLeaseMs } = blobLeases().limits;
    expect(row('blobLeases')).toContain(`${minLeaseMs / 1_000} to ${maxLeaseMs / 1_000} s`);
  });
});
