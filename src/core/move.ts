/**
 * One of an owner's own moves, and what became of it.
 *
 * @module
 */
import type { MoveIntent } from './decide.ts';
import type { WriteResult } from './ports.ts';
import type { Outcome, RecordToWrite, Version } from './record.ts';
import type { Instant } from './system.ts';

export type MoveResult =
  | { readonly kind: 'written'; readonly sentAt: Instant; readonly vanished?: true }
  /** Another owner completed it for the same input. */
  | { readonly kind: 'adopt'; readonly outcome: Outcome; readonly attempt: number }
  | { readonly kind: 'lost' }
  | { readonly kind: 'too-large' }
  /** Nobody knows; `error` says why. */
  | { readonly kind: 'no-answer'; readonly error: unknown };

export type Send = (record: RecordToWrite, version: Version | undefined) => Promise<WriteResult>;

export interface Move {
  readonly kind: MoveIntent['kind'];
  /** Puts the own change, and nothing else, on the record that stands there. */
  readonly change: (standing: RecordToWrite) => RecordToWrite;
  /** Whether to go on after a failure. */
  readonly keepTrying: () => boolean;
  readonly limitMs?: number;
  readonly signal?: AbortSignal;
  /** Writes the record; default: this store. */
  readonly send?: Send;
}
