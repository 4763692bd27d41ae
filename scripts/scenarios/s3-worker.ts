/**
 * S3: an instance of a job.
 *
 * @module
 */
import { randomUUID } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runOnce, withLease } from '../../src/index.ts';
import { serve } from '../demo/calls.ts';
import { gate } from '../support/gate.ts';
import { charge } from './far-side.ts';
import { leasesReady, type Place, placeGiven, storeReady } from './place.ts';

interface Job {
  readonly name: string;
  /** The occurrence, epoch ms. */
  readonly slot: number;
  readonly leaseMs: number;
  readonly waits?: boolean;
  readonly fails?: boolean;
  readonly orderId?: string;
}

const place = placeGiven('azure-blob', 'azure-tables', 'dynamodb', 'postgres', 'redis');
const leases = place === null ? undefined : await leasesReady(place);
const records = place === null ? undefined : await storeReady(JSON.parse(process.env.RECORDS ?? '') as Place);
let signal = gate();

/** Until the parent says so: how long jobs take is for it to decide. */
async function work(waits = true): Promise<void> {
  signal = gate();
  log('at work');
  if (waits) await signal.opened;
}

const { log } = serve({
  async goOn() {
    signal.open();
  },

  async runPlain({ orderId }: { orderId: string }) {
    await charge({ orderId, amount: 100 }, randomUUID());
    await work();
  },

  async runWithLockFile({ orderId }: { orderId: string }) {
    const path = join(process.env.FOLDER ?? '', 'job.lock');
    await writeFile(path, String(process.pid), { flag: 'wx' });
    try {
      await charge({ orderId, amount: 100 }, randomUUID());
      await work();
    } finally {
      await rm(path);
    }
  },

  async run({ name, slot, leaseMs, waits = false, fails = false, orderId }: Job): Promise<string> {
    if (leases === undefined || records === undefined) throw new Error('no place');
    const result = await withLease(leases, name, { leaseMs, slot }, async () => {
      if (orderId !== undefined) {
        await runOnce({ store: records, operation: 'invoices/charge', key: [orderId, slot], leaseMs: 5_000 }, async (run) => {
          const chargeId = await charge({ orderId, amount: 100 }, run.keyFor('charge'));
          await work(waits);
          return chargeId;
        });
      } else await work(waits);
      if (fails) throw new Error('the job failed');
    });
    return result.kind;
  },
});
