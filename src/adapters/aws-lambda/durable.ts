/**
 * Durable executions keep the results of their steps themselves, and call their handler again and again on purpose.
 *
 * @module
 */
import { RerunSafeError } from '../../core/errors.ts';

/**
 * Refuses a handler that is part of a durable execution, from inside (its context has steps) or from outside (its event carries a checkpoint token).
 * Its replays would look like duplicates, and what one of its invocations returns is no outcome.
 *
 * @throws RerunSafeError `INVALID_OPTIONS`
 */
export function refuseDurable(event: unknown, context: unknown): void {
  const { step, lambdaContext } = (context ?? {}) as { readonly step?: unknown; readonly lambdaContext?: unknown };
  const { DurableExecutionArn, CheckpointToken } = (event ?? {}) as { readonly DurableExecutionArn?: unknown; readonly CheckpointToken?: unknown };
  const inside = typeof step === 'function' && typeof lambdaContext === 'object';
  const outside = typeof DurableExecutionArn === 'string' && typeof CheckpointToken === 'string';
  if (!inside && !outside) return;
  throw new RerunSafeError(
    'INVALID_OPTIONS',
    'A durable execution is safe to run again by its own steps: use context.step, and give the execution a name for its own key. Nothing was run.',
  );
}
