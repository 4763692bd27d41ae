/**
 * A job of a schedule. Its event carries the order, beside what the schedule sends.
 *
 * @module
 */
import type { ScheduledEvent } from 'aws-lambda';
import { storeLeases } from 'rerunsafe';
import { singleton } from 'rerunsafe/aws-lambda';
import { options, store } from './stage.ts';
import { type Order, work } from './work.ts';

export const handler = singleton(
  { leases: storeLeases(store), name: process.env.JOB ?? 'lambda/nightly', ...options },
  (event: ScheduledEvent & { readonly order: Order }, _context, lease) => work(event.order, lease),
);
