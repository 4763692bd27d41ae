/**
 * Whether what a command is to bring about is there.
 *
 * @module
 */
import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { formatDuration } from './duration.ts';
import { UsageError } from './usage-error.ts';
import type { Verified } from './verify.ts';

export interface Conditions {
  /** Files or folders that have to be there, relative to the working folder. A link has to lead somewhere. */
  readonly creates: readonly string[];
  /** Commands for `sh -c` that have to end with 0. */
  readonly verify: readonly string[];
}

export interface ConditionsToCheck extends Conditions {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  /** For each command of `verify`, ms. Default 60 000; a command that takes longer is killed with its group, and counts as not holding. */
  readonly timeLimitMs?: number;
  /** Told when a command is killed, since that is seldom what was meant. */
  readonly say: (sentence: string) => void;
  /** Ends a check that is under way; what was asked then does not hold. */
  readonly signal?: AbortSignal | undefined;
}

const DEFAULT_LIMIT_MS = 60_000;

/**
 * What does not hold, each as half a sentence (`dist/app.js is not there (--creates)`); [] where all holds. All are asked, one after the other.
 *
 * A check that cannot be started is neither: it throws, so that "I could not look" is never taken for "it is not there", and no run is repeated for it.
 *
 * @throws UsageError 64 for an empty path or command, 78 where there is no `sh`, 125 where no process can be started.
 */
export async function checkConditions(conditions: ConditionsToCheck): Promise<string[]> {
  const { creates, verify, cwd, env, timeLimitMs = DEFAULT_LIMIT_MS, say, signal } = conditions;
  refuseEmpty(conditions);
  const unmet: string[] = [];
  for (const path of creates) {
    const lack = await lackOf(resolve(cwd, path));
    if (lack !== undefined) unmet.push(`${path} ${lack} (--creates)`);
  }
  if (verify.length === 0) return unmet;
  const { verify: ask } = await import('./verify.ts');
  for (const command of verify) {
    const answer = await ask(command, { cwd, env, timeLimitMs, signal });
    if (answer.kind === 'timed-out') say(`--verify ${JSON.stringify(command)} was killed: it gave no answer within ${formatDuration(timeLimitMs)}`);
    if (answer.kind !== 'exited' || answer.code !== 0) unmet.push(`${JSON.stringify(command)} ${ended(answer, timeLimitMs)} (--verify)`);
  }
  return unmet;
}

/**
 * Of use before anything is run: of a variable that is not set, `--creates "$OUT"` makes an empty path, which is the working folder and always there; an
 * empty command succeeds.
 *
 * @throws UsageError
 */
export function refuseEmpty({ creates, verify }: Conditions): void {
  if (creates.some((path) => path.trim() === '')) throw new UsageError('--creates: the path is empty');
  if (verify.some((command) => command.trim() === '')) throw new UsageError('--verify: the command is empty');
}

async function lackOf(path: string): Promise<string | undefined> {
  try {
    await stat(path);
    return undefined;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === 'ENOENT' || code === 'ENOTDIR' ? 'is not there' : `cannot be looked at: ${code}`;
  }
}

function ended(answer: Verified, timeLimitMs: number): string {
  switch (answer.kind) {
    case 'exited':
      return `ended with ${answer.code}`;
    case 'signalled':
      return `was ended by ${answer.signal}`;
    case 'timed-out':
      return `gave no answer within ${formatDuration(timeLimitMs)}`;
    case 'stopped':
      return 'was stopped';
  }
}
