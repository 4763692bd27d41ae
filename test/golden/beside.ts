/**
 * What is kept elsewhere than in the records of functions: lock files, and what the command line leaves. `node test/golden/beside.ts` writes what is not
 * there yet: `v1/lock-files.json`, `v1/command-line.json`.
 *
 * @module
 */
import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { hostname, tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { SCHEMA } from '../../src/core/record.ts';
import { fileLeases } from '../../src/leases/file/index.ts';
import { SLOT } from './scenarios.ts';

const MAIN = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));
const CENTURY = '36500d';
/** Says who has run it. */
const COMMAND = ['node', '-e', 'console.log("said by", process.env.WHO); process.exitCode = Number(process.env.CODE)'];

export interface Said {
  readonly code: number;
  readonly out: string;
}

/** The command line, on the database of that file. */
export const cli = (path: string, args: readonly string[], env: Record<string, string> = {}): Promise<Said> =>
  new Promise((resolve) => {
    const all = ['--disable-warning=ExperimentalWarning', MAIN, ...args.slice(0, 1), '--store', `sqlite:${path}`, ...args.slice(1)];
    execFile(process.execPath, all, { env: { ...process.env, CODE: '0', ...env } }, (error, stdout, stderr) =>
      resolve({ code: typeof error?.code === 'number' ? error.code : error === null ? 0 : -1, out: stdout + stderr }),
    );
  });

export const run = (path: string, key: string, who: string, options: readonly string[] = [], code = '0'): Promise<Said> =>
  cli(path, ['run', '--key', key, '--ttl', CENTURY, ...options, '--', ...COMMAND], { WHO: who, CODE: code });

export const TAIL = ['--capture', 'tail:1k'];
/** By key: what was asked, and how its command ended. */
const RUNS: readonly (readonly [key: string, options: readonly string[], code: string])[] = [
  ['done', [], '0'],
  ['done-with-tail', TAIL, '0'],
  ['failed', [], '3'],
  ['failed-for-good', ['--on-failure', 'block'], '3'],
];

export async function writeLockFiles(directory: string): Promise<void> {
  const leases = fileLeases({ directory });
  await leases.setUp();
  const request = { leaseMs: 60_000, label: 'host 1' };
  const acquired = async (name: string, slot?: number) => {
    const got = await leases.acquire(name, { ...request, owner: `owner of ${name}`, ...(slot === undefined ? {} : { slot }) });
    if (got.kind !== 'acquired') throw new Error(`${name} is ${got.kind}`);
    return { owner: `owner of ${name}`, token: got.token };
  };
  await leases.release('released', { ...(await acquired('released')), holdMs: 500 });
  await leases.release('slot-done', { ...(await acquired('slot-done', SLOT)), slotDone: SLOT });
  await acquired('broken');
  await leases.break('broken');
  // As a process that died leaves it.
  await leases.renew('held', { ...(await acquired('held')), leaseMs: 60_000 });
}

export async function writeRuns(path: string): Promise<void> {
  await cli(path, ['set-up']);
  for (const [key, options, code] of RUNS) await run(path, key, 'the first', options, code);
}

export const rowsIn = (path: string): Record<string, unknown>[] => on(path, (database) => database.prepare('SELECT * FROM rerunsafe').all());

export function putRows(path: string, rows: readonly Readonly<Record<string, unknown>>[]): void {
  on(path, (database) => {
    for (const row of rows) {
      const names = Object.keys(row);
      database
        .prepare(`INSERT INTO rerunsafe (${names}) VALUES (${names.map(() => '?')})`)
        .run(...(Object.values(row) as (string | number | null)[]));
    }
  });
}

function on<R>(path: string, use: (database: DatabaseSync) => R): R {
  const database = new DatabaseSync(path);
  try {
    return use(database);
  } finally {
    database.close();
  }
}

const pathOf = (name: string, schema = SCHEMA): string => join(import.meta.dirname, `v${schema}`, `${name}.json`);
export const readBeside = <T>(name: string, schema: number): T => JSON.parse(readFileSync(pathOf(name, schema), 'utf8')) as T;

/** By the name of the file. Of a file most is empty. */
export async function lockFilesIn(directory: string): Promise<Record<string, string>> {
  const names = (await readdir(directory)).filter((name) => name.endsWith('.lease')).sort();
  const text = async (name: string): Promise<string> =>
    (await readFile(join(directory, name))).toString('latin1').replace(/\0+/g, (zeros) => `<${zeros.length} zeros>`);
  return Object.fromEntries(await Promise.all(names.map(async (name) => [name, await text(name)] as const)));
}

export async function putLockFiles(directory: string, files: Readonly<Record<string, string>>): Promise<void> {
  await fileLeases({ directory }).setUp();
  for (const [name, text] of Object.entries(files)) {
    const bytes = text.replace(/<(\d+) zeros>/g, (_, count: string) => '\0'.repeat(Number(count)));
    await writeFile(join(directory, name), Buffer.from(bytes, 'latin1'), { mode: 0o600 });
  }
}

async function writeMissing(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'rerunsafe-golden-'));
  const save = async (name: string, make: () => Promise<unknown>): Promise<void> => {
    if (existsSync(pathOf(name))) return;
    // Nobody's machine is named.
    const text = JSON.stringify(await make(), null, 2)
      .replaceAll(hostname(), 'host-1')
      .replaceAll(`${userInfo().username}@`, 'ann@');
    await writeFile(pathOf(name), `${text}\n`);
  };
  await save('lock-files', async () => {
    await writeLockFiles(join(folder, 'leases'));
    return lockFilesIn(join(folder, 'leases'));
  });
  await save('command-line', async () => {
    await writeRuns(join(folder, 'records.db'));
    return rowsIn(join(folder, 'records.db'));
  });
  await rm(folder, { recursive: true });
}

if (process.argv[1] === import.meta.filename) {
  await writeMissing();
  process.exit();
}
