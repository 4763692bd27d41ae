/**
 * What the package offers to import, as its manifest says.
 *
 * @module
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export const ROOT = join(import.meta.dirname, '../..');

interface Manifest {
  readonly exports: Readonly<Record<string, string | { readonly import: { readonly default: string } }>>;
  readonly peerDependencies: Readonly<Record<string, string>>;
}

const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Manifest;

/** As users write them: `rerunsafe`, `rerunsafe/dynamodb` … */
export const ENTRIES: readonly string[] = Object.entries(manifest.exports).flatMap(([path, target]) =>
  typeof target === 'string' ? [] : [`rerunsafe${path.slice(1)}`],
);

/** The SDKs: the user's own choice, and in no bundle here. */
export const PEERS: readonly string[] = Object.keys(manifest.peerDependencies);
