/**
 * What a process that takes turns under a lease is told, and what it writes down. Apart from the worker, which serves as soon as it is loaded.
 *
 * @module
 */

/** Where in a turn a process is stopped or killed: with the lease just taken, between claim and write, while a renewal or a write is under way, before the release. */
export const POINTS = ['acquired', 'work', 'renewal', 'write', 'release'] as const;
export type Point = (typeof POINTS)[number];

export interface Doom {
  /** From 1. */
  readonly turn: number;
  readonly point: Point;
  readonly what: 'SIGKILL' | 'SIGSTOP';
}

export interface Turns {
  readonly name: string;
  /** So many acquisitions. */
  readonly count: number;
  readonly leaseMs: number;
  /** About how long it waits before it asks again. */
  readonly pollMs: number;
  /** Each so-many-th turn goes on after its release, and writes when a successor has written. */
  readonly lateEvery: number;
  readonly dooms: readonly Doom[];
  /** A write adds one to what the claim found. Otherwise (where a claim cannot read) it writes its token. */
  readonly adds: boolean;
  /** A folder; one file for each process, one line of JSON for each {@link Noted}. */
  readonly history: string;
}

/**
 * `atMs`: the monotonic clock of the host, the same for all processes. `sentMs`: before the request was sent; `atMs` is then after its answer.
 *
 * - `in`: acquired; by its own clock it holds until `untilMs`.
 * - `held on`: renewed until `untilMs`.
 * - `told`: after a stop past the lease, what `assertHeld` said, and what became of the signal.
 * - `out`: about to release.
 * - `doomed`: about to be stopped or killed, by itself.
 */
export type Noted = { readonly pid: number; readonly token: number; readonly atMs: number } & (
  | { readonly what: 'in' | 'held on'; readonly untilMs: number }
  | { readonly what: 'claimed'; readonly sentMs: number }
  | { readonly what: 'wrote'; readonly sentMs: number; readonly n: number }
  | { readonly what: 'refused'; readonly sentMs: number; readonly storedToken: number }
  | { readonly what: 'told'; readonly held: string; readonly aborted: boolean }
  | { readonly what: 'doomed'; readonly point: Point; readonly signal: Doom['what'] }
  | { readonly what: 'out' }
);

export const hostMs = (): number => Number(process.hrtime.bigint()) / 1e6;
