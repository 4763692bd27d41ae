/**
 * What a command is run with: its arguments, and the variables, files and values that it was told depend on.
 *
 * @module
 */
import { type HashedFiles, hashFiles } from './files.ts';
import { UsageError } from './usage-error.ts';

export interface InputSources {
  /** The command and its arguments; undefined where they do not count. */
  readonly args?: readonly string[] | undefined;
  /** Names of environment variables. */
  readonly env: readonly string[];
  /** Globs, relative to the working folder; `!…` takes away. */
  readonly files: readonly string[];
  /** Their order counts. */
  readonly values: readonly string[];
}

/** For `fingerprintOf`, to which the order of properties is nothing. */
export interface CommandInput {
  readonly args?: readonly string[];
  /** null: not set, which is not the same as empty. */
  readonly env?: Readonly<Record<string, string | null>>;
  /** SHA-256 of the content, by path with `/`. */
  readonly files?: HashedFiles;
  readonly values?: readonly string[];
}

export interface CollectedInput {
  /** undefined where nothing was asked for. */
  readonly input: CommandInput | undefined;
  /** For people: `3 files, 2 arguments, $DEPLOY_ENV`. No values of variables: they may be secrets. '' where nothing was asked for. */
  readonly summary: string;
}

/**
 * Files are hashed once, before the command runs: a command that changes its own inputs is not another command for it.
 *
 * @throws UsageError for a glob that matches no file, a file that cannot be read, and a name that no variable can have.
 */
export async function collectInput(sources: InputSources, cwd: string, env: NodeJS.ProcessEnv): Promise<CollectedInput> {
  const { args, values } = sources;
  const names = [...new Set(sources.env)].sort();
  const variables = Object.fromEntries(names.map((name) => [name, variable(name, env)]));
  const files = sources.files.length === 0 ? {} : await hashFiles(sources.files, cwd);
  const input: CommandInput = {
    ...(args === undefined ? {} : { args: [...args] }),
    ...(names.length === 0 ? {} : { env: variables }),
    ...(sources.files.length === 0 ? {} : { files }),
    ...(values.length === 0 ? {} : { values: [...values] }),
  };
  const parts = [
    counted(Object.keys(files).length, 'file'),
    args === undefined ? '' : counted(args.length, 'argument') || 'no arguments',
    ...names.map((name) => `$${name}`),
    counted(values.length, 'value'),
  ];
  return { input: Object.keys(input).length === 0 ? undefined : input, summary: parts.filter((part) => part !== '').join(', ') };
}

function variable(name: string, env: NodeJS.ProcessEnv): string | null {
  // `NAME=value` is easily typed, and would count as a variable that is never set.
  if (name === '' || /[=\0]/.test(name)) throw new UsageError(`--fp-env: "${name}" is no name of an environment variable; say NAME alone`);
  const value: unknown = env[name];
  if (typeof value !== 'string') return null;
  if (value.includes('\uFFFD')) throw new UsageError(`--fp-env: ${name} holds bytes that are not UTF-8: two values could pass for one`);
  return value;
}

const counted = (count: number, what: string): string => (count === 0 ? '' : `${count} ${what}${count === 1 ? '' : 's'}`);
