/**
 * What became of a call of the guard, for people (a sentence) and for machines (an object).
 *
 * @module
 */
export type Became =
  | 'succeeded'
  | 'failed'
  | 'unknown'
  | 'not-started'
  | 'already-done'
  | 'busy'
  | 'blocked'
  | 'mismatch'
  | 'slot-passed'
  | 'would-run'
  | 'refused';

export interface Report {
  readonly became: Became;
  readonly exitCode: number;
  /** One sentence. */
  readonly message: string;
  readonly mode?: 'once' | 'lock' | 'slot';
  readonly operation?: string;
  readonly key?: string;
  /** Of the record. */
  readonly id?: string;
  /** Of the named lease. */
  readonly lease?: string;
  readonly slot?: string;
  readonly attempt?: number;
  readonly token?: number;
  /** Of the command, ms. */
  readonly durationMs?: number;
  /** The command succeeded. False: that could not be written down, so the next call finds an unknown outcome. */
  readonly saved?: boolean;
  readonly retryAfterMs?: number;
  readonly code?: string;
  readonly store?: string;
}
