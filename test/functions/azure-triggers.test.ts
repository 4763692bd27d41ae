/**
 * One row for each trigger, as in docs/azure-triggers.md: its key, what a duplicate does, what comes back, what is stored.
 */
import { app } from '@azure/functions';
import { describe, expect, it } from 'vitest';
import { installFunctionsCore, type RpcData } from '../../scripts/support/functions-host.ts';
import { idempotent, idempotentEach, keys, type TriggerKey } from '../../src/adapters/azure-functions/index.ts';
import { memoryStore, type Run } from '../../src/index.ts';

const host = installFunctionsCore();
let registered = 0;

interface Row {
  readonly trigger: Readonly<Record<string, unknown>> & { readonly type: string };
  readonly key: TriggerKey;
  /** The n-th message, as the host delivers it. */
  readonly message: (n: number) => readonly [body: RpcData, metadata?: Readonly<Record<string, RpcData>>];
  readonly each?: true;
  readonly loser: 'waits, then throws' | 'waits, then takes over' | 'throws at once';
}

const json = (value: unknown): RpcData => ({ json: JSON.stringify(value) });
const TIME = { json: '"2026-01-01T00:00:00Z"' };
const hub = json({ FullyQualifiedNamespace: 'n', EventHubName: 'h', PartitionId: '0' });
const one = { string: '{"amount":1}' };
const ownId: TriggerKey = (input) => [(input as { readonly own: string }).own];

const ROWS: Readonly<Record<string, Row>> = {
  'Storage Queue': {
    trigger: { type: 'queueTrigger' },
    key: keys.storageQueueMessageId,
    message: (n) => [one, { Id: { string: `m-${n}` } }],
    loser: 'waits, then throws',
  },
  'Service Bus': {
    trigger: { type: 'serviceBusTrigger' },
    key: keys.serviceBusMessageId,
    message: (n) => [one, { MessageId: { string: `m-${n}` } }],
    loser: 'waits, then throws',
  },
  'Service Bus, many': {
    trigger: { type: 'serviceBusTrigger', cardinality: 'many' },
    key: keys.serviceBusMessageId,
    message: (n) => [{ collectionString: { string: ['{}'] } }, { MessageIdArray: json([`m-${n}`]) }],
    each: true,
    loser: 'waits, then throws',
  },
  'Event Hubs': {
    trigger: { type: 'eventHubTrigger' },
    key: keys.eventHubOffset,
    message: (n) => [one, { PartitionContext: hub, Offset: { string: `${n}` }, EnqueuedTimeUtc: TIME }],
    loser: 'waits, then takes over',
  },
  'Event Hubs, many': {
    trigger: { type: 'eventHubTrigger', cardinality: 'many' },
    key: keys.eventHubOffset,
    message: (n) => [
      { collectionString: { string: ['{}'] } },
      { PartitionContext: hub, OffsetArray: json([`${n}`]), EnqueuedTimeUtcArray: json(['2026-01-01T00:00:00']) },
    ],
    each: true,
    loser: 'waits, then takes over',
  },
  'Event Grid': {
    trigger: { type: 'eventGridTrigger' },
    key: keys.eventGridId,
    message: (n) => [json({ topic: 't', id: `${n}` })],
    loser: 'throws at once',
  },
  'Cosmos DB': {
    trigger: { type: 'cosmosDBTrigger' },
    key: keys.cosmosDbVersion,
    message: (n) => [json([{ id: 'd', _rid: 'r', _etag: `"${n}"` }])],
    each: true,
    loser: 'waits, then takes over',
  },
  Blob: {
    trigger: { type: 'blobTrigger' },
    key: keys.blobVersion,
    message: (n) => [{ bytes: Buffer.from('x') }, { Uri: json('https://a.test/c/b'), Properties: json({ ETag: `"${n}"` }) }],
    loser: 'waits, then throws',
  },
  Kafka: {
    trigger: { type: 'kafkaTrigger' },
    key: keys.kafkaOffset,
    message: (n) => [one, { Topic: { string: 't' }, Partition: json(0), Offset: json(n), Timestamp: TIME }],
    loser: 'waits, then takes over',
  },
  'Kafka, many': {
    trigger: { type: 'kafkaTrigger', cardinality: 'MANY' },
    key: keys.kafkaOffset,
    message: (n) => [
      { collectionString: { string: ['{}'] } },
      { TopicArray: json(['t']), PartitionArray: json([0]), OffsetArray: json([n]), TimestampArray: json(['2026-01-01T00:00:00Z']) },
    ],
    each: true,
    loser: 'waits, then takes over',
  },
  RabbitMQ: { trigger: { type: 'rabbitMQTrigger' }, key: ownId, message: (n) => [json({ own: `${n}` })], loser: 'waits, then throws' },
  SQL: { trigger: { type: 'sqlTrigger' }, key: ownId, message: (n) => [json([{ own: `${n}` }])], each: true, loser: 'waits, then throws' },
  'Durable activity': { trigger: { type: 'activityTrigger' }, key: ownId, message: (n) => [json({ own: `${n}` })], loser: 'throws at once' },
};

