import { execFileSync } from 'node:child_process';
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { hostname, tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { gitFact } from '../../src/cli/git.ts';
import { renderKey } from '../../src/cli/key-template.ts';
import { UsageError } from '../../src/cli/usage-error.ts';

const nowMs = Date.parse('2026-10-25T01:10:20.300Z');
let root: string;
let repository: string;
// Git's own variables, as in a hook, would name another repository; above the temporary folder there may be one.
const env: NodeJS.ProcessEnv = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('GIT_')));

const git = (...args: string[]): string =>
  execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.com', ...args], { cwd: repository, env, encoding: 'utf8' }).trim();
const render = (template: string, more: NodeJS.ProcessEnv = {}, cwd = root) =>
  renderKey(template, { nowMs, cwd, env: { ...env, ...more }, timezone: 'UTC' });

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'rerunsafe-key-'));
  env.GIT_CEILING_DIRECTORIES = root;
  repository = join(root, 'repository');
  await mkdir(repository);
  git('init', '-q', '-b', 'feature/one');
  git('commit', '-q', '--allow-empty', '-m', 'one');
});
afterAll(() => rm(root, { recursive: true, force: true }));

describe('keys from templates', () => {
  it.each([
    ['plain text stays', 'plain text stays'],
    ['{date}', '2026-10-25'],
    ['{slot:1h}', '2026-10-25T01:00:00Z'],
    ['{slot:0 2 * * *}', '2026-10-24T02:00:00Z'],
    ['{env.STAGE}', 'live'],
    ['{env.with-dash.and.dot}', 'odd'],
    ['{{{date}}}', '{2026-10-25}'],
    ['{{}}', '{}'],
    ['a{{b', 'a{b'],
    ['a}}b', 'a}b'],
    ['{{other.thing}}', '{other.thing}'],
    ['{date}{date}-x', '2026-10-252026-10-25-x'],
    ['ümläut {env.BRACES}', 'ümläut {date}'],
  ])('%s is %s', async (template, expected) => {
    expect(await render(template, { STAGE: 'live', 'with-dash.and.dot': 'odd', BRACES: '{date}' })).toBe(expected);
  });

  it('host and user are those of this process', async () => {
    expect(await render('{host}/{user}')).toBe(`${hostname()}/${userInfo().username}`);
  });

  it.each([
    ['', /--key is empty/],
    ['   ', /--key is empty/],
    ['{env.MISSING}', /MISSING is not set/],
    ['{env.EMPTY}', /EMPTY is empty/],
    ['{env.constructor}', /constructor is not set/],
    ['{env.}', /\{env\.\} is unknown\. There are: \{git\.sha\} .*\{slot:1h\}/],
    ['{sha}', /\{sha\} is unknown/],
    ['{Date}', /\{Date\} is unknown/],
    ['{ date }', /\{ date \} is unknown/],
    ['{git.tag}', /\{git\.tag\} is unknown/],
    ['{slot:}', /\{slot:\} is unknown/],
    ['{slot:often}', /no duration/],
    ['{slot:0 0 30 2 *}', /never ticks/],
    ['{}', /\{\} is unknown/],
    ['a{date', /opened and not closed/],
    ['a{{{date', /opened and not closed/],
    ['{env.{date}}', /opened and not closed/],
    ['{', /opened and not closed/],
    ['date}', /closed that was not opened/],
    ['{date}}', /closed that was not opened/],
    ['run-{{ git.sha }}', /write \{git\.sha\} with single braces/],
    ['{{env.STAGE}}', /write \{env\.STAGE\} with single braces/],
  ])('%j is refused, and nothing takes its place', async (template, expected) => {
    const rendered = render(template, { EMPTY: '' });
    await expect(rendered).rejects.toThrow(UsageError);
    await expect(rendered).rejects.toThrow(expected);
  });
});

describe('what git says in a key', () => {
  it('the commit and the branch, also from a folder inside, and where a tag has the same name', async () => {
    await mkdir(join(repository, 'inside'));
    git('tag', 'feature/one');
    expect(await render('{git.sha}', {}, join(repository, 'inside'))).toBe(git('rev-parse', 'HEAD'));
    expect(await render('{git.branch}', {}, repository)).toBe('feature/one');
  });

  it('a detached head is no branch', async () => {
    git('checkout', '-q', '--detach');
    const rendered = render('{git.branch}', {}, repository);
    await expect(rendered).rejects.toThrow(UsageError);
    await expect(rendered).rejects.toThrow(/detached.*\{env\.GITHUB_REF_NAME\}/);
    git('checkout', '-q', 'feature/one', '--');
  });

  it('a repository without a commit has none', async () => {
    const fresh = join(root, 'fresh');
    execFileSync('git', ['init', '-q', fresh], { env });
    for (const template of ['{git.sha}', '{git.branch}']) await expect(render(template, {}, fresh)).rejects.toThrow(UsageError);
  });

  it('no repository, no git, no folder: each is said', async () => {
    await expect(render('{git.sha}')).rejects.toThrow(/not a git repository.*\{env\.GITHUB_SHA\}/s);
    await expect(render('{git.sha}', { PATH: root }, repository)).rejects.toThrow(/git is not installed/);
    await expect(render('{git.sha}', {}, join(root, 'nowhere'))).rejects.toThrow(/no folder/);
  });

  it("somebody else's repository: git's own advice is passed on", async () => {
    const rendered = render('{git.sha}', { GIT_TEST_ASSUME_DIFFERENT_OWNER: '1' }, repository);
    await expect(rendered).rejects.toThrow(UsageError);
    await expect(rendered).rejects.toThrow(/dubious ownership.*safe\.directory/s);
  });

  it('a git that hangs is not waited for, nor what it has started', async () => {
    const slow = join(root, 'slow');
    await mkdir(slow);
    await writeFile(join(slow, 'git'), '#!/bin/sh\n/bin/sleep 3\n');
    await chmod(join(slow, 'git'), 0o755);
    const began = performance.now();
    await expect(gitFact('sha', repository, { ...env, PATH: slow }, 200)).rejects.toThrow(/no answer within 0\.2 s/);
    expect(performance.now() - began).toBeLessThan(2_500);
  });

  it('git is asked only where the whole template can be read, and asks for it', async () => {
    const trap = join(root, 'trap');
    await mkdir(trap);
    await writeFile(join(trap, 'git'), `#!/bin/sh\n: > '${join(root, 'asked')}'\n`);
    await chmod(join(trap, 'git'), 0o755);
    await render('{date}', { PATH: trap });
    await expect(render('{git.sha}-{oops}', { PATH: trap })).rejects.toThrow(/oops/);
    await expect(rm(join(root, 'asked'))).rejects.toThrow(/ENOENT/);
    await render('x{git.sha}', { PATH: trap });
    await rm(join(root, 'asked'));
  });
});
