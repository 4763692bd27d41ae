/**
 * Makes an engine of an earlier commit, in one file: `node test/versions/bundle.ts <commit>` writes `engine-<commit>.mjs` beside this. Packages stay
 * outside of it. What it exports is what that commit had.
 *
 * @module
 */
import { execFileSync } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';
import { ROOT } from '../../scripts/run.ts';

const MODULES = {
  'src/index.ts': '*',
  'src/stores/sqlite/index.ts': '{ sqliteStore, fencedTransaction as fencedSqlite }',
  'src/stores/dynamodb/index.ts': '{ dynamodbStore }',
  'src/stores/azure-tables/index.ts': '{ tableStore }',
  'src/stores/postgres/index.ts': '{ postgresStore }',
  'src/stores/redis/index.ts': '{ redisStore }',
} as const;
/** Above this it is made smaller than a person can read. */
const READABLE_BYTES = 150_000;

const git = (...args: string[]): string => execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).trim();

async function bundle(given: string): Promise<string> {
  const commit = git('rev-parse', '--short=7', given);
  const folder = await mkdtemp(join(tmpdir(), 'rerunsafe-engine-'));
  try {
    const archive = execFileSync('git', ['archive', commit, 'src'], { cwd: ROOT, maxBuffer: 2 ** 28 });
    execFileSync('tar', ['-x', '-C', folder], { input: archive });
    await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
    // A store that had a folder, and nothing to import yet, is none.
    const there = Object.entries(MODULES).filter(([path]) => existsSync(join(folder, path)));
    await writeFile(join(folder, 'entry.ts'), there.map(([path, names]) => `export ${names} from './${path}';\n`).join(''));
    const path = join(import.meta.dirname, `engine-${commit}.mjs`);
    const banner = [
      `// The engine of commit ${commit} (${git('show', '-s', '--format=%cs, %s', commit)}), for the tests beside it.`,
      `// Made by: node test/versions/bundle.ts ${commit}. Never edited by hand.`,
    ].join('\n');
    const write = (minify: boolean) =>
      build({
        entryPoints: [join(folder, 'entry.ts')],
        outfile: path,
        bundle: true,
        format: 'esm',
        platform: 'node',
        target: 'node22',
        packages: 'external',
        minify,
        legalComments: 'none',
        banner: { js: banner },
        logLevel: 'warning',
      });
    await write(false);
    if (statSync(path).size > READABLE_BYTES) await write(true);
    return `${path}: ${statSync(path).size} bytes, of ${there.map(([from]) => from).join(', ')}`;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

for (const commit of process.argv.slice(2)) console.log(await bundle(commit));