function register({ trigger, key, message, each }: Row, work: (run: Run) => unknown, leaseMs = 300) {
  const name = `row${++registered}`;
  const store = memoryStore();
  const options = { store, operation: name, key, leaseMs };
  const handler = each === true ? idempotentEach<unknown>(options, (_i, _c, run) => work(run)) : idempotent(options, (_i, _c, run) => work(run));
  app.generic(name, { trigger: { name: 'input', ...trigger }, handler });
  return { name, store, deliver: (n: number) => host.invoke(name, ...message(n)) };
}

describe.each(Object.entries(ROWS))('%s', (_name, row) => {
  it('I1 one message is worked on once, however often it is delivered; another one is another', async () => {
    let calls = 0;
    const { deliver } = register(row, () => {
      calls += 1;
    });
    for (const n of [1, 1, 2, 1, 2]) await deliver(n);
    expect(calls).toBe(2);
  });

  it('a message whose work failed is worked on again when it comes back', async () => {
    const attempts: number[] = [];
    const { deliver } = register(row, (run) => {
      attempts.push(run.attempt);
      if (run.attempt === 1) throw new Error('no');
    });
    await expect(deliver(1)).rejects.toThrow('no');
    await deliver(1);
    await deliver(1);
    expect(attempts).toEqual([1, 2]);
  });

  it(`I6 a duplicate of a message that is still worked on ${row.loser}`, async () => {
    let calls = 0;
    let end = (): void => {};
    let begun = (): void => {};
    const started = new Promise<void>((resolve) => {
      begun = resolve;
    });
    const { deliver } = register(row, async () => {
      calls += 1;
      begun();
      await new Promise<void>((resolve) => {
        end = resolve;
      });
    });
    const first = deliver(1);
    await started;
    const askedAt = performance.now();
    const loser = deliver(1).then(
      () => 'done',
      (error: { code?: string; errors?: readonly { code?: string }[] }) => error.code ?? error.errors?.[0]?.code,
    );
    if (row.loser === 'waits, then takes over') {
      await new Promise((resolve) => setTimeout(resolve, 400));
      end();
      expect(await loser).toBe('done');
    } else {
      expect(await loser).toBe('IN_FLIGHT');
      const waitedMs = performance.now() - askedAt;
      expect(waitedMs).toBeGreaterThanOrEqual(row.loser === 'throws at once' ? 0 : 290);
      expect(waitedMs).toBeLessThan(row.loser === 'throws at once' ? 250 : 3_000);
      end();
    }
    await first;
    expect(calls).toBe(1);
  });

  it('stores one record for each message, for 7 days', async () => {
    const { name, store, deliver } = register(row, () => {});
    await deliver(1);
    await deliver(2);
    const kept: unknown[] = [];
    for await (const { record } of store.list({ operation: name })) kept.push([record.state, record.retentionMs]);
    expect(kept).toEqual([
      ['completed', 7 * 86_400_000],
      ['completed', 7 * 86_400_000],
    ]);
  });
});

describe('a stream', () => {
  it.each(['Event Hubs', 'Event Hubs, many', 'Cosmos DB', 'Kafka', 'Kafka, many'])(
    'I10 %s: a message whose worker died is taken over',
    async (name) => {
      const row = ROWS[name] as Row;
      const attempts: number[] = [];
      const { name: operation, store, deliver } = register(row, (run) => attempts.push(run.attempt));
      // What the key is, is known to the store alone.
      await deliver(1);
      for await (const { id, record, version } of store.list({ operation })) {
        const { writtenAtMs: _, outcome: __, ...rest } = record;
        await store.replace(id, { ...rest, state: 'running', leaseMs: 200, revision: 'r', owner: 'of the dead' }, version);
      }
      await deliver(1);
      expect(attempts).toEqual([1, 2]);
    },
  );
});
