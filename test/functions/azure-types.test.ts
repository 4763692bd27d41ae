/**
 * Most of this is checked by the compiler: handlers infer from their registration, wherever the library's own overloads let them.
 */
import { app, type EventGridEvent, type HttpHandler, type TimerHandler } from '@azure/functions';
import { describe, expect, it } from 'vitest';
import { installFunctionsCore } from '../../scripts/support/functions-host.ts';
import { idempotent, idempotentEach, idempotentHttp, keys, singleton } from '../../src/adapters/azure-functions/index.ts';
import { memoryStore, type Run, storeLeases } from '../../src/index.ts';

const host = installFunctionsCore();

interface Order {
  readonly id: string;
}
const store = memoryStore();
const http = { store, operation: 'o', scope: 'public' } as const;
const one = { store, operation: 'o' };
const queue = { queueName: 'q', connection: 'c' };

const httpHandler: HttpHandler = idempotentHttp(http, (request, context, run) => ({
  jsonBody: [request.method, context.functionName, run.key],
}));
const timerHandler: TimerHandler = singleton({ leases: storeLeases(store), name: 'n' }, (timer, _context, lease) => [timer.isPastDue, lease.token]);

function everyTrigger(): void {
  app.http('h', { handler: idempotentHttp(http, async (request) => ({ jsonBody: await request.json() })) });
  app.get(
    'g',
    idempotentHttp({ ...http, scope: (request) => request.user?.id }, (request) => ({ body: request.url })),
  );
  app.post('p', { handler: idempotentHttp({ ...http, onUnknown: () => ({ done: { status: 201 } }) }, () => ({})) });
  app.timer('t', {
    schedule: '* * * * * *',
    handler: singleton({ leases: storeLeases(store), name: 'n', slot: (timer) => timer.scheduleStatus.next }, () => {}),
  });
  app.storageQueue<Order>('q', { ...queue, handler: idempotent({ ...one, key: (order) => order.id }, (order) => order.id) });
  app.serviceBusQueue<Order>('s', {
    ...queue,
    handler: idempotent({ ...one, key: (order) => order.id }, (order, context, run) => [order.id, context.functionName, run.key]),
  });
  app.serviceBusTopic<Order>('st', {
    topicName: 't',
    subscriptionName: 's',
    connection: 'c',
    handler: idempotent({ ...one, key: (order) => [order.id, 1] }, async () => {}),
  });
  app.serviceBusQueue<Order[]>('sm', {
    ...queue,
    cardinality: 'many',
    handler: idempotentEach({ ...one, key: (order: Order) => order.id }, (order) => order.id),
  });
  app.eventHub<Order>('e', { eventHubName: 'e', connection: 'c', handler: idempotent({ ...one, key: (order) => order.id }, () => {}) });
  app.eventHub<Order[]>('em', {
    eventHubName: 'e',
    connection: 'c',
    cardinality: 'many',
    handler: idempotentEach({ ...one, key: (order) => order.id }, (order) => order.id),
  });
  app.serviceBusQueue<Order>('sk', { ...queue, handler: idempotent({ ...one, key: keys.serviceBusMessageId }, (order) => order.id) });
  app.serviceBusQueue<Order[]>('smk', {
    ...queue,
    cardinality: 'many',
    handler: idempotentEach({ ...one, key: keys.serviceBusMessageId, onFailure: 'stop' }, (order) => order.id),
  });
  app.http('wh', { handler: idempotentHttp({ ...http, key: (request) => keys.gitHubDelivery(request.headers) }, () => ({})) });
  app.storageBlob<Buffer>('b', {
    path: 'p',
    connection: 'c',
    handler: idempotent({ ...one, key: (_blob, context) => String(context.triggerMetadata?.uri) }, (blob) => blob.byteLength),
  });
  app.eventGrid<EventGridEvent>('eg', { handler: idempotent({ ...one, key: (event) => [event.topic, event.id] }, (event) => event.id) });
  app.cosmosDB<Order>('c', {
    connection: 'c',
    databaseName: 'd',
    containerName: 'c',
    handler: idempotentEach({ ...one, key: (order: Order) => order.id }, (order) => order.id),
  });
  app.sql<Order>('sql', {
    tableName: 't',
    connectionStringSetting: 'c',
    handler: idempotentEach({ ...one, key: (change) => change.Item.id }, (change) => change.Operation),
  });
  app.mySql<Order>('mysql', {
    tableName: 't',
    connectionStringSetting: 'c',
    handler: idempotentEach({ ...one, key: (change) => change.Item.id }, (change) => change.Operation),
  });
  app.webPubSub<Order>('wps', {
    name: 'w',
    hub: 'h',
    eventName: 'message',
    eventType: 'user',
    handler: idempotent({ ...one, key: (message: Order) => message.id }, () => {}),
  });
  app.connectorTrigger<Order>('con', { handler: idempotent({ ...one, key: (order: Order) => order.id }, (order) => order.id) });
  app.warmup('w', { handler: idempotent({ ...one, key: (_warmup, context) => context.invocationId }, () => {}) });
  app.mcpTool<Order>('tool', {
    toolName: 't',
    description: 'd',
    toolProperties: [],
    handler: idempotent({ ...one, key: (order: Order) => order.id }, (order) => order.id),
  });
  app.mcpResource<Order>('res', {
    uri: 'u',
    resourceName: 'r',
    handler: idempotent({ ...one, key: (order: Order) => order.id }, (order) => order.id),
  });
  app.mcpPrompt<Order>('prompt', { promptName: 'p', handler: idempotent({ ...one, key: (order: Order) => order.id }, (order) => order.id) });
  app.generic('r', {
    trigger: { type: 'rabbitMQTrigger', name: 'r' },
    handler: idempotent({ ...one, key: (order: Order) => order.id }, (order) => order.id),
  });
}

/** The value of the work is the value of the handler. */
const inferred: (order: Order, context: never) => Promise<{ taken: string }> = idempotent(
  { ...one, key: (order: Order) => order.id },
  async (order, _context, run: Run) => ({ taken: run.keyFor(order.id) }),
);

describe('the types of the wrappers', () => {
  it('fit every trigger of the library', () => {
    everyTrigger();
    expect(host.functions.size).toBe(25);
    for (const { handler } of host.functions.values()) expect(handler).toHaveLength(2);
    for (const handler of [httpHandler, timerHandler, inferred]) expect(handler).toHaveLength(2);
  });

  it('and the checks at run time refuse what is not chosen', () => {
    // @ts-expect-error: scope is a required choice
    expect(() => idempotentHttp({ store, operation: 'o' }, () => ({}))).toThrow('scope is missing');
    // @ts-expect-error: a key is required
    expect(() => idempotent({ store, operation: 'o' }, () => {})).toThrow('key is missing');
    // @ts-expect-error: leases and a name are required
    expect(() => singleton({ leases: storeLeases(store) }, () => {})).toThrow('name is missing');
    // @ts-expect-error: a handler is required
    expect(() => idempotent({ store, operation: 'o', key: () => 'k' })).toThrow('must be a function');
  });
});
