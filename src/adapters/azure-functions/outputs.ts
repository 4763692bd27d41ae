/**
 * Output bindings: the host writes them after the handler has returned, so a crash in between loses them. They are part of the outcome, and set
 * again on a replay.
 *
 * @module
 */
import type { InvocationContext } from '@azure/functions';

export type Outputs = Readonly<Record<string, unknown>>;

/** What was set, by the name of the binding; undefined when nothing was. */
export function outputsOf(context: InvocationContext): Outputs | undefined {
  const set = (context.options.extraOutputs ?? [])
    .map(({ name }) => [name, context.extraOutputs.get(name)] as const)
    .filter(([, value]) => value !== undefined);
  return set.length === 0 ? undefined : Object.fromEntries(set);
}

export function setOutputs(context: InvocationContext, outputs: Outputs | undefined): void {
  for (const { name } of context.options.extraOutputs ?? []) context.extraOutputs.set(name, outputs?.[name]);
}
