import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { access, readdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type Ended, entriesOf, type Manifest, type Packed, pack, ROOT, readManifest, runNode } from './packed.ts';

const GLOB = 'functions/dist/azure/*.js';
const LIBRARY = './dist/cjs/index.js';
const SHOW_LOADED = `
const { registerHooks } = require('node:module');
const loaded = [];
registerHooks({ load(url, context, next) { loaded.push(url); return next(url, context); } });
const sdksLoaded = () => loaded.filter((url) => /node_modules\\/(@azure|@aws-sdk|@smithy)\\//.test(url));
`;

// A build, a pack and a compiler that reads the SDKs' types: slow on a busy machine.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 180_000 });

let packed: Packed;
let manifest: Manifest;

beforeAll(async () => {
  packed = await pack();
  manifest = await readManifest(packed.content);
});
afterAll(() => packed?.cleanUp());

const filesNamed = (value: unknown): string[] => {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(filesNamed) : [];
};

describe('the tarball', () => {
  it('has the library for its main, and the work tree has the functions', async () => {
    expect(manifest.main).toBe(LIBRARY);
    expect((await readManifest(packed.tree)).main).toBe(GLOB);
    expect((await readManifest(ROOT)).main).toBe(GLOB);
  });

  it('restores the work tree after a pack that died half way', async () => {
    const swap = (to: string) => runNode(packed.tree, 'scripts/manifest.ts', to);
    expect((await swap('library')).code).toBe(0);
    expect((await swap('library')).code).toBe(0);
    expect((await readManifest(packed.tree)).main).toBe(LIBRARY);
    expect((await swap('work-tree')).code).toBe(0);
    expect((await readManifest(packed.tree)).main).toBe(GLOB);
    expect((await swap('elsewhere')).code).not.toBe(0);
  });

  it('contains every file its manifest names', async () => {
    const named = filesNamed([manifest.bin, manifest.main, manifest.types, manifest.exports, manifest.typesVersions]);
    expect(named.length).toBeGreaterThan(30);
    for (const path of named) await expect(access(join(packed.content, path)), path).resolves.toBeUndefined();
  });

  it('contains the pages that its README and its pages lead to, but for those of the work tree', async () => {
    const docs = (await readdir(join(packed.content, 'docs'))).filter((name) => name.endsWith('.md'));
    const pages = ['README.md', 'SECURITY.md', ...docs.map((name) => `docs/${name}`)];
    const broken: string[] = [];
    for (const page of pages) {
      const text = await readFile(join(packed.content, page), 'utf8');
      for (const [, target = ''] of text.matchAll(/\]\(((?!https?:|#)[^)#\s]+)[^)]*\)/g)) {
        const path = join(dirname(page), target);
        if (path !== 'CONTRIBUTING.md' && !existsSync(join(packed.content, path))) broken.push(`${page}: ${target}`);
      }
    }
    expect(broken).toEqual([]);
    expect(pages).toContain('docs/http-protocol.md');
  });

  it('gives classic resolution, and the type check of this tree, the same entries as exports', async () => {
    const entries = entriesOf(manifest).sort();
    const classic = Object.keys(manifest.typesVersions['*'] ?? {}).map((name) => `rerunsafe/${name}`);
    expect(['rerunsafe', ...classic].sort()).toEqual(entries);
    const settings = JSON.parse(await readFile(join(ROOT, 'tsconfig.json'), 'utf8')) as { compilerOptions: { paths: object } };
    expect(Object.keys(settings.compilerOptions.paths).sort()).toEqual(entries);
  });
});

describe('the entry points', () => {
  it('I12 load with import(), quietly and without an SDK', async () => {
    const entries = entriesOf(manifest);
    const at = await packed.project('esm', {
      'package.json': '{ "type": "module" }',
      'preload.cjs': `${SHOW_LOADED}\nglobalThis.sdksLoaded = sdksLoaded;`,
      'main.js': `
        const names = {};
        for (const entry of ${JSON.stringify(entries)}) names[entry] = Object.keys(await import(entry));
        console.log(JSON.stringify({ names, sdks: sdksLoaded() }));`,
    });
    const { code, stdout, stderr } = await runNode(at, '--require', './preload.cjs', 'main.js');
    expect(stderr).toBe('');
    expect(code).toBe(0);
    const { names, sdks } = JSON.parse(stdout) as { names: Record<string, string[]>; sdks: string[] };
    expect(sdks).toEqual([]);
    for (const entry of entries) expect(names[entry]?.length, entry).toBeGreaterThan(0);
  });

  it('I12 load with require(), quietly and without an SDK, and give the same names as import()', async () => {
    const entries = entriesOf(manifest);
    const at = await packed.project('cjs', {
      'package.json': '{ "type": "commonjs" }',
      'main.js': `${SHOW_LOADED}
        const required = {};
        for (const entry of ${JSON.stringify(entries)}) required[entry] = Object.keys(require(entry)).sort();
        const sdks = sdksLoaded();
        (async () => {
          const imported = {};
          for (const entry of ${JSON.stringify(entries)}) imported[entry] = Object.keys(await import(entry)).sort();
          console.log(JSON.stringify({ required, imported, sdks }));
        })();`,
    });
    const { code, stdout, stderr } = await runNode(at, 'main.js');
    expect(stderr).toBe('');
    expect(code).toBe(0);
    const { required, imported, sdks } = JSON.parse(stdout) as Record<'required' | 'imported' | 'sdks', unknown>;
    expect(sdks).toEqual([]);
    expect(required).toEqual(imported);
  });

  it('I2 work in both module systems side by side: one memory store, and errors known to both copies', async () => {
    const at = await packed.project('both', {
      'package.json': '{ "type": "module" }',
      'main.js': `
        import { createRequire } from 'node:module';
        import * as esm from 'rerunsafe';
        const cjs = createRequire(import.meta.url)('rerunsafe');
        const options = { store: esm.memoryStore(), operation: 'demo/both', key: 'k', input: { b: 1, a: new Date(0) } };
        const first = await esm.runOnce(options, async () => ({ at: new Date(7) }));
        const second = await cjs.runOnce(options, async () => ({ at: new Date(8) }));
        const refused = await cjs.runOnce({ ...options, input: 2 }, async () => 3).catch((error) => error);
        console.log(JSON.stringify({
          twoCopies: esm.runOnce !== cjs.runOnce, first: first.at.getTime(), second: second.at.getTime(),
          known: esm.isRerunSafeError(refused, 'KEY_REUSED'), foreign: refused instanceof esm.RerunSafeError,
        }));`,
    });
    const { stdout, stderr } = await runNode(at, 'main.js');
    expect(stderr).toBe('');
    expect(JSON.parse(stdout)).toEqual({ twoCopies: true, first: 7, second: 7, known: true, foreign: false });
  });
});

describe('the command line of an installed tarball, in a folder with nothing else', () => {
  let at: string;

  beforeAll(async () => {
    at = await packed.project('command-line', { 'package.json': '{}' });
  });

  /** `npx` finds what is installed, and this process's Node runs it. */
  const npx = (...args: string[]): Promise<Ended> =>
    new Promise((resolve) => {
      const { RERUNSAFE_STORE: _, ...rest } = process.env;
      const env = { ...rest, XDG_STATE_HOME: join(at, 'state'), npm_config_update_notifier: 'false' };
      execFile('npx', ['--no-install', 'rerunsafe', ...args], { cwd: at, env, timeout: 50_000 }, (error, stdout, stderr) => {
        resolve({ code: error === null ? 0 : Number(error.code ?? 1), stdout, stderr });
      });
    });
  const ours = ({ stderr }: Ended): string[] => stderr.split('\n').filter((line) => line.startsWith('rerunsafe:'));

  it('I1 runs a command once for its key, and says so', async () => {
    const first = await npx('run', '--key', 'demo', '--', 'sh', '-c', 'echo hello');
    expect(first).toMatchObject({ code: 0, stdout: 'hello\n' });
    expect(ours(first)).toEqual([]);
    const second = await npx('run', '--key', 'demo', '--', 'sh', '-c', 'echo hello');
    expect(second).toMatchObject({ code: 0, stdout: '' });
    expect(ours(second)).toEqual([expect.stringMatching(/^rerunsafe: "demo": already done \(.*\); not run again$/)]);
    expect(await npx('status', 'demo')).toMatchObject({ code: 0, stdout: expect.stringMatching(/^"demo": done, /) });
    expect(await readdir(at)).toEqual(expect.not.arrayContaining(['rerunsafe.db']));
  });

  it('has its help, its version, and completions for the shell', async () => {
    expect((await npx('--version')).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
    expect((await npx('run', '--help')).stdout).toContain('--on-unknown <what>');
    expect((await npx('complete', '--', 'run', '--on-u')).stdout).toContain('--on-unknown');
    expect(await npx('run', '--kye', 'demo', '--', 'true')).toMatchObject({ code: 64, stdout: '', stderr: expect.stringContaining('--kye') });
  });

  it('names the package that is missing for a store', async () => {
    const missing = await npx('run', '--store', 'redis://127.0.0.1:1', '--on-unknown', 'retry', '--key', 'k', '--', 'true');
    expect(missing).toMatchObject({ code: 78, stdout: '' });
    expect(missing.stderr).toMatch(/npm install redis/);
  });
});
