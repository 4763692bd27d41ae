/**
 * How the user wants a value kept and handed out: by a codec of their own, checked by a schema, or looked at on each replay.
 *
 * @module
 */
import { types } from 'node:util';
import { RerunSafeError } from './errors.ts';
import type { FormedGuard } from './guard.ts';
import { has, isFunction, type Rules } from './options.ts';
import type { RunResult } from './replay.ts';

/** For values that the built-in codec does not take: instances of classes, and what is too large as it is. */
export interface ValueCodec<T> {
  /** What is kept: anything that the built-in codec takes. */
  encode(value: T): unknown;
  /** Answers at once: a promise is taken for a failure. */
  decode(kept: unknown): T;
}

/** Any validator of the Standard Schema interface, version 1 (https://standardschema.dev): zod, valibot, arktype, … */
export interface ValueSchema<T> {
  readonly '~standard': {
    readonly version: 1;
    readonly validate: (value: unknown) => SchemaResult<T> | Promise<SchemaResult<T>>;
  };
}
type SchemaResult<T> = { readonly value: T; readonly issues?: undefined } | { readonly issues: readonly SchemaIssue[] };
interface SchemaIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

export interface ReplayFacts {
  readonly operation: string;
  /** The attempt that brought the outcome about. */
  readonly attempt: number;
  /** From the memory of this process, without a request (`localReplay`). */
  readonly local: boolean;
}

export interface ValueForms<T> {
  /** Everybody gets what `decode` makes of what `encode` made, the first caller too. */
  readonly codec?: ValueCodec<T>;
  /**
   * Checks what comes out of the store, which an earlier version of the program may have put there; what the schema makes of it is what the caller gets,
   * the first caller too. A stored value that does not fit, or a schema that fails, is `RESULT_NOT_STORED`, and the work is not run again;
   * the first caller is served all the same, with a warning (`RERUNSAFE_RESULT_SCHEMA`).
   */
  readonly resultSchema?: ValueSchema<T>;
  /** Called with each value that is replayed; what it returns is handed out. What it throws goes to the caller. */
  readonly onReplay?: (value: T, replay: ReplayFacts) => T | Promise<T>;
}

export const VALUE_RULES: Rules = { codec: has('encode', 'decode'), resultSchema: isSchema, onReplay: isFunction };

function isSchema(value: unknown): string | undefined {
  const standard = (value as ValueSchema<unknown> | null | undefined)?.['~standard'];
  return standard?.version === 1 && typeof standard.validate === 'function'
    ? undefined
    : 'must be a validator of the Standard Schema interface, version 1';
}

const shown = ({ message, path = [] }: SchemaIssue): string =>
  `${path.map((part) => `.${String(typeof part === 'object' ? part.key : part)}`).join('')}${path.length > 0 ? ': ' : ''}${message}`;

type Completed<T> = Extract<RunResult<T>, { kind: 'completed' }>;

/** The last thing before a result is handed out. */
export function formed<T>(guard: FormedGuard<T>, result: RunResult<T>, local: boolean): RunResult<T> | Promise<RunResult<T>> {
  const { resultSchema, onReplay } = guard;
  if (result.kind !== 'completed' || (resultSchema === undefined && onReplay === undefined)) return result;
  return formedBy(guard, result, local);
}

async function formedBy<T>(guard: FormedGuard<T>, result: Completed<T>, local: boolean): Promise<RunResult<T>> {
  const { resultSchema, onReplay, operation } = guard;
  let { value } = result;
  if (resultSchema !== undefined) value = await checked(resultSchema, value, operation, result.replayed);
  if (result.replayed && onReplay !== undefined) value = await onReplay(value, { operation, attempt: result.attempt, local });
  return value === result.value ? result : { ...result, value };
}

/**
 * What a function of the user returns that has to answer at once.
 *
 * @throws TypeError for a promise; whatever becomes of that is nobody's business any more, and must not end the process.
 */
export function atOnce<V>(answer: V, what: string): V {
  if (types.isPromise(answer)) answer.catch(() => {});
  if (typeof (answer as { then?: unknown } | null | undefined)?.then === 'function')
    throw new TypeError(`${what} must answer at once, not by a promise`);
  return answer;
}

type Checked<T> = { readonly value: T } | { readonly issues: readonly string[]; readonly cause?: unknown };

/** A schema that fails has said as little of the value as one that it does not fit. */
async function ask<T>(schema: ValueSchema<T>, value: T): Promise<Checked<T>> {
  try {
    const answer = await schema['~standard'].validate(value);
    if (answer.issues !== undefined) return { issues: answer.issues.map(shown) };
    if (!('value' in answer)) throw new TypeError('it must answer { value } or { issues }');
    return answer;
  } catch (cause) {
    return { issues: [`the schema failed: ${String(cause)}`], cause };
  }
}

async function checked<T>(schema: ValueSchema<T>, value: T, operation: string, replayed: boolean): Promise<T> {
  const answer = await ask(schema, value);
  if ('value' in answer) return answer.value;
  const { issues } = answer;
  const message = `${operation}: the work was done, but its value does not fit resultSchema (${issues.join('; ')}). It is not run again.`;
  if (replayed) throw new RerunSafeError('RESULT_NOT_STORED', message, { cause: answer.cause, facts: { operation, reason: 'schema', issues } });
  // The first caller is served: nothing is wrong with the work, and later callers will be told.
  process.emitWarning(message, { code: 'RERUNSAFE_RESULT_SCHEMA' });
  return value;
}
