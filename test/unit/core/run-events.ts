import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { RunEvent } from '../../../src/core/events.ts';

/** Collects what is told of runs, whole, until stopped. */
export function runEvents(): { readonly events: readonly RunEvent[]; stop(): void } {
  const events: RunEvent[] = [];
  const listener = (message: unknown): void => void events.push(message as RunEvent);
  subscribe('rerunsafe:run', listener);
  return { events, stop: () => void unsubscribe('rerunsafe:run', listener) };
}
