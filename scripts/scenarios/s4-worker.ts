/**
 * S4: an instance that consumes orders: of a Storage Queue and of Service Bus in a function app, of SQS and of Kafka on Lambda.
 *
 * @module
 */
import { randomUUID } from 'node:crypto';
import type { SQSRecord } from 'aws-lambda';
import type { KafkaRecord } from '../../src/adapters/aws-lambda/index.ts';
import type { RecordStore } from '../../src/index.ts';
import { lambdaContext, sqsEvent } from '../../test/support/aws-events.ts';
import { kafkaEvent } from '../../test/support/aws-source-events.ts';
import { serve } from '../demo/calls.ts';
import type { FunctionsHost } from '../support/functions-host.ts';
import { listen } from '../support/queue-host.ts';
import { charge, type Order } from './far-side.ts';
import { placeGiven, storeReady } from './place.ts';

const OPTIONS = { operation: 'orders/take', leaseMs: 5_000 } as const;
const place = placeGiven('azure-tables', 'dynamodb');
const orderId = ({ orderId }: Order): string => orderId;

async function functionApp(store: RecordStore | undefined): Promise<FunctionsHost> {
  const { installFunctionsCore } = await import('../support/functions-host.ts');
  const host = installFunctionsCore();
  const { app } = (await import('@azure/functions')).default;
  const { idempotent } = await import('../../src/adapters/azure-functions/index.ts');
  const binding = { queueName: 'orders', connection: 'AzureWebJobsStorage' };
  if (store === undefined) {
    app.storageQueue<Order>('queue', { ...binding, handler: async (order) => void (await charge(order, randomUUID())) });
  } else {
    const options = { ...OPTIONS, store, key: orderId };
    const handler = idempotent<Order, void>(options, async (order, _context, run) => void (await charge(order, run.keyFor('charge'))));
    app.storageQueue<Order>('queue', { ...binding, handler });
    // Without the wait that is the default, so that what a duplicate is told can be seen.
    const atOnce = idempotent<Order, void>({ ...options, onInFlight: 'refuse' }, async (order, _context, run) => {
      await charge(order, run.keyFor('charge'));
    });
    app.serviceBusQueue<Order>('bus', { ...binding, handler: atOnce });
  }
  await host.start();
  return host;
}

const inSqs = ({ body }: SQSRecord): Order => JSON.parse(body) as Order;
const inKafka = ({ value }: KafkaRecord): Order => JSON.parse(Buffer.from(value, 'base64').toString()) as Order;

async function lambdas(store: RecordStore) {
  const { idempotentEach } = await import('../../src/adapters/aws-lambda/index.ts');
  const sqs = idempotentEach<SQSRecord>({ ...OPTIONS, store, key: (record) => inSqs(record).orderId }, async (record, _context, run) => {
    await charge(inSqs(record), run.keyFor('charge'));
  });
  const kafka = idempotentEach<KafkaRecord>({ ...OPTIONS, store, key: (record) => inKafka(record).orderId }, async (record, _context, run) => {
    await charge(inKafka(record), run.keyFor('charge'));
  });
  return { sqs, kafka };
}

const store = place === null ? undefined : await storeReady(place);
const host = place?.kind === 'dynamodb' ? undefined : await functionApp(store);
const lambda = place?.kind === 'dynamodb' && store !== undefined ? await lambdas(store) : undefined;
const context = () => lambdaContext(() => 5_000);

const { log } = serve({
  /** As the host listens to a queue: what a function has not ended well comes again. */
  async listen({ connectionString, queueName }: { connectionString: string; queueName: string }) {
    const { QueueClient } = await import('@azure/storage-queue');
    const queue = new QueueClient(connectionString, queueName);
    const poison = new QueueClient(connectionString, `${queueName}-poison`);
    const pace = { batchSize: 1, hiddenS: 4, retryAfterS: 1, maxDequeueCount: 5 };
    if (host === undefined) throw new Error('no host');
    void listen(host, 'queue', { queue, poison, ...pace, settled: ({ end }) => log(end) });
  },

  async serviceBus({ order, messageId }: { order: Order; messageId: string }): Promise<string> {
    await host?.invoke('bus', { json: JSON.stringify(order) }, { messageId: { json: JSON.stringify(messageId) } });
    return 'completed';
  },

  async sqs(orders: Order[]): Promise<string[]> {
    const { batchItemFailures = [] } = (await lambda?.sqs(sqsEvent(...orders.map((body) => ({ body }))), context())) ?? {};
    // Message ids are places in the batch: m1, m2, …
    return batchItemFailures.map(({ itemIdentifier }) => orders[Number(String(itemIdentifier).slice(1)) - 1]?.orderId ?? '');
  },

  async kafka(records: { order: Order; partition: number }[]): Promise<string[]> {
    const event = kafkaEvent(...records.map(({ order, partition }) => ({ body: order, partition })));
    const { batchItemFailures = [] } = (await lambda?.kafka(event, context())) ?? {};
    // Offsets are places in the batch, from 1.
    return batchItemFailures.map(({ itemIdentifier: { offset } }) => records[offset - 1]?.order.orderId ?? '');
  },
});
