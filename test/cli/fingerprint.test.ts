import { execFileSync } from 'node:child_process';
import { cp, mkdir, mkdtemp, rename, rm, symlink, truncate, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { collectInput, type InputSources } from '../../src/cli/fingerprint.ts';
import { UsageError } from '../../src/cli/usage-error.ts';
import { fingerprintOf } from '../../src/core/fingerprint.ts';

const SHA256_OF_A = 'ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb';
const NONE: InputSources = { env: [], files: [], values: [] };
let root: string;
let cwd: string;

async function write(files: Readonly<Record<string, string>>): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(cwd, path)), { recursive: true });
    await writeFile(join(cwd, path), content);
  }
}
const collect = (sources: Partial<InputSources>, env: NodeJS.ProcessEnv = {}, from = cwd) => collectInput({ ...NONE, ...sources }, from, env);
const print = async (...given: Parameters<typeof collect>) => fingerprintOf((await collect(...given)).input);
const paths = async (...files: string[]) => Object.keys((await collect({ files })).input?.files ?? {});

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'rerunsafe-input-'));
  cwd = join(root, 'work [1]');
  await mkdir(cwd);
});
afterEach(() => rm(root, { recursive: true, force: true }));

describe('the input of a command', () => {
  it('is nothing where nothing is asked for', async () => {
    expect(await collect({})).toEqual({ input: undefined, summary: '' });
  });

  it('has what was asked for, and a summary without any value of a variable', async () => {
    await write({ 'b.sql': 'b', 'a.sql': 'a' });
    const { input, summary } = await collect(
      { args: ['deploy', ''], env: ['STAGE', 'GONE', 'STAGE'], files: ['*.sql'], values: ['v2'] },
      { STAGE: 'top secret', OTHER: 'x' },
    );
    expect(input).toEqual({
      args: ['deploy', ''],
      env: { STAGE: 'top secret', GONE: null },
      files: { 'a.sql': SHA256_OF_A, 'b.sql': expect.stringMatching(/^[0-9a-f]{64}$/) },
      values: ['v2'],
    });
    expect(summary).toBe('2 files, 2 arguments, $GONE, $STAGE, 1 value');
  });

  it('a command without arguments is not one whose arguments do not count', async () => {
    expect(await collect({ args: [] })).toEqual({ input: { args: [] }, summary: 'no arguments' });
  });

  it.each<[string, Partial<InputSources>, Partial<InputSources>]>([
    ['where one argument ends', { args: ['a b'] }, { args: ['a', 'b'] }],
    ['an empty argument', { args: ['a', ''] }, { args: ['a'] }],
    ['the order of arguments', { args: ['a', 'b'] }, { args: ['b', 'a'] }],
    ['the order of values', { values: ['a', 'b'] }, { values: ['b', 'a'] }],
    ['an argument and a value', { args: ['a'] }, { values: ['a'] }],
    ['a variable that is empty, and one that is not set', { env: ['EMPTY'] }, { env: ['GONE'] }],
    ['which variable it is', { env: ['ONE'] }, { env: ['UN'] }],
  ])('differs by %s', async (_, one, other) => {
    const env = { EMPTY: '', ONE: '1', UN: '1' };
    expect(await print(one, env)).not.toBe(await print(other, env));
  });

  it('empty is not absent, for the same variable', async () => {
    expect(await print({ env: ['X'] }, { X: '' })).not.toBe(await print({ env: ['X'] }, {}));
  });

  it('the order in which variables are named is nothing; names that objects have by birth are not set', async () => {
    expect(await print({ env: ['A', 'B'] }, { A: '1', B: '2' })).toBe(await print({ env: ['B', 'A', 'B'] }, { A: '1', B: '2' }));
    expect((await collect({ env: ['constructor', '__proto__'] }, process.env)).input?.env).toEqual(
      Object.fromEntries([
        ['constructor', null],
        ['__proto__', null],
      ]),
    );
  });

  it.each(['', 'A=b', 'A\0'])('%j is no name of a variable', async (name) => {
    await expect(collect({ env: [name] })).rejects.toThrow(UsageError);
  });
});

