/**
 * An order from its payment to its last mail, safe to run again after a crash at any place. docs/orders.md goes through it.
 *
 * @module
 */
import { type RecordStore, runOnce } from 'rerunsafe';
import type { Order, Shop } from './shop.ts';

/** Everybody who asks for the same order gets the same one. */
export interface Receipt {
  readonly charge: string;
  readonly parcel: string;
  readonly mails: readonly string[];
}

export interface Guard {
  readonly store: RecordStore;
  /** How long after a crash the next attempt waits. */
  readonly leaseMs?: number;
}

export const fulfil = (order: Order, shop: Shop, guard: Guard): Promise<Receipt> =>
  runOnce({ ...guard, operation: 'orders/fulfil', key: order.id, input: order }, async (run) => {
    // The provider charges once for each key, so this may be sent again until an answer is kept.
    const charge = await run.step('charge', (step) => shop.charge(order, step.key), { input: order.total });

    // The carrier takes every request for a new parcel, so nothing is sent again before it was asked, and what was sent must not
    // begin when the lease is over: by then another attempt may have asked.
    const parcel = await run.step('ship', (step) => shop.ship(order, step.key, Date.now() + run.remainingMs()), {
      mode: 'atMostOnce',
      onInterrupted: async (step) => {
        const found = await shop.findParcel(step.key);
        return found === undefined ? 'not-done' : { done: found };
      },
    });

    // The mail service knows keys too. Each mail is a step of its own, told from the others by its own id.
    const mails: string[] = [];
    for (const mail of order.mails) mails.push(await run.step('mail', (step) => shop.mail(mail, step.key), { key: mail.id }));
    return { charge, parcel, mails };
  });
