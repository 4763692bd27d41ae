/**
 * S4: a queue consumer dies halfway, and the message comes again.
 *
 * @module
 */
import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { QueueClient } from '@azure/storage-queue';
import type { Expect } from '../support/report.ts';
import { queueText } from '../support/sample-app.ts';
import type { Order } from './far-side.ts';
import { type Scenario, WITHOUT } from './scenario.ts';
import type { Stage } from './stage.ts';
import { different, logged, reaches, seen, until } from './watch.ts';

const WORKER = 's4-worker.ts';
/** What the host's listener says when it has acknowledged a message. */
const DELETED = 'deleted';
const order = (orderId: string): Order => ({ orderId, amount: 4200 });

export const s4: Scenario = {
  id: 'S4',
  title: 'A queue consumer dies halfway, and the message comes again',
  parts: [
    { on: WITHOUT, shows: 'an Azure Storage Queue', play: without },
    { on: 'Azure Storage Queue', shows: 'the order is the key, records in Table Storage', play: storageQueue },
    { on: 'Service Bus', shows: 'events through the adapter, records in Table Storage', play: serviceBus },
    { on: 'SQS', shows: 'batches through the adapter, records in DynamoDB', play: sqs },
    { on: 'Kafka', shows: 'batches through the adapter, records in DynamoDB', play: kafka },
  ],
};

async function queueOf(stage: Stage) {
  const { connectionString } = await stage.servers.azurite();
  const queueName = `q${randomBytes(6).toString('hex')}`;
  const queue = new QueueClient(connectionString, queueName);
  await Promise.all([queue.create(), new QueueClient(connectionString, `${queueName}-poison`).create()]);
  return {
    at: { connectionString, queueName },
    send: async (orderId: string) => void (await queue.sendMessage(queueText(order(orderId)))),
    left: async () => (await queue.getProperties()).approximateMessagesCount,
  };
}

async function without(expect: Expect, stage: Stage): Promise<void> {
  const provider = await stage.provider();
  const queue = await queueOf(stage);
  const [victim, other] = await Promise.all([stage.process(WORKER), stage.process(WORKER)]);
  const held = provider.holdNext('charges');
  await queue.send('order-1');
  await victim.call('listen', queue.at);
  await held.arrived;
  await victim.kill();
  held.release();
  await other.call('listen', queue.at);
  await logged(other, DELETED);
  expect('killed after the charge, it comes again: charges', provider.chargesOf('order-1').length, 2);
}

async function storageQueue(expect: Expect, stage: Stage): Promise<void> {
  const provider = await stage.provider();
  const [queue, place] = await Promise.all([queueOf(stage), stage.place('azure-tables')]);
  const [victim, one, two] = await Promise.all([stage.process(WORKER, place), stage.process(WORKER, place), stage.process(WORKER, place)]);
  const held = provider.holdNext('charges');
  await queue.send('order-1');
  await victim.call('listen', queue.at);
  await held.arrived;
  await victim.kill();
  held.release();
  await one.call('listen', queue.at);
  await logged(one, DELETED);
  const keys = provider.keysOf('order-1');
  expect('killed after the charge, it comes again: calls', keys.length, 2);
  expect('different keys of them, charges', [different(keys), provider.chargesOf('order-1').length], [1, 1]);

  await queue.send('order-1');
  await logged(one, DELETED, 2);
  expect('sent again, a new id: acknowledged without a call', provider.keysOf('order-1').length, 2);

  const slow = provider.holdNext('charges');
  await two.call('listen', queue.at);
  await Promise.all([queue.send('order-2'), queue.send('order-2')]);
  await slow.arrived;
  // Each has one of the two messages by now, or the other one waits for who is free.
  const before = [...one.logs, ...two.logs].filter((line) => line === DELETED).length;
  expect('queued twice, the first under way: in the queue', await queue.left(), 2);
  slow.release();
  const acknowledged = (): number => [...one.logs, ...two.logs].filter((line) => line === DELETED).length - before;
  for (const endsAtMs = performance.now() + 60_000; acknowledged() < 2 && performance.now() < endsAtMs; ) await pause(100);
  expect('acknowledged, once it is done; left in the queue', [acknowledged(), await queue.left()], [2, 0]);
  expect('calls, charges', [provider.keysOf('order-2').length, provider.chargesOf('order-2').length], [1, 1]);
}

