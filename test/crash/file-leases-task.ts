/**
 * What a process that holds file leases can be told, and what it writes down. Apart from the worker, which serves as soon as it is loaded.
 *
 * @module
 */

export interface Turns {
  readonly name: string;
  /** So many acquisitions. */
  readonly count: number;
  readonly leaseMs: number;
  /** Each so-many-th turn stays past its lease, and writes when a successor has written. 0: none. */
  readonly lateEvery: number;
  /** Only fenced writes change it: `{ n, token }`. */
  readonly counter: string;
  /** One line of JSON per {@link Noted}. */
  readonly history: string;
}

/** `atMs`: the monotonic clock of the host, the same for all processes. */
export type Noted = { readonly pid: number; readonly token: number; readonly atMs: number } & (
  | { readonly what: 'in'; readonly untilMs: number }
  | { readonly what: 'wrote'; readonly n: number }
  | { readonly what: 'refused' | 'landed late' | 'out' }
);

export const hostMs = (): number => Number(process.hrtime.bigint()) / 1e6;

export interface Found {
  readonly held: string;
  readonly aborted: boolean;
  readonly written: string;
  readonly renewed: string;
  readonly released: string;
}
