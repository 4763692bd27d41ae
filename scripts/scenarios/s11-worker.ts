/**
 * S11: the job's schedule in a region.
 *
 * @module
 */
import { setTimeout as pause } from 'node:timers/promises';
import { runOnce, storeLeases, withLease } from '../../src/index.ts';
import { serve } from '../demo/calls.ts';
import { placeGiven, storeReady } from './place.ts';

const place = placeGiven('azure-tables', 'dynamodb', 'postgres');
const store = place === null ? undefined : await storeReady(place);

async function work(fails = false): Promise<string> {
  log('ran');
  if (fails) throw new Error('no network here');
  await pause(50);
  return `of ${process.env.REGION}`;
}

const { log } = serve({
  runPlain: () => work(),

  async run({ slot, fails }: { slot: number; fails?: boolean }): Promise<string> {
    if (store === undefined) throw new Error('no store');
    return (await withLease(storeLeases(store), 'nightly', { slot, leaseMs: 30_000 }, () => work(fails))).kind;
  },

  async report({ slot }: { slot: number }): Promise<string> {
    if (store === undefined) throw new Error('no store');
    return runOnce({ store, operation: 'nightly/report', key: slot, onInFlight: { waitMs: 10_000 } }, () => work());
  },
});