async function serviceBus(expect: Expect, stage: Stage): Promise<void> {
  const provider = await stage.provider();
  const place = await stage.place('azure-tables');
  const [victim, other] = await Promise.all([stage.process(WORKER, place), stage.process(WORKER, place)]);
  const message = (messageId: string) => ({ order: order('order-1'), messageId });
  const held = provider.holdNext('charges');
  const lost = seen(victim, 'serviceBus', message('m-1'));
  await reaches(lost, held.arrived);
  expect('under way, and again under another message id', await seen(other, 'serviceBus', message('m-2')), 'IN_FLIGHT');
  await victim.kill();
  held.release();
  expect('its consumer killed after the charge', await lost, 'no answer');
  expect('comes again, until it is done', await until(other, 'serviceBus', message('m-1'), ['IN_FLIGHT']), 'completed');
  const keys = provider.keysOf('order-1');
  expect('calls, different keys of them', [keys.length, different(keys)], [2, 1]);
  expect('charges', provider.chargesOf('order-1').length, 1);
  expect('a finished duplicate, another message id', await seen(other, 'serviceBus', message('m-3')), 'completed');
  expect('calls', provider.keysOf('order-1').length, 2);
}

async function sqs(expect: Expect, stage: Stage): Promise<void> {
  const provider = await stage.provider();
  const place = await stage.place('dynamodb');
  const [victim, other] = await Promise.all([stage.process(WORKER, place), stage.process(WORKER, place)]);
  const held = provider.holdNext('charges');
  const lost = seen(victim, 'sqs', [order('order-1')]);
  await reaches(lost, held.arrived);
  expect('a batch with an order that is under way: failures', await seen(other, 'sqs', ['order-1', 'order-2'].map(order)), ['order-1']);
  await victim.kill();
  held.release();
  expect('its consumer killed after the charge', await lost, 'no answer');
  const batch = ['order-1', 'order-2', 'order-3'].map(order);
  expect('the batch with one more, until it is done: failures', await untilNone(() => other.call<string[]>('sqs', batch)), []);
  sums(expect, provider, ['order-1', 'order-2', 'order-3'], [2, 1, 1]);
}

async function kafka(expect: Expect, stage: Stage): Promise<void> {
  const provider = await stage.provider();
  const place = await stage.place('dynamodb');
  const [victim, other] = await Promise.all([stage.process(WORKER, place), stage.process(WORKER, place)]);
  const batch = ['order-1', 'order-2', 'order-3'].map((orderId, index) => ({ order: order(orderId), partition: index === 2 ? 1 : 0 }));
  const held = provider.holdNext('charges');
  const lost = seen(victim, 'kafka', batch.slice(0, 1));
  await reaches(lost, held.arrived);
  const failed = await seen(other, 'kafka', batch);
  expect('two partitions, the first is under way: failures', failed, ['order-1', 'order-2']);
  expect('the next of its partition is not begun: calls', provider.keysOf('order-2').length, 0);
  await victim.kill();
  held.release();
  expect('its consumer killed after the charge', await lost, 'no answer');
  expect('the batch again, until it is done: failures', await untilNone(() => other.call<string[]>('kafka', batch)), []);
  sums(expect, provider, ['order-1', 'order-2', 'order-3'], [2, 1, 1]);
}

function sums(expect: Expect, provider: Awaited<ReturnType<Stage['provider']>>, orders: readonly string[], calls: readonly number[]) {
  expect(
    'calls for each order',
    orders.map((orderId) => provider.keysOf(orderId).length),
    calls,
  );
  expect(
    'different keys of them',
    orders.map((orderId) => different(provider.keysOf(orderId))),
    orders.map(() => 1),
  );
  expect(
    'charges for each order',
    orders.map((orderId) => provider.chargesOf(orderId).length),
    orders.map(() => 1),
  );
}

async function untilNone(send: () => Promise<string[]>): Promise<string[]> {
  for (const endsAtMs = performance.now() + 60_000; ; ) {
    const failures = await send();
    if (failures.length === 0 || performance.now() > endsAtMs) return failures;
    await pause(100);
  }
}
