/**
 * The events of the sample app, one source after another, and what each is answered.
 *
 * @module
 */
import type { EventBridgeEvent } from 'aws-lambda';
import { expect } from 'vitest';
import { albEvent, httpApiEvent, restEvent, scheduledEvent, sqsEvent } from '../support/aws-events.ts';
import {
  activeMqEvent,
  dynamodbNumber,
  dynamodbStreamEvent,
  eventBridgeEvent,
  kafkaEvent,
  kinesisEvent,
  kinesisNumber,
  rabbitMqEvent,
  s3Event,
  snsEvent,
} from '../support/aws-source-events.ts';

const reported = (...itemIdentifiers: readonly unknown[]) => ({ batchItemFailures: itemIdentifiers.map((itemIdentifier) => ({ itemIdentifier })) });
const headers = { 'content-type': 'application/json', 'Idempotency-Key': '"6b1c0f7e-1f0a-4d8e-9a53-1a5f5b9f3c11"' };

export const payment = (orderId: string) => {
  const plain = httpApiEvent({ path: '/payments', headers, body: JSON.stringify({ orderId, amount: 4200, currency: 'EUR' }) });
  return { ...plain, requestContext: { ...plain.requestContext, authorizer: { jwt: { claims: { sub: 'customer-1' }, scopes: [] } } } };
};
export const statement = (key: string) => {
  const plain = httpApiEvent({ path: '/statements', headers: { 'idempotency-key': `"${key}"` } });
  return { ...plain, requestContext: { ...plain.requestContext, authorizer: { iam: { userArn: 'arn:aws:iam::123456789012:user/accounting' } } } };
};
export const partner = (body: object) => {
  const plain = restEvent({ path: '/vouchers', headers, body: JSON.stringify(body) });
  const identity = { ...plain.requestContext.identity, userArn: 'arn:aws:iam::123456789012:user/partner' };
  return { ...plain, requestContext: { ...plain.requestContext, identity } };
};
export const till = (body: object) => albEvent({ path: '/vouchers', headers, body: JSON.stringify(body) });
const paid: EventBridgeEvent<'OrderPaid', object> = { ...eventBridgeEvent(), detail: { orderId: 'bridge-1', address: '1 Main Street' } };
const told = structuredClone(snsEvent());
for (const { Sns } of told.Records) Sns.Message = JSON.stringify({ chargeId: 'sns-1', orderId: 'o-1' });

/** One event, and what mentions its effect among the app's items. */
export const SINGLE = [
  { source: 'EventBridge', name: 'shipment', event: paid, mention: 'bridge-1', answer: { shipmentId: expect.any(String) } },
  { source: 'SNS', name: 'receipts', event: told, mention: 'receipt/sns-1', answer: null },
  { source: 'S3', name: 'imports', event: s3Event(), mention: 'orders/red flower.jpg', answer: null },
  { source: 'a schedule', name: 'nightly', event: scheduledEvent(), mention: 'report/2025-01-01', answer: null },
] as const;

const four = (tag: string, make: (id: string, n: number) => object): { readonly body: object }[] =>
  [1, 2, 3, 4].map((n) => ({ body: make(`${tag}-${n}`, n) }));
const order = (orderId: string) => ({ orderId, customer: 'c', amount: 4200 });
const invoices = (tag: string) => four(tag, (number) => ({ number, amount: 4200 })).map(({ body }) => body);
const mqFailed = (op: string) => ({
  kind: 'error',
  errorType: 'ItemsFailedError',
  errorMessage: expect.stringContaining(`${op}: 1 of 4 items failed (index 2)`),
});
const changed = dynamodbStreamEvent(...four('table', () => ({})));
for (const [n, record] of changed.Records.entries()) {
  record.dynamodb = { ...record.dynamodb, Keys: { id: { S: `order/table-${n + 1}` } }, NewImage: { amount: { N: '4200' } } };
}

/** Four records, of which the third fails at first: what its source is told, and how many of them are done then. */
export const BATCHES: readonly { source: string; name: string; tag: string; event: unknown; first: object; done: number; again: unknown }[] = [
  { source: 'SQS standard', name: 'orders', tag: 'std', event: sqsEvent(...four('std', order)), first: reported('m3'), done: 3, again: reported() },
  {
    source: 'SQS FIFO',
    name: 'orders',
    tag: 'fifo',
    event: sqsEvent(...four('fifo', order).map(({ body }, n) => ({ body, group: n === 1 ? 'other' : 'c' }))),
    first: reported('m3', 'm4'),
    done: 2,
    again: reported(),
  },
  {
    source: 'Kinesis',
    name: 'views',
    tag: 'page',
    event: kinesisEvent(...four('page', (page) => ({ page }))),
    first: reported(kinesisNumber(3)),
    done: 2,
    again: reported(),
  },
  { source: 'DynamoDB streams', name: 'audit', tag: 'table', event: changed, first: reported(dynamodbNumber(3)), done: 2, again: reported() },
  {
    source: 'MSK',
    name: 'stock',
    tag: 'msk',
    event: kafkaEvent(...four('msk', (article, level) => ({ article, level })).map(({ body }, n) => ({ body, partition: n === 1 ? 1 : 0 }))),
    first: reported({ partition: 'orders-0', offset: 3 }, { partition: 'orders-0', offset: 4 }),
    done: 2,
    again: reported(),
  },
  {
    source: 'self-managed Kafka',
    name: 'stock',
    tag: 'own',
    event: {
      ...kafkaEvent(...four('own', (article, level) => ({ article, level })).map(({ body }) => ({ body, partition: 7 }))),
      eventSource: 'SelfManagedKafka',
    },
    first: reported({ partition: 'orders-7', offset: 3 }, { partition: 'orders-7', offset: 4 }),
    done: 2,
    again: reported(),
  },
  {
    source: 'ActiveMQ',
    name: 'invoices',
    tag: 'active',
    event: activeMqEvent(invoices('active')),
    first: mqFailed('invoices/book'),
    done: 3,
    again: null,
  },
  {
    source: 'RabbitMQ',
    name: 'invoices',
    tag: 'rabbit',
    event: rabbitMqEvent(invoices('rabbit')),
    first: mqFailed('invoices/book'),
    done: 3,
    again: null,
  },
];
