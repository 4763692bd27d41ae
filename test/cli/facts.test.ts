import { hostname, userInfo } from 'node:os';
import { describe, expect, it } from 'vitest';
import { holderText, type RunFacts, runFacts } from '../../src/cli/facts.ts';

const SHA = '0123456789abcdef0123456789abcdef01234567';
const GITHUB = { GITHUB_SERVER_URL: 'https://github.com', GITHUB_REPOSITORY: 'ann/shop', GITHUB_RUN_ID: '42' };

describe('what is kept with a run for people', () => {
  it('outside CI: host, user and process alone', () => {
    expect(runFacts({})).toEqual({ host: hostname(), user: userInfo().username, pid: process.pid });
  });

  it.each([
    ['GitHub', { ...GITHUB, GITHUB_RUN_ATTEMPT: '2' }, 'https://github.com/ann/shop/actions/runs/42/attempts/2'],
    ['GitHub, no attempt', GITHUB, 'https://github.com/ann/shop/actions/runs/42'],
    ['GitLab', { CI_JOB_URL: 'https://gitlab.com/ann/shop/-/jobs/7' }, 'https://gitlab.com/ann/shop/-/jobs/7'],
    [
      'Azure Pipelines',
      { SYSTEM_COLLECTIONURI: 'https://dev.azure.com/ann/', SYSTEM_TEAMPROJECT: 'My Shop', BUILD_BUILDID: '9' },
      'https://dev.azure.com/ann/My%20Shop/_build/results?buildId=9',
    ],
    ['Jenkins', { BUILD_URL: 'http://ci.example/job/shop/3/' }, 'http://ci.example/job/shop/3/'],
    ['a password in the address', { BUILD_URL: 'https://ann:secret@ci.example/job/3/' }, 'https://ci.example/job/3/'],
    ['half of what GitHub sets', { GITHUB_SERVER_URL: 'https://github.com', GITHUB_RUN_ID: '42' }, undefined],
    ['one that only looks like GitHub', { ...GITHUB, GITEA_ACTIONS: 'true' }, undefined],
    ['no address', { BUILD_URL: 'job 3' }, undefined],
    ['no web address', { BUILD_URL: 'file:///etc/passwd' }, undefined],
    ['empty', { CI_JOB_URL: '', BUILD_URL: '' }, undefined],
  ])('where CI shows the run: %s', (_, env, expected) => {
    expect(runFacts(env).ciRunUrl).toBe(expected);
  });

  it.each([
    [{ GITHUB_SHA: SHA }, SHA],
    [{ CI_COMMIT_SHA: SHA }, SHA],
    [{ BUILD_SOURCEVERSION: SHA }, SHA],
    [{ GITHUB_SHA: '', CI_COMMIT_SHA: SHA }, SHA],
    [{ BUILD_SOURCEVERSION: 'C123 (a changeset)' }, undefined],
  ])('the commit, as CI says it: %j', (env, expected) => {
    expect(runFacts(env).gitSha).toBe(expected);
  });

  it('a user without a name is its number', () => {
    const nameless = () => {
      throw new Error('uv_os_get_passwd returned ENOENT');
    };
    expect(runFacts({}, nameless).user).toBe(`uid-${process.getuid?.()}`);
  });
});

describe('the holder, in one line', () => {
  const facts: RunFacts = { user: 'ann', host: 'build-7', pid: 123 };
  it.each([
    [facts, 'ann@build-7 pid 123'],
    [{ ...facts, ciRunUrl: 'https://ci.example/3' }, 'ann@build-7 pid 123 https://ci.example/3'],
    [{ ...facts, ciRunUrl: `https://ci.example/${'x'.repeat(200)}` }, 'ann@build-7 pid 123'],
    [{ ...facts, user: 'a\nb\u001b[31m' }, 'a b [31m@build-7 pid 123'],
  ])('%j', (given, expected) => {
    expect(holderText(given)).toBe(expected);
  });

  it('never has more than 200 characters', () => {
    const text = holderText({ user: 'u'.repeat(500), host: 'h'.repeat(500), pid: 4_194_304, ciRunUrl: 'https://ci.example/1' });
    expect(text.length).toBeLessThanOrEqual(200);
    expect(text).toMatch(/pid 4194304/);
  });
});
