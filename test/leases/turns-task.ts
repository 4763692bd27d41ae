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
  /** The path of the history, of all processes. */
  readonly history: string;
}
