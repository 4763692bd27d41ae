/**
 * The tarball under the checkers that its users would run: publint, and "are the types wrong" for every entry point and every way of resolving it.
 *
 * @module
 */
import { readFile } from 'node:fs/promises';
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { entriesOf, type Packed, pack, readManifest } from './packed.ts';

vi.setConfig({ testTimeout: 60_000, hookTimeout: 180_000 });

let packed: Packed;
beforeAll(async () => {
  packed = await pack();
});
afterAll(() => packed?.cleanUp());

describe('the tarball, under its users’ checkers', () => {
  it('has nothing for publint to name', async () => {
    const manifest = await readManifest(packed.content);
    const { messages } = await publint({ pkgDir: packed.content, pack: false, strict: true });
    expect(messages.map((message) => formatMessage(message, manifest as never, { color: false }))).toEqual([]);
  });

  it('resolves to the right types at every entry point, in each way TypeScript has', async () => {
    const checked = await checkPackage(createPackageFromTarballData(new Uint8Array(await readFile(packed.tarball))));
    if (!checked.types) throw new Error('attw found no types.');
    const entries = entriesOf(await readManifest(packed.content)).map((entry) => entry.replace('rerunsafe', '.'));
    expect(Object.keys(checked.entrypoints)).toEqual(expect.arrayContaining(entries));
    expect(checked.problems).toEqual([]);
  });
});
