/**
 * One item of a trigger, guarded: what `idempotent` and `idempotentEach` have in common.
 *
 * @module
 */
import type { InvocationContext } from '@azure/functions';
import { encode } from '../../core/codec.ts';
import { otherWrapper } from '../../core/errors.ts';
import { type Call, DEFAULT_LEASE_MS, type Guard, type GuardOptions, guardFrom, type UnknownAnswer } from '../../core/guard.ts';
import type { Key } from '../../core/key.ts';
import { anything, isFunction, type Rules } from '../../core/options.ts';
import { inRun, type Run } from '../../core/run.ts';
import { type RunResult, unwrap } from '../../core/run-once.ts';
import { handOut } from '../../http/hand-out.ts';
import { keyed } from '../keyed.ts';
import type { Outputs } from './outputs.ts';
import { defaultWaitMs, holderOf, returnIsIgnored } from './trigger.ts';

const RETENTION_MS = 7 * 86_400_000;

export interface ItemOptions<I> {
  /**
   * What makes this item "the same again": the business id. The transport's (`context.triggerMetadata.messageId`) is a fallback: it survives a
   * redelivery, not a second send. `index`: the place in a batch, 0 otherwise.
   */
  readonly key: (input: I, context: InvocationContext, index: number) => Key | undefined | null;
  /** On whose behalf: a tenant. A function that finds none is refused (`MISSING_SCOPE`), never shared. */
  readonly scope?: Key | ((input: I, context: InvocationContext, index: number) => Key | undefined | null);
  /** What of the item must be the same under the same key. Default: nothing, since messages carry times and trace ids that differ. */
  readonly input?: (input: I, context: InvocationContext, index: number) => unknown;
}

const ITEM_RULES: Rules = { key: isFunction, scope: anything, input: isFunction };

/** The value of an item's record. */
export interface Kept<O> {
  /** Tells it from what other kinds of wrappers keep. */
  readonly item: true;
  readonly value: O | undefined;
  readonly outputs?: Outputs;
}

export interface BoundItem<I, O> extends ItemOptions<I> {
  readonly guard: Guard<Kept<O>>;
  readonly waitsByTrigger: boolean;
  inside<R>(run: Run, work: () => R): R;
}

export function bindItem<I, O>(what: string, options: GuardOptions<O> & ItemOptions<I>, rules: Rules = {}): BoundItem<I, O> {
  const leaseMs = Number(options?.leaseMs ?? DEFAULT_LEASE_MS) || DEFAULT_LEASE_MS;
  const { retentionMs = Math.max(RETENTION_MS, 2 * leaseMs) } = options ?? {};
  const checked = guardFrom<O>(what, { ...options, retentionMs }, { ...ITEM_RULES, ...rules }, ['key']);
  const { onUnknown, ...rest } = checked;
  return {
    guard: { ...rest, onUnknown: typeof onUnknown === 'function' ? (run) => ask(onUnknown, run) : onUnknown },
    key: options.key,
    ...(options.scope === undefined ? {} : { scope: options.scope }),
    ...(options.input === undefined ? {} : { input: options.input }),
    waitsByTrigger: options.onInFlight === undefined,
    inside: (run, work) => inRun(run, work),
  };
}

async function ask<O>(onUnknown: (run: Run<O>) => UnknownAnswer<O> | Promise<UnknownAnswer<O>>, run: Run<Kept<O>>): Promise<UnknownAnswer<Kept<O>>> {
  const answer = await onUnknown(handOut<O, Kept<O>>(run, (value) => ({ item: true, value })));
  return typeof answer === 'object' && answer !== null && 'done' in answer ? { done: { item: true, value: answer.done } } : answer;
}

export async function callFor<I, O>(bound: BoundItem<I, O>, input: I, context: InvocationContext, index = 0): Promise<Call> {
  return {
    ...(await keyed(bound.guard.operation, bound, input, context, index)),
    holder: holderOf(context),
    waitMs: bound.waitsByTrigger ? defaultWaitMs(context, bound.guard.leaseMs) : undefined,
  };
}

/** A return value that the host ignores anyway must not turn a done item into one whose outcome "could not be kept", a poison message. */
export function keep<O>(value: O, context: InvocationContext, outputs: Outputs | undefined): Kept<O> {
  const kept = returnIsIgnored(context) && !encode(value).ok ? undefined : value;
  return { item: true, value: kept, ...(outputs === undefined ? {} : { outputs }) };
}

/**
 * What is kept of an item. A person (`resolveRun`) says what the handler would have returned; it has no outputs.
 *
 * @throws RerunSafeError as {@link unwrap}, and `STORE_MISCONFIGURED` when another kind of wrapper wrote the record.
 */
export function itemOf<O>(guard: Guard<Kept<O>>, result: RunResult<Kept<O>>): Kept<O> {
  const kept = unwrap(guard, result);
  if (result.kind === 'completed' && result.resolved) return { item: true, value: kept as O };
  if ((kept as Partial<Kept<O>> | undefined | null)?.item !== true) throw otherWrapper(guard.operation);
  return kept;
}
