/**
 * S1: an instance of a payment API.
 *
 * @module
 */
import { randomUUID } from 'node:crypto';
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { runOnce } from '../../src/index.ts';
import { serve } from '../demo/calls.ts';
import { charge, type Order } from './far-side.ts';
import { placeGiven, storeReady } from './place.ts';

const notes = join(process.env.FOLDER ?? '', 'notes');
const place = placeGiven('dynamodb', 'azure-tables', 'postgres', 'redis');
const store = place === null ? undefined : await storeReady(place);

serve({
  /** As it is often written: looked up before, noted after. */
  async payAndNote(order: Order): Promise<void> {
    if (existsSync(notes) && readFileSync(notes, 'utf8').includes(order.orderId)) return;
    await charge(order, randomUUID());
    appendFileSync(notes, `${order.orderId}\n`);
  },

  /** `leaseMs`: after a crash the key is free again after so long. */
  async pay({ order, leaseMs }: { order: Order; leaseMs: number }): Promise<string> {
    if (store === undefined) throw new Error('no store');
    return runOnce({ store, operation: 'payments/charge', key: order.orderId, input: order, leaseMs }, (run) => charge(order, run.keyFor('charge')));
  },
});
