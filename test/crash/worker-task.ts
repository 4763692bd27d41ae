/**
 * What a worker can be told to do. Apart from the worker, which does it as soon as it is loaded.
 *
 * @module
 */
export type Task =
  /** Adds 1 to the counter so often, each time under the lease; the n-th time (from 1) it stalls for `stallMs`, between reading and writing. */
  | { readonly do: 'count'; readonly times: number; readonly leaseMs: number; readonly stallAt: number; readonly stallMs: number }
  /** Runs once for each of so many keys. */
  | { readonly do: 'rounds'; readonly rounds: number }
  /** Claims, keeps a step, and never ends. */
  | { readonly do: 'hang'; readonly key: string; readonly leaseMs: number }
  /** Claims, waits for a line on stdin, and goes on as if nothing had happened. */
  | { readonly do: 'sleep'; readonly key: string; readonly leaseMs: number }
  /** The same under a named lease. */
  | { readonly do: 'sleep under lease'; readonly name: string; readonly leaseMs: number };

export const OPERATION = 'test/crash';
