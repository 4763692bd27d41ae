/**
 * Durable executions keep the results of their steps themselves, and call their handler again and again on purpose.
 *
 * @module
 */
import { RerunSafeError } from '../../core/errors.ts';

/** How the SDK marks its own contexts, those of children too. */
const DURABLE_CONTEXT = Symbol.for('@aws/durable-execution-sdk-js/durable-context');

/**
 * Refuses a handler that is part of a durable execution, from inside (its context has steps) or from outside (its event carries a checkpoint token).
 * Its replays would look like duplicates, and what one of its invocations returns is no outcome. `runOnce` inside a step is welcome.
 *
 * @throws RerunSafeError `INVALID_OPTIONS`
 */
export function refuseDurable(event: unknown, context: unknown): void {
  if (!isDurableContext(context) && !isDurableInput(event)) return;
  throw new RerunSafeError(
    'INVALID_OPTIONS',
    'A durable execution is safe to run again by its own steps: use context.step (runOnce may be used inside one), and give the execution a name for its own key. Nothing was run.',
  );
}

/** By several marks together: a context or a payload of a user's own may have a `step` that means something else. */
function isDurableContext(context: unknown): boolean {
  const given = (context ?? {}) as Readonly<Record<PropertyKey, unknown>>;
  if (given[DURABLE_CONTEXT] === true) return true;
  const { step, runInChildContext, lambdaContext } = given;
  return typeof step === 'function' && typeof runInChildContext === 'function' && typeof lambdaContext === 'object' && lambdaContext !== null;
}

/** What the service sends; a request to its checkpoint API has the first two as well. */
function isDurableInput(event: unknown): boolean {
  const { DurableExecutionArn, CheckpointToken, InitialExecutionState } = (event ?? {}) as Readonly<Record<string, unknown>>;
  return typeof DurableExecutionArn === 'string' && typeof CheckpointToken === 'string' && InitialExecutionState !== undefined;
}
