/**
 * Options are checked once, when a wrapper is built, and all that is wrong is said in one message.
 *
 * @module
 */
import { RerunSafeError } from './errors.ts';

/** Says what is wrong with a value ("must be …"), or nothing. */
export type Rule = (value: unknown) => string | undefined;
export type Rules = Readonly<Record<string, Rule>>;

/**
 * Refuses wrong, missing and unknown options.
 *
 * @throws RerunSafeError `INVALID_OPTIONS`, with every problem in `facts.problems`.
 */
export function checkOptions(what: string, given: unknown, rules: Rules, required: readonly string[] = []): void {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) throw invalidOptions(what, ['the options must be an object']);
  const options = given as Record<string, unknown>;
  const problems: string[] = [];
  let unknown = false;
  for (const name of required) {
    if (options[name] === undefined) problems.push(`${name} is missing`);
  }
  for (const [name, value] of Object.entries(options)) {
    const rule = Object.hasOwn(rules, name) ? rules[name] : undefined;
    if (rule === undefined) {
      unknown = true;
      problems.push(`${name} is not an option`);
    } else if (value !== undefined) {
      const wrong = rule(value);
      if (wrong !== undefined) problems.push(`${name} ${wrong}`);
    }
  }
  if (problems.length > 0) throw invalidOptions(what, problems, unknown ? ` The options are ${Object.keys(rules).join(', ')}.` : '');
}

export const invalidOptions = (what: string, problems: readonly string[], hint = ''): RerunSafeError =>
  new RerunSafeError('INVALID_OPTIONS', `${what}: ${problems.join('; ')}.${hint}`, { facts: { problems } });

export const anything: Rule = () => undefined;
export const isFunction: Rule = (value) => (typeof value === 'function' ? undefined : 'must be a function');
export const isBoolean: Rule = (value) => (typeof value === 'boolean' ? undefined : 'must be true or false');
export const isObject: Rule = (value) => (typeof value === 'object' && value !== null ? undefined : 'must be an object');

/** A name that people chose: 1 to `max` characters, no control characters. */
export const isName =
  (max = 128): Rule =>
  (value) =>
    typeof value === 'string' && value.length > 0 && value.length <= max && !/[\p{Cc}\p{Surrogate}]/u.test(value)
      ? undefined
      : `must be a string of 1 to ${max} characters, without control characters`;

export const isInteger =
  (min: number, max: number = Number.MAX_SAFE_INTEGER): Rule =>
  (value) =>
    Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max
      ? undefined
      : `must be a whole number, at least ${min}${max === Number.MAX_SAFE_INTEGER ? '' : `, at most ${max}`}`;

export const isOneOf =
  (...values: readonly string[]): Rule =>
  (value) =>
    values.includes(value as string) ? undefined : `must be ${values.map((v) => `'${v}'`).join(' or ')}`;

export const either =
  (...rules: readonly Rule[]): Rule =>
  (value) => {
    const wrong = rules.map((rule) => rule(value));
    return wrong.includes(undefined) ? undefined : wrong.join(', or ');
  };

/** An object of that shape; `otherwise` says which. */
export const isShape =
  (rules: Rules, required: readonly string[], otherwise: string): Rule =>
  (value) => {
    try {
      checkOptions('', value, rules, required);
    } catch {
      return otherwise;
    }
    return undefined;
  };

/** An object with the methods named: a store, a lease provider, a client. */
export const has =
  (...methods: readonly string[]): Rule =>
  (value) =>
    typeof value === 'object' && value !== null && methods.every((m) => typeof (value as Record<string, unknown>)[m] === 'function')
      ? undefined
      : `must be an object with ${methods.join(', ')}`;

export const isSignal: Rule = (value) => (value instanceof AbortSignal ? undefined : 'must be an AbortSignal');
