/**
 * What an event source has of its own: where its records are, what must not overtake what, and how it is told of what was not done.
 *
 * @module
 */
import { RerunSafeError } from '../../../../core/errors.ts';
import type { ItemFailure } from '../../../items-failed.ts';

export interface Place<R> {
  readonly record: R;
  /** What the source calls it, read before any handler: one may copy what a record carries over the record. */
  readonly id: unknown;
  /** For people. */
  readonly name: string;
  /** Records of one lane go in order, and after a failure the rest of it is not tried. undefined: no order was promised. */
  readonly lane: string | undefined;
}

export interface Unfinished<R> {
  readonly operation: string;
  /** The whole batch, in its order. */
  readonly places: readonly Place<R>[];
  /** Tried in vain. */
  readonly failures: readonly ItemFailure[];
  /** Never begun: their lane had stopped, or time was short. */
  readonly untried: readonly number[];
  /** Both, in the order of the batch. */
  readonly undone: readonly Place<R>[];
}

export interface Source<R = unknown> {
  readonly what: 'message' | 'record';
  readonly reportedTo: string;
  /** How many records are worked on at once, where the user did not choose. */
  readonly concurrency: number;
  /** undefined: the event is none of this source, whatever it says. */
  placesOf(event: unknown, concurrency: number): readonly Place<R>[] | undefined;
  /** @throws where the whole batch has to come back. */
  answer(unfinished: Unfinished<R>): unknown;
}

export const refused = (why: string): RerunSafeError => new RerunSafeError('INVALID_OPTIONS', `idempotentEach: ${why}`);

/** Sources take an empty identifier for "the whole batch" or ignore it without a word; say it. */
export const unidentified = (what: string): RerunSafeError => refused(`a failed record has no ${what}, so the whole batch has to come back.`);

export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
