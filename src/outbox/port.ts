/**
 * What the relay asks of the place where messages wait. The relay decides; the place keeps, in order, and refuses a relay that was overtaken.
 *
 * @module
 */
import type { CallOptions, Fence } from '../core/ports.ts';

/** A message on its way. */
export interface RelayedMessage {
  /** The same on every delivery, by which the receiver knows a second one. 43 characters of `[A-Za-z0-9_-]`. */
  readonly id: string;
  readonly topic: string;
  /** Messages of one key arrive in order. */
  readonly key: string | undefined;
  /** Plain JSON. */
  readonly payload: unknown;
  /** Which try of its delivery this is, from 1. Tries that nobody could write down are not counted. */
  readonly attempt: number;
  /** When it was written, epoch ms. */
  readonly createdAtMs: number;
}

export interface WaitingMessage {
  readonly id: string;
  readonly topic: string;
  readonly key: string | undefined;
  readonly payload: unknown;
  /** Tries that have failed. */
  readonly attempts: number;
  readonly createdAtMs: number;
  /** Where it lies: the outbox's own business. */
  readonly place?: unknown;
}

/** What became of a delivery. */
export type Ending =
  | { readonly kind: 'delivered' }
  | { readonly kind: 'retry'; readonly attempts: number; readonly delayMs: number; readonly error: string }
  | { readonly kind: 'parked'; readonly attempts: number; readonly error: string };

export interface Settlement {
  readonly message: WaitingMessage;
  readonly ending: Ending;
}

export interface TakeRequest {
  readonly limit: number;
  /** What the last take gave as `next`; absent: from the beginning. */
  readonly after?: unknown;
  /** Leave out the keys of which a message is parked. */
  readonly holdParked: boolean;
}

export interface Taken {
  /** Of each key in order, and nothing of it that waits before them is left out. */
  readonly messages: readonly WaitingMessage[];
  /** There may be more behind; absent: this was the end. */
  readonly next?: unknown;
}

/** A message that is kept for people. */
export interface ParkedMessage {
  readonly id: string;
  readonly topic: string;
  readonly key: string | undefined;
  readonly payload: unknown;
  /** Tries that have failed. */
  readonly attempts: number;
  readonly createdAtMs: number;
  readonly parkedAtMs: number;
  /** What the last try failed with, as text. */
  readonly lastError: string;
}

/** `postgresOutbox` and `dynamodbOutbox` are such; the rest of the methods is the relay's. */
export interface OutboxPlace {
  readonly name: string;
  /** From now on no relay with a lower token changes anything here. @throws RerunSafeError `STALE_TOKEN` where a higher one was here. */
  enter(relay: Fence, options?: CallOptions): Promise<void>;
  /** What may be delivered now: due, and nothing of its key is waiting to be tried again. */
  take(request: TakeRequest, options?: CallOptions): Promise<Taken>;
  /**
   * Of one key, in order. To do it twice is to do it once.
   *
   * @throws RerunSafeError `STALE_TOKEN`: another relay has entered.
   */
  settle(relay: Fence, settlements: readonly Settlement[], options?: CallOptions): Promise<void>;
  /** How many wait, parked ones not counted. */
  waiting(options?: CallOptions): Promise<number>;
  /** For people. */
  listParked(): AsyncIterable<ParkedMessage>;
  /** Lets it be delivered again, its tries forgotten. False: none of that id is parked. */
  unpark(id: string): Promise<boolean>;
  /** Throws it away for good. False: none of that id is parked. */
  dropParked(id: string): Promise<boolean>;
  /** Makes the table. Idempotent; never on the hot path. */
  setUp(): Promise<void>;
}
