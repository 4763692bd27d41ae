/**
 * A handler that looks into the records of Powertools before it begins.
 *
 * @module
 */
import { asNotDone, isRerunSafeError, RerunSafeError } from '../../core/errors.ts';
import { checkOptions, invalidOptions, isFunction, isOneOf, type Rules } from '../../core/options.ts';
import { currentRun } from '../../core/run.ts';
import type { PowertoolsRecord, PowertoolsRecords } from './powertools-records.ts';

export interface PowertoolsFirstOptions<A extends unknown[], T, F = never> {
  /** What `payloadValidationJmesPath` selected. Another one than was stored is `KEY_REUSED`. Default: not compared. */
  readonly validate?: (...args: A) => unknown;
  /** Makes the outcome out of what was stored, where the handler of today returns another shape. Default: what was stored. */
  readonly revive?: (stored: unknown, ...args: A) => T | Promise<T>;
  /**
   * What Powertools began and left without an outcome (a crash, a time-out, an event that its handler changed): `retry` (default) runs the handler, as
   * Powertools would; `block` throws `BLOCKED`. Give the wrapper `onUnknown: 'block'` with it, so that the record stays blocked until a person
   * resolves it; before `forgetRun` delete the record of Powertools, or it is found again.
   */
  readonly onUnknown?: 'retry' | 'block';
  /**
   * Over HTTP: what is answered instead of throwing `error`. It has to be `reject(…)`ed, or it would be kept as the outcome of work that never ran.
   * Not asked for `BLOCKED`.
   */
  readonly refuse?: (error: RerunSafeError, ...args: A) => F | Promise<F>;
}

const WHAT = 'powertoolsRecords.first';
const FUNCTIONS: Rules = { payloadOf: isFunction, handler: isFunction };
const RULES: Rules = { validate: isFunction, revive: isFunction, refuse: isFunction, onUnknown: isOneOf('retry', 'block') };

/** The mark of an answer that was `reject`ed; all copies of the package share it. */
const REJECTED = Symbol.for('rerunsafe.rejected');

interface Records extends Pick<PowertoolsRecords, 'read'> {
  readonly tableName: string;
}

export function first({ read, tableName }: Records): Pick<PowertoolsRecords, 'first' | 'onThrow'> {
  const refusals = new WeakSet<object>();

  /** Thrown before the handler began. */
  const withdrawn = (error: unknown): unknown => {
    if (typeof error === 'object' && error !== null) refusals.add(error);
    // Even where `onUnknown` is not `retry`, a refusal says that nothing has happened.
    return isRerunSafeError(error) ? asNotDone(error) : error;
  };
  const blocked = (): RerunSafeError =>
    new RerunSafeError(
      'BLOCKED',
      `Powertools began this and left no outcome (table ${tableName}): nobody knows what it did. A person has to say what became of it; nothing was run.`,
      { facts: { tableName } },
    );
  const inProgress = (retryAfterMs: number): RerunSafeError =>
    new RerunSafeError(
      'IN_FLIGHT',
      `Powertools may still be working on this (table ${tableName}). Nothing was run; try again in ${retryAfterMs} ms.`,
      {
        retryAfterMs,
        facts: { tableName },
      },
    );

  return {
    onThrow: (error) => (typeof error === 'object' && error !== null && refusals.has(error) ? 'withdraw' : undefined),
    first<E, C, R, T, F = never>(
      payloadOf: (...args: [E, C, R]) => unknown,
      handler: (...args: [E, C, R]) => T | Promise<T>,
      options: PowertoolsFirstOptions<[E, C, R], T, F> = {},
    ): (event: E, context?: C, run?: R) => Promise<T | F> {
      checkOptions(WHAT, { payloadOf, handler }, FUNCTIONS, Object.keys(FUNCTIONS));
      checkOptions(WHAT, options, RULES);
      const { validate, revive, refuse, onUnknown = 'retry' } = options;

      const look = async (args: [E, C, R]): Promise<PowertoolsRecord | undefined> => {
        const signal = currentRun()?.signal;
        const payload = await payloadOf(...args);
        const validation = validate === undefined ? {} : { validate: await validate(...args) };
        const found = await read(payload, { ...validation, ...(signal === undefined ? {} : { signal }) });
        if (found?.kind === 'in-progress') throw inProgress(found.retryAfterMs);
        return found;
      };
      const refused = async (error: unknown, args: [E, C, R]): Promise<F> => {
        if (refuse === undefined || !isRerunSafeError(error)) throw withdrawn(error);
        const answer = await refuse(error, ...args);
        if (isRejected(answer)) return answer;
        throw withdrawn(invalidOptions(WHAT, ['refuse must return reject(…): anything else would be kept as the outcome']));
      };

      const looking = async (...given: [event: E, context?: C, run?: R]): Promise<T | F> => {
        const args = given as [E, C, R];
        // For local work nothing is guarded, and there is no table.
        if (process.env.RERUNSAFE_DISABLED === '1') return handler(...args);
        let found: PowertoolsRecord | undefined;
        try {
          found = await look(args);
        } catch (error) {
          return refused(error, args);
        }
        if (found?.kind === 'completed') return revive === undefined ? (found.value as T) : revive(found.value, ...args);
        if (found?.kind === 'unknown' && onUnknown === 'block') throw blocked();
        // Looking took its time: the work starts only under a lease that is alive.
        currentRun()?.assertHeld();
        return handler(...args);
      };
      // Traces and logs show the name.
      return Object.defineProperty(looking, 'name', { value: handler.name, configurable: true });
    },
  };
}

function isRejected(answer: unknown): boolean {
  const marked = (globalThis as { [REJECTED]?: WeakSet<object> })[REJECTED];
  return typeof answer === 'object' && answer !== null && marked?.has(answer) === true;
}
