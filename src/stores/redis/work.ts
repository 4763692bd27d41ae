/**
 * The caller's own part of a script.
 *
 * @module
 */
import { checkOptions, type Rule } from '../../core/options.ts';
import type { Answer } from './connection.ts';

/** A script of yours, as for EVAL: `KEYS` and `ARGV` are yours alone, and what it returns comes back. */
export interface RedisWork {
  /**
   * Lua. Values come as `arguments`, never pasted into it: each new text is compiled and kept by the server. A script that fails halfway leaves what it
   * wrote before (Redis takes nothing back): look first, then write. To refuse, `return redis.error_reply('OUT_OF_STOCK …')`.
   */
  readonly script: string;
  /** All keys that it touches. In a cluster they need the hash tag of the store's `prefix`: by default `{rerunsafe}`. */
  readonly keys?: readonly string[];
  readonly arguments?: readonly (string | number)[];
}

export interface ScriptWork {
  readonly script: string;
  readonly keys: readonly string[];
  readonly args: readonly string[];
}

const isScript: Rule = (value) =>
  typeof value === 'string' && value.trim() !== '' && !value.startsWith('#!') ? undefined : 'must be the text of a Lua script, without a #! line';
const isListOf =
  (what: string, fits: (value: unknown) => boolean): Rule =>
  (value) =>
    Array.isArray(value) && value.every(fits) ? undefined : `must be a list of ${what}`;
const isText = (value: unknown): boolean => typeof value === 'string';

const RULES = {
  script: isScript,
  keys: isListOf('strings', isText),
  arguments: isListOf('strings and finite numbers', (value) => isText(value) || Number.isFinite(value)),
};

/** Taken once. @throws RerunSafeError `INVALID_OPTIONS` */
export function takeWork(what: string, work: RedisWork): ScriptWork {
  checkOptions(what, work, RULES, ['script']);
  return { script: work.script, keys: [...(work.keys ?? [])], args: (work.arguments ?? []).map(String) };
}

/** @throws the error that the work returned. */
export function unlessRefused({ status, rest }: Answer): void {
  if (status === 'refused') throw new Error(String(rest[0]));
}
