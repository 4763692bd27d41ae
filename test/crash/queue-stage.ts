/**
 * Azurite, a payment provider, a queue with its poison queue, and the processes that consume it.
 *
 * @module
 */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { QueueClient } from '@azure/storage-queue';
import { startWorker, type WorkerProcess } from '../../scripts/demo/calls.ts';
import { type PaymentProvider, startPaymentProvider } from '../../scripts/support/payment-provider.ts';
import type { Delivery } from '../../scripts/support/queue-host.ts';
import { queueText } from '../../scripts/support/sample-app.ts';
import { azureTable } from '../../scripts/support/sample-storage.ts';
import { tableStore } from '../../src/stores/azure-tables/index.ts';
import { startAzurite } from '../support/azurite.ts';
import type { Consumer, Order, Witnessed } from './queue-task.ts';

const SCRIPT = new URL('queue-worker.ts', import.meta.url).href;

export interface Orders {
  send(order: Order): Promise<void>;
  /** A process that listens. */
  consume(consumer?: Partial<Consumer>): Promise<WorkerProcess>;
  /** Hidden messages too. */
  left(): Promise<number>;
  poisoned(): Promise<Order[]>;
  witnessed(): Promise<Witnessed[]>;
}

export interface QueueStage {
  readonly provider: PaymentProvider;
  /** A queue and an operation of its own. */
  orders(name: string, consumer: Omit<Consumer, 'queueName' | 'operation' | 'witness'>): Promise<Orders>;
  stop(): Promise<void>;
}

export async function startQueueStage(): Promise<QueueStage> {
  const azurite = await startAzurite({ services: ['queue', 'table'] });
  const { connectionString } = azurite;
  const folder = await mkdtemp(join(tmpdir(), 'rerunsafe-queue-'));
  const provider = await startPaymentProvider(join(folder, 'charges'));
  await tableStore({ client: azureTable(connectionString, 'rerunsafe') }).setUp();
  const workers: WorkerProcess[] = [];

  return {
    provider,
    async orders(queueName, defaults) {
      const queue = new QueueClient(connectionString, queueName);
      const poison = new QueueClient(connectionString, `${queueName}-poison`);
      const witness = join(folder, queueName);
      await Promise.all([queue.create(), poison.create(), writeFile(witness, '')]);
      return {
        async send(order) {
          await queue.sendMessage(queueText(order));
        },
        async consume(more) {
          const consumer: Consumer = { ...defaults, ...more, queueName, operation: `test/${queueName}`, witness };
          const worker = await startWorker(SCRIPT, {
            AzureWebJobsStorage: connectionString,
            PAYMENTS_URL: provider.url,
            CONSUMER: JSON.stringify(consumer),
          });
          workers.push(worker);
          await worker.call('listen');
          return worker;
        },
        left: async () => (await queue.getProperties()).approximateMessagesCount ?? 0,
        async poisoned() {
          const { peekedMessageItems } = await poison.peekMessages({ numberOfMessages: 32 });
          return peekedMessageItems.map(({ messageText }) => JSON.parse(Buffer.from(messageText, 'base64').toString()) as Order);
        },
        async witnessed() {
          const lines = (await readFile(witness, 'utf8')).split('\n').filter((line) => line !== '');
          return lines.map((line) => JSON.parse(line) as Witnessed);
        },
      };
    },
    async stop() {
      await Promise.all(workers.map((worker) => worker.kill()));
      await provider.stop();
      await azurite.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** What the listener of a process has said, oldest first. A message that is being worked on is `received`. */
export const deliveriesOf = (worker: WorkerProcess): (Omit<Delivery, 'end'> & { readonly end: Delivery['end'] | 'received' })[] =>
  worker.logs.map((line) => JSON.parse(line));
