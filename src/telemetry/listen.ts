/**
 * Hears what core tells, and lets nothing that goes wrong here reach who told it: `diagnostics_channel` makes an uncaught exception of it.
 *
 * @module
 */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';

/** @returns what ends it. */
export function listen<M>(channel: 'rerunsafe:run' | 'rerunsafe:lease' | 'rerunsafe:call', hear: (message: M) => unknown): () => void {
  const quiet = quietly(hear as (message: unknown) => unknown);
  subscribe(channel, quiet);
  return () => void unsubscribe(channel, quiet);
}

/** The same, but what it throws, at once or later, is warned about, once in the process. */
export const quietly =
  <A extends readonly unknown[]>(act: (...given: A) => unknown) =>
  (...given: A): void => {
    try {
      const result = act(...given);
      if (result instanceof Promise) result.catch(warnOnce);
    } catch (error) {
      warnOnce(error);
    }
  };

let warned = false;

function warnOnce(error: unknown): void {
  if (warned) return;
  warned = true;
  process.emitWarning(`What is told of runs and leases could not be passed on. They are not affected. ${error}`, { code: 'RERUNSAFE_TELEMETRY' });
}
