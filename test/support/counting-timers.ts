/**
 * Counts the timers that code under `src/` has started and neither cancelled nor seen fire, unreferenced ones included.
 *
 * @module
 */
import { createHook } from 'node:async_hooks';

export interface TimerCount {
  /** Where each open timer was started. */
  open(): readonly string[];
  /** How many were started in all. */
  started(): number;
  stop(): void;
}

export function countTimers(): TimerCount {
  const origins = new Map<number, string>();
  let started = 0;
  const hook = createHook({
    init(asyncId, type) {
      if (type !== 'Timeout') return;
      const origin = originOf(new Error('started here'));
      if (origin === undefined) return;
      started += 1;
      origins.set(asyncId, origin);
    },
    destroy: (asyncId) => void origins.delete(asyncId),
  });
  hook.enable();
  return { open: () => [...origins.values()], started: () => started, stop: () => hook.disable() };
}

/** SDKs and the test runner have timers of their own. */
const originOf = ({ stack = '' }: Error): string | undefined => {
  const frames = stack
    .split('\n')
    .slice(1)
    .filter((frame) => !frame.includes('node:') && !frame.includes('counting-timers'));
  return frames[0]?.includes('/src/') && !frames[0].includes('node_modules') ? frames[0].trim() : undefined;
};
