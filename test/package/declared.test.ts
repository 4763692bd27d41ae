import { glob, readFile } from 'node:fs/promises';
import { isBuiltin } from 'node:module';
import { join } from 'node:path';
import ts from 'typescript';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Manifest, ROOT, readManifest } from './packed.ts';

/** Types-only packages are imported by another name than the one they are installed by. */
const INSTALLED_AS: Readonly<Record<string, string>> = { 'aws-lambda': '@types/aws-lambda' };

const packageOf = (specifier: string): string => {
  const name = specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/');
  return INSTALLED_AS[name] ?? name;
};

const imported = new Map<string, string[]>();
let manifest: Manifest;

beforeAll(async () => {
  manifest = await readManifest(ROOT);
  for await (const path of glob('src/**/*.ts', { cwd: ROOT })) {
    const { importedFiles } = ts.preProcessFile(await readFile(join(ROOT, path), 'utf8'));
    for (const { fileName } of importedFiles) {
      if (fileName.startsWith('.') || isBuiltin(fileName)) continue;
      const name = packageOf(fileName);
      imported.set(name, [...(imported.get(name) ?? []), path]);
    }
  }
});

describe('the packages that the source imports', () => {
  it('are the declared ones, no more and no fewer', () => {
    const declared = [...Object.keys(manifest.dependencies), ...Object.keys(manifest.peerDependencies)];
    expect([...imported.keys()].sort()).toEqual(declared.sort());
  });

  it('are optional where they are SDKs, so that nobody installs the other cloud', () => {
    const optional = Object.keys(manifest.peerDependenciesMeta).filter((name) => manifest.peerDependenciesMeta[name]?.optional === true);
    expect(optional.sort()).toEqual(Object.keys(manifest.peerDependencies).sort());
    expect(Object.keys(manifest.dependencies).filter((name) => /^@(azure|aws-sdk|types)\//.test(name))).toEqual([]);
  });

  it('do not include this package by its own name: a bundler would carry two copies', () => {
    expect(imported.get('rerunsafe')).toBeUndefined();
  });
});
