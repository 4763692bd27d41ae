/**
 * The tarball as npm makes it, and projects that have it installed. Packing runs in a copy of the tree, so that the manifest others read at this
 * moment is never the swapped one.
 *
 * @module
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, copyFile, cp, mkdir, mkdtemp, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

const exec = promisify(execFile);
export const ROOT = join(import.meta.dirname, '../..');
const SOURCES = [
  'package.json',
  'README.md',
  'CHANGELOG.md',
  'SECURITY.md',
  'LICENSE',
  'docs',
  'src',
  'scripts',
  'tsconfig.json',
  'tsconfig.build.json',
  'tsconfig.cjs.json',
];
const SDKS = ['@azure', '@aws-sdk', '@opentelemetry', '@types'];

export interface Manifest {
  readonly main: string;
  readonly types: string;
  readonly bin: Readonly<Record<string, string>>;
  readonly exports: Readonly<Record<string, unknown>>;
  readonly typesVersions: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly peerDependencies: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta: Readonly<Record<string, { optional?: boolean }>>;
}

export const readManifest = async (folder: string): Promise<Manifest> => JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as Manifest;

/** The paths a user imports: `rerunsafe`, `rerunsafe/dynamodb` and so on, without `package.json`. */
export const entriesOf = (manifest: Manifest): string[] =>
  Object.keys(manifest.exports)
    .filter((path) => !path.endsWith('.json'))
    .map((path) => path.replace(/^\./, 'rerunsafe'));

export interface Packed {
  /** The copy of the tree that was packed. */
  readonly tree: string;
  readonly tarball: string;
  /** The content of the tarball. */
  readonly content: string;
  /** Makes a project that has the tarball, its libraries and the SDKs installed, and these files in it. */
  project(name: string, files: Readonly<Record<string, string>>): Promise<string>;
  cleanUp(): Promise<void>;
}

export async function pack(): Promise<Packed> {
  const folder = await mkdtemp(join(tmpdir(), 'rerunsafe-package-'));
  const cleanUp = (): Promise<void> => rm(folder, { recursive: true, force: true });
  try {
    return { ...(await packInto(folder)), cleanUp };
  } catch (error) {
    await cleanUp();
    throw error;
  }
}

/** Packed once, however many files ask for it: kept by what it was made of. */
async function tarballOf(tree: string, folder: string): Promise<string> {
  const kept = join(ROOT, '.cache/tarballs', `${await hashOf(tree)}.tgz`);
  const tarball = join(folder, 'rerunsafe.tgz');
  if (existsSync(kept)) {
    await copyFile(kept, tarball);
    return tarball;
  }
  await symlink(join(ROOT, 'node_modules'), join(tree, 'node_modules'));
  await exec('npm', ['pack', '--pack-destination', folder], { cwd: tree }).catch((error: { stdout?: string; stderr?: string }) => {
    throw new Error(`npm pack failed.\n${error.stdout}\n${error.stderr}`);
  });
  const made = (await readdir(folder)).find((file) => file.endsWith('.tgz'));
  if (made === undefined) throw new Error('npm pack left no tarball.');
  await rename(join(folder, made), tarball);
  await mkdir(dirname(kept), { recursive: true });
  // Whole when it is there: others look for it meanwhile.
  await copyFile(tarball, `${kept}.${process.pid}`);
  await rename(`${kept}.${process.pid}`, kept);
  return tarball;
}

async function hashOf(tree: string): Promise<string> {
  const hash = createHash('sha256');
  hash.update(await readFile(join(ROOT, 'package-lock.json')));
  const files = (await readdir(tree, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
  for (const path of files.map(({ parentPath, name }) => join(parentPath, name)).sort())
    hash.update(path.slice(tree.length)).update(await readFile(path));
  return hash.digest('hex');
}

async function packInto(folder: string): Promise<Omit<Packed, 'cleanUp'>> {
  const tree = join(folder, 'tree');
  const content = join(folder, 'content');
  for (const path of SOURCES) await cp(join(ROOT, path), join(tree, path), { recursive: true });
  const tarball = await tarballOf(tree, folder);
  await mkdir(content);
  await exec('tar', ['-xzf', tarball, '-C', content, '--strip-components', '1']);

  const { bin, dependencies } = await readManifest(content);
  const project = async (name: string, files: Readonly<Record<string, string>>): Promise<string> => {
    const at = join(folder, name);
    await mkdir(join(at, 'node_modules'), { recursive: true });
    await cp(content, join(at, 'node_modules/rerunsafe'), { recursive: true });
    for (const path of [...Object.keys(dependencies), ...SDKS]) {
      await mkdir(dirname(join(at, 'node_modules', path)), { recursive: true });
      await symlink(join(ROOT, 'node_modules', path), join(at, 'node_modules', path));
    }
    // As npm does it.
    for (const [command, file] of Object.entries(bin)) {
      await mkdir(join(at, 'node_modules/.bin'), { recursive: true });
      await symlink(join('../rerunsafe', file), join(at, 'node_modules/.bin', command));
      await chmod(join(at, 'node_modules/rerunsafe', file), 0o755);
    }
    for (const [path, text] of Object.entries(files)) {
      await mkdir(dirname(join(at, path)), { recursive: true });
      await writeFile(join(at, path), text);
    }
    return at;
  };
  return { tree, tarball, content, project };
}

export interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a script with this Node to its end. */
export const runNode = (cwd: string, ...args: string[]): Promise<Ended> =>
  new Promise((resolve) => {
    execFile(process.execPath, args, { cwd, timeout: 120_000 }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code ?? 1), stdout, stderr });
    });
  });
