/**
 * What one call makes, besides time: counted, and the same on each machine. Run by itself: `node --expose-gc --max-semi-space-size=128 bench/cpu/counted.ts`.
 *
 * @module
 */
import { createHook } from 'node:async_hooks';
import { memoryStore, runOnce } from 'rerunsafe';

export interface Counted {
  readonly promises: number;
  readonly timers: number;
  readonly bytes: number;
}

const CALLS = 500;
const store = memoryStore();
const call = (key: string): Promise<unknown> => runOnce({ store, operation: 'bench/cpu', key }, () => ({ ok: true }));

async function counted(prefix: string, keyOf: (n: number) => string): Promise<Counted> {
  // What is compiled later makes other garbage than what is not compiled yet.
  for (let n = 0; n < 6_000; n++) await call(`${prefix} warm ${keyOf(n)}`);
  globalThis.gc?.();
  const before = process.memoryUsage().heapUsed;
  for (let n = 0; n < CALLS; n++) await call(`${prefix} weighed ${keyOf(n)}`);
  const bytes = process.memoryUsage().heapUsed - before;
  const made: Record<string, number> = {};
  const hook = createHook({
    init(_, type) {
      made[type] = (made[type] ?? 0) + 1;
    },
  });
  hook.enable();
  for (let n = 0; n < CALLS; n++) await call(`${prefix} counted ${keyOf(n)}`);
  hook.disable();
  const each = (type: string): number => Math.round((made[type] ?? 0) / CALLS);
  return { promises: each('PROMISE'), timers: each('Timeout'), bytes: Math.round(bytes / CALLS) };
}

// First the one that leaves nothing behind.
const replay = await counted('replay', () => 'one');
const first = await counted('first', String);
process.stdout.write(JSON.stringify({ first, replay }));
