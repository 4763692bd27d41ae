/**
 * Inside a sandbox: what an invocation leaves behind when it has answered. The platform freezes it there and then; it would go on in a later one.
 *
 * @module
 */
import { createHook } from 'node:async_hooks';
import { setImmediate as turn } from 'node:timers/promises';
import type { Leftovers } from './wire.ts';

/** A request header takes no more. */
const MOST_TIMERS = 20;

export interface Watch {
  /** From here on, what is held is held by an invocation. */
  begin(): void;
  report(): Promise<Leftovers>;
}

export function watchLeftovers(): Watch {
  const timers = new Map<number, string>();
  let held: readonly string[] = [];
  createHook({
    init(asyncId, type) {
      if (type === 'Timeout') timers.set(asyncId, originOf(new Error('started here')));
    },
    destroy: (asyncId) => void timers.delete(asyncId),
  }).enable();

  return {
    begin() {
      timers.clear();
      held = process.getActiveResourcesInfo();
    },
    async report() {
      // A cancelled timer is reported a turn later.
      await turn();
      await turn();
      return { active: without(process.getActiveResourcesInfo(), held), timers: [...timers.values()].slice(0, MOST_TIMERS) };
    },
  };
}

/** Each kind as often as it is there beyond what was there before. */
function without(now: readonly string[], before: readonly string[]): string[] {
  const left = [...before];
  return now.filter((kind) => {
    const at = left.indexOf(kind);
    if (at >= 0) left.splice(at, 1);
    return at < 0;
  });
}

const originOf = ({ stack = '' }: Error): string => {
  const frames = stack.split('\n').slice(1);
  return (frames.find((frame) => !/\bnode:|leftovers\.ts/.test(frame)) ?? frames.at(-1) ?? 'unknown').trim();
};
