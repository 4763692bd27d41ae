/**
 * A process of a function app with one guarded queue function, and the host's listener in it.
 *
 * @module
 */
import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { app } from '@azure/functions';
import { QueueClient } from '@azure/storage-queue';
import { charge } from '../../functions/provider.ts';
import { serve } from '../../scripts/demo/calls.ts';
import { installFunctionsCore } from '../../scripts/support/functions-host.ts';
import { gate } from '../../scripts/support/gate.ts';
import { listen } from '../../scripts/support/queue-host.ts';
import { idempotent } from '../../src/adapters/azure-functions/index.ts';
import { tableStore } from '../../src/stores/azure-tables/index.ts';
import { type Consumer, MAX_DEQUEUE_COUNT, type Order, type Witnessed } from './queue-task.ts';

const consumer = JSON.parse(process.env.CONSUMER ?? '{}') as Consumer;
const { queueName, operation, leaseMs, workMs, onInFlight, batchSize, hiddenS, retryAfterS } = consumer;
const host = installFunctionsCore();
let begins = gate();
const held = gate();

/** On the disk before the next line of the work runs: a process that is killed takes nothing back. */
function witness(line: Omit<Witnessed, 'pid' | 'atMs'>): void {
  const file = openSync(consumer.witness, 'a');
  writeSync(file, `${JSON.stringify({ ...line, pid: process.pid, atMs: Date.now() } satisfies Witnessed)}\n`);
  fsyncSync(file);
  closeSync(file);
}

app.storageQueue<Order>('orders', {
  queueName,
  connection: 'AzureWebJobsStorage',
  handler: idempotent(
    { store: tableStore(), operation, leaseMs, key: (order: Order) => order.orderId, ...(onInFlight && { onInFlight }) },
    async ({ orderId, amount, work }, _context, run) => {
      witness({ what: 'begun', orderId, attempt: run.attempt });
      begins.open();
      begins = gate();
      if (work === 'throw') throw new Error('this order cannot be taken');
      if (work === 'hold') await held.opened;
      await pause(workMs / 2);
      await charge({ orderId, amount, currency: 'EUR' }, run.keyFor('charge'), run.signal);
      await pause(workMs / 2);
      witness({ what: 'ended', orderId, attempt: run.attempt });
    },
  ),
});

const queue = (name: string): QueueClient => new QueueClient(process.env.AzureWebJobsStorage ?? '', name);

const { log } = serve({
  async listen() {
    listen(host, 'orders', {
      queue: queue(queueName),
      poison: queue(`${queueName}-poison`),
      batchSize,
      hiddenS,
      retryAfterS,
      maxDequeueCount: MAX_DEQUEUE_COUNT,
      received: (messageId, dequeueCount) => log(JSON.stringify({ messageId, dequeueCount, end: 'received' })),
      settled: (delivery) => log(JSON.stringify(delivery)),
    }).catch((error: unknown) => {
      console.error(error);
      process.exit(1);
    });
  },
  begun: () => begins.opened,
  letGo: async () => held.open(),
});
