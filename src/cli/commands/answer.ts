/**
 * What a person's word has come to, told to whoever said it.
 *
 * @module
 */
import { hostname, userInfo } from 'node:os';
import { isRerunSafeError } from '../../core/errors.ts';
import { isName } from '../../core/options.ts';
import type { PersonOptions } from '../../core/person.ts';
import type { Screen } from '../output.ts';
import { UsageError } from '../usage-error.ts';

export interface WordOptions {
  /** Default: the user of this process, and the host. At most 200 characters. */
  readonly by?: string | undefined;
  /** At most 1000 characters. */
  readonly why?: string | undefined;
  readonly force?: boolean | undefined;
}

/** @throws UsageError for what is too long to be kept. */
export function wordOf({ by = userAtHost(), why, force = false }: WordOptions): PersonOptions & { readonly by: string } {
  const wrong = isName(200)(by);
  if (wrong !== undefined) throw new UsageError(`--by ${wrong}`);
  const wrongWhy = why === undefined ? undefined : isName(1_000)(why);
  if (wrongWhy !== undefined) throw new UsageError(`--why ${wrongWhy}`);
  return { by, force, ...(why === undefined ? {} : { why }) };
}

export function userAtHost(): string {
  let user = '';
  try {
    user = userInfo().username;
  } catch {
    // A user without an entry: an arbitrary id in a container.
  }
  return `${user || (process.env.USER ?? 'somebody')}@${hostname()}`.replace(/\p{Cc}/gu, '').slice(0, 200);
}

export interface Answer {
  readonly exitCode: number;
  /** A stable word for programs. */
  readonly result: string;
  readonly sentence: string;
  /** What the person should know besides. */
  readonly warning?: string;
}

export function tell(out: Screen, name: string, id: string, { exitCode, result, sentence, warning }: Answer): number {
  if (out.isJson) out.json({ id, result, message: sentence, ...(warning === undefined ? {} : { warning }) });
  else {
    out.print(`${name}: ${sentence}`);
    if (warning !== undefined) out.print(`${out.paint('yellow', 'warning:')} ${warning}`);
  }
  return exitCode;
}

/** What core refuses of the options is the person's to put right. */
export async function orUsage<T>(word: () => Promise<T>): Promise<T> {
  try {
    return await word();
  } catch (error) {
    throw isRerunSafeError(error, 'INVALID_OPTIONS') ? new UsageError(error.message) : error;
  }
}
