/**
 * Who and where: what is kept with a run for the people who look at it later.
 *
 * @module
 */
import { hostname, userInfo } from 'node:os';

export interface RunFacts {
  readonly host: string;
  readonly user: string;
  readonly pid: number;
  /** Where CI shows this run. */
  readonly ciRunUrl?: string;
  /** As CI says it; git is not asked. */
  readonly gitSha?: string;
}

const HOLDER_LENGTH = 200;

/** Never throws, starts nothing. */
export function runFacts(env: NodeJS.ProcessEnv = process.env, whoAmI: () => { readonly username: string } = userInfo): RunFacts {
  const url = ciRunUrl(env);
  const sha = [env.GITHUB_SHA, env.CI_COMMIT_SHA, env.BUILD_SOURCEVERSION].find((text) => text !== undefined && /^[0-9a-f]{7,64}$/i.test(text));
  return {
    host: hostname(),
    user: userName(env, whoAmI),
    pid: process.pid,
    ...(url === undefined ? {} : { ciRunUrl: url }),
    ...(sha === undefined ? {} : { gitSha: sha }),
  };
}

/** One line: `ann@build-7 pid 123`, and where CI shows the run if that fits. At most 200 characters. */
export function holderText({ user, host, pid, ciRunUrl: url }: RunFacts): string {
  const who = `${oneLine(user).slice(0, 60)}@${oneLine(host).slice(0, 100)} pid ${pid}`;
  const withUrl = `${who} ${url}`;
  // Half an address leads nowhere.
  return url === undefined || withUrl.length > HOLDER_LENGTH ? who : withUrl;
}

/** In a container the user's number often has no name. */
function userName(env: NodeJS.ProcessEnv, whoAmI: () => { readonly username: string }): string {
  try {
    return whoAmI().username;
  } catch {
    const uid = process.getuid?.();
    return uid === undefined ? (env.USERNAME ?? 'unknown') : `uid-${uid}`;
  }
}

function ciRunUrl(env: NodeJS.ProcessEnv): string | undefined {
  const { GITHUB_SERVER_URL: server, GITHUB_REPOSITORY: repository, GITHUB_RUN_ID: run, GITHUB_RUN_ATTEMPT: attempt } = env;
  // Others that set GitHub's variables count their pages otherwise.
  const isGitHub = Boolean(server && repository && run) && !env.GITEA_ACTIONS && !env.FORGEJO_ACTIONS;
  if (isGitHub) return webAddress(`${server}/${repository}/actions/runs/${run}${attempt ? `/attempts/${attempt}` : ''}`);
  if (env.CI_JOB_URL) return webAddress(env.CI_JOB_URL);
  const { SYSTEM_COLLECTIONURI: collection, SYSTEM_TEAMPROJECT: project, BUILD_BUILDID: build } = env;
  if (collection && project && build)
    return webAddress(`${collection.replace(/\/$/, '')}/${encodeURIComponent(project)}/_build/results?buildId=${encodeURIComponent(build)}`);
  return env.BUILD_URL ? webAddress(env.BUILD_URL) : undefined;
}

/** Without a name and a password: some servers are reached with them in the address. */
function webAddress(text: string): string | undefined {
  if (!URL.canParse(text)) return undefined;
  const url = new URL(text);
  url.username = '';
  url.password = '';
  return /^https?:$/.test(url.protocol) ? url.href : undefined;
}

const oneLine = (text: string): string => text.replaceAll(/[\s\p{C}]+/gu, ' ').trim();
