/**
 * What a consumer process is told, and what it writes down. Apart from the worker, which does it as soon as it is loaded.
 *
 * @module
 */
import type { ListenOptions } from '../../scripts/support/queue-host.ts';

export interface Order {
  readonly orderId: string;
  readonly amount: number;
  /** What the work does with it. `throw`: it fails each time. `hold`: it ends when it is let go. */
  readonly work: 'charge' | 'throw' | 'hold';
}

export interface Consumer extends Pick<ListenOptions, 'batchSize' | 'hiddenS' | 'retryAfterS'> {
  readonly queueName: string;
  readonly operation: string;
  readonly leaseMs: number;
  /** How long the work on an order takes, beside the charge. */
  readonly workMs: number;
  /** Instead of the wait that is the default. */
  readonly onInFlight?: 'refuse';
  /** The file that it writes down what it does in, before it does it. */
  readonly witness: string;
}

/** A line of the witness: the work on an order has begun, or is about to return. */
export interface Witnessed {
  readonly what: 'begun' | 'ended';
  readonly orderId: string;
  readonly attempt: number;
  readonly pid: number;
  readonly atMs: number;
}

export const MAX_DEQUEUE_COUNT = 5;
