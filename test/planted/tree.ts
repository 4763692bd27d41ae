/**
 * A copy of the tree under a temporary folder, one file of which is wrong for a while.
 *
 * @module
 */
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Patch, PlantedBug } from './bug.ts';

const ROOT = join(import.meta.dirname, '../..');
const COPIED = ['src', 'test', 'package.json', 'tsconfig.json'];
/** As the tree's own, without what reports to people. */
const VITEST_CONFIG = `export default {
  cacheDir: './.vite',
  test: { include: ['test/**/*.test.ts'], pool: 'forks', maxWorkers: 1, testTimeout: 15_000, hookTimeout: 60_000 },
};
`;

/** @throws where the text is not there exactly once: the code has changed, and the patch must be renewed. */
export function patched(text: string, { file, find, replace }: Patch, name: string): string {
  const times = text.split(find).length - 1;
  if (times === 1 && find !== replace) return text.replace(find, () => replace);
  throw new Error(`The planted bug "${name}" no longer fits: its text is in ${file} ${times} times. The patch must be renewed.`);
}

const patchesOf = (bug: PlantedBug): readonly Patch[] => [bug, ...(bug.also ?? [])];

/** Every file that the bug changes, as it then is. */
export async function withBug(bug: PlantedBug): Promise<ReadonlyMap<string, string>> {
  const texts = new Map<string, string>();
  for (const patch of patchesOf(bug)) {
    const text = texts.get(patch.file) ?? (await readFile(join(ROOT, patch.file), 'utf8'));
    texts.set(patch.file, patched(text, patch, bug.name));
  }
  return texts;
}

export class Tree implements AsyncDisposable {
  readonly folder: string;

  private constructor(folder: string) {
    this.folder = folder;
  }

  static async copy(): Promise<Tree> {
    const folder = await mkdtemp(join(tmpdir(), 'rerunsafe-planted-'));
    for (const part of COPIED) await cp(join(ROOT, part), join(folder, part), { recursive: true });
    await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
    await writeFile(join(folder, 'vitest.config.js'), VITEST_CONFIG);
    return new Tree(folder);
  }

  /** Wrong while `body` runs; right again afterwards. */
  async during<R>(bug: PlantedBug, body: () => Promise<R>): Promise<R> {
    const texts = await withBug(bug);
    for (const [file, text] of texts) await writeFile(join(this.folder, file), text);
    try {
      return await body();
    } finally {
      for (const file of texts.keys()) await cp(join(ROOT, file), join(this.folder, file));
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
  }
}