describe('files in an input', () => {
  it('content and name count; time, order of globs and place of the folder do not', async () => {
    await write({ 'm/1.sql': 'one', 'm/2.sql': 'two' });
    const files = ['m/*.sql'];
    const before = await print({ files });
    await utimes(join(cwd, 'm/1.sql'), 1, 1);
    expect(await print({ files })).toBe(before);
    expect(await print({ files: ['m/2.sql', './m/1.sql', 'm/**'] })).toBe(before);
    await cp(cwd, join(root, 'elsewhere'), { recursive: true });
    expect(await print({ files }, {}, join(root, 'elsewhere'))).toBe(before);
    await rename(join(cwd, 'm/2.sql'), join(cwd, 'm/3.sql'));
    expect(await print({ files })).not.toBe(before);
    await rename(join(cwd, 'm/3.sql'), join(cwd, 'm/2.sql'));
    expect(await print({ files })).toBe(before);
    await write({ 'm/2.sql': 'two ' });
    expect(await print({ files })).not.toBe(before);
  });

  it.each<[string, string[], string[]]>([
    ['a star stays in its folder', ['*.txt'], ['[x].txt', 'a.txt', 'x.txt']],
    ['two stars go down, and folders are nothing', ['**'], ['[x].txt', 'a.txt', 'sub/b.txt', 'sub/deep/c.md', 'x.txt']],
    ['a leading dot has to be asked for', ['.*', '.dir/*'], ['.dir/d.txt', '.hidden.txt']],
    ['brackets are a class, or a name that has them', ['[x].txt'], ['[x].txt', 'x.txt']],
    ['a backslash takes them as they are', ['\\[x\\].txt'], ['[x].txt']],
    ['! takes away, wherever it stands', ['!**/deep/**', '**/*.{txt,md}', '!x.txt'], ['[x].txt', 'a.txt', 'sub/b.txt']],
    ['!( ) takes nothing away', ['sub/!(c).*'], ['sub/b.txt']],
    ['matched twice, once there', ['a.txt', 'a.*'], ['a.txt']],
  ])('%s: %j', async (_, globs, expected) => {
    await write({ 'a.txt': '', 'x.txt': '', '[x].txt': '', 'sub/b.txt': '', 'sub/deep/c.md': '', '.hidden.txt': '', '.dir/d.txt': '' });
    expect(await paths(...globs)).toEqual(expected);
  });

  it('a path from the root stays one; one above the folder is relative', async () => {
    await writeFile(join(root, 'up.txt'), 'a');
    expect((await collect({ files: [`${root}/up.txt`] })).input?.files).toEqual({ [`${root}/up.txt`]: SHA256_OF_A });
    expect(await paths('../*.txt')).toEqual(['../up.txt']);
  });

  it('a link is the content it leads to; links in a circle end', async () => {
    await write({ 'real/a.txt': 'a' });
    await symlink('real/a.txt', join(cwd, 'link.txt'));
    await symlink('real', join(cwd, 'folder'));
    await symlink('..', join(cwd, 'real/up'));
    expect((await collect({ files: ['link.txt', 'folder/*.txt'] })).input?.files).toEqual({ 'link.txt': SHA256_OF_A, 'folder/a.txt': SHA256_OF_A });
    expect(await paths('**/a.txt')).toEqual(await paths('**/a.txt'));
    await write({ 'real/a.txt': 'b' });
    expect((await collect({ files: ['link.txt'] })).input?.files).not.toEqual({ 'link.txt': SHA256_OF_A });
  });

  it('a file larger than memory would like is read in pieces', async () => {
    await write({ big: '' });
    await truncate(join(cwd, 'big'), 64 * 1_048_576);
    expect((await collect({ files: ['big'] })).input?.files).toEqual({ big: '3b6a07d0d404fab4e23b6d34bc6696a6a312dd92821332385e5af7c01c421351' });
  });

  it.each([
    ['*.sql', /"\*\.sql" matches no file/],
    ['m', /matches no file.*say m\/\*\*/],
    ['m/', /say m\/\*\*/],
    ['nowhere/**', /matches no file/],
    ['a.txt/x', /matches no file/],
    ['', /glob is empty/],
    ['dangling', /matches no file/],
  ])('a glob that matches nothing is refused, also beside one that matches: %j', async (glob, expected) => {
    await write({ 'm/1.txt': '', 'a.txt': '' });
    await symlink('gone', join(cwd, 'dangling'));
    const collected = collect({ files: ['a.txt', glob] });
    await expect(collected).rejects.toThrow(UsageError);
    await expect(collected).rejects.toThrow(expected);
  });

  it('globs that take away alone match nothing', async () => {
    await expect(collect({ files: ['!a.txt'] })).rejects.toThrow(/only globs that take away/);
  });

  it('a file that cannot be read is named, and a pipe is not waited for', async () => {
    await write({ 'a.txt': 'a' });
    // Reading its first byte fails for everybody.
    await symlink('/proc/self/mem', join(cwd, 'broken'));
    await expect(collect({ files: ['a.txt', 'broken'] })).rejects.toThrow(/broken cannot be read: E/);
    execFileSync('sh', ['-c', 'mkfifo pipe'], { cwd });
    await symlink('pipe', join(cwd, 'to-pipe'));
    await expect(collect({ files: ['to-pipe'] })).rejects.toThrow(/to-pipe is no regular file/);
  });

  it('a folder that cannot be read is no empty one', async () => {
    await write({ 'a.txt': 'a' });
    // Too long for the system once it is looked into; to close it by its mode does not keep root out.
    const script = `for (let depth = 0; depth < 20; depth++) { fs.mkdirSync('d'.repeat(250)); process.chdir('d'.repeat(250)); }`;
    execFileSync(process.execPath, ['-e', script], { cwd });
    try {
      await expect(collect({ files: ['**/*.txt'] })).rejects.toThrow(/cannot be read: ENAMETOOLONG/);
    } finally {
      execFileSync('rm', ['-rf', cwd]);
    }
  });
});
