/**
 * What a key may say about the work tree.
 *
 * @module
 */
import { UsageError } from './usage-error.ts';

const GIT_LIMIT_MS = 5_000;

export type GitFact = 'sha' | 'branch';

/** The whole names: a short one is lengthened where a tag has the same, and the key would change with it. */
const ASKED: Readonly<Record<GitFact, readonly string[]>> = {
  sha: ['rev-parse', '--verify', 'HEAD'],
  branch: ['rev-parse', '--symbolic-full-name', 'HEAD'],
};
const INSTEAD: Readonly<Record<GitFact, string>> = {
  sha: '{env.GITHUB_SHA} or {env.CI_COMMIT_SHA}',
  branch: '{env.GITHUB_REF_NAME} or {env.CI_COMMIT_BRANCH}',
};

/** @throws UsageError where git gives no answer, with what git says; for the branch also where HEAD is detached, as in most CI checkouts. */
export async function gitFact(fact: GitFact, cwd: string, env: NodeJS.ProcessEnv, limitMs = GIT_LIMIT_MS): Promise<string> {
  const { execFile } = await import('node:child_process');
  const refuse = (why: string) => new UsageError(`{git.${fact}}: ${why}. In CI, ${INSTEAD[fact]} may be what you want`);
  const answer = await new Promise<string>((resolve, reject) => {
    const limits = { timeout: limitMs, killSignal: 'SIGKILL', maxBuffer: 64 * 1024, windowsHide: true } as const;
    execFile('git', [...ASKED[fact]], { cwd, env, ...limits }, (error, stdout, stderr) => {
      if (error === null) resolve(stdout.trim());
      else if (error.killed === true) reject(refuse(`git gave no answer within ${limitMs / 1_000} s in ${cwd}`));
      else if (error.code === 'ENOENT') reject(refuse(`git is not installed, or there is no folder ${cwd}`));
      else reject(refuse(`git says in ${cwd}: ${stderr.trim() || error.message}`));
    });
  });
  if (fact === 'sha') return answer;
  const branch = answer.replace(/^refs\/heads\//, '');
  if (branch === answer || branch === '') throw refuse('no branch is checked out (HEAD is detached)');
  return branch;
}
