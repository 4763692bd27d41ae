/**
 * One way to guard a call by its key, as its documentation sets it up.
 *
 * @module
 */
import type { Answer, Terms } from '../protocol.ts';

export interface Request {
  readonly key: string;
  readonly amount: number;
  readonly terms: Terms;
}

/** Its argument: which attempt the work was told it is, 0 where it is not told. */
export type Work = (attempt: number) => Promise<string>;

export interface Caller {
  call(request: Request, work: Work): Promise<string>;
  /** What an error of `call` says; undefined: nothing that the peer documents. */
  meaning(error: unknown): Exclude<Answer['kind'], 'value' | 'failed'> | undefined;
}

/** How long a duplicate waits in all. */
export const WAIT_MS = 8_000;
