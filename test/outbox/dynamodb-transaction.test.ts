import { CreateTableCommand, type DynamoDBClient, GetItemCommand, ScanCommand, type TransactWriteItem } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { OutboxMessage } from '../../src/core/outbox.ts';
import { memoryStore, runOnce, storeLeases } from '../../src/index.ts';
import type { RelayedMessage } from '../../src/outbox/port.ts';
import { relayOutbox } from '../../src/outbox/relay.ts';
import { commitWith, dynamodbOutbox, dynamodbStore } from '../../src/stores/dynamodb/index.ts';
import { outboxWrite } from '../../src/stores/dynamodb/outbox-items.ts';
import { type Emulator, javaAvailable, startDynamoDbLocal } from '../support/dynamodb.ts';
import { dynamodbWriter } from './dynamodb-writer.ts';
import { pending } from './place-suite.ts';

describe.runIf(await javaAvailable())('messages in a transaction of DynamoDB', () => {
  let emulator: Emulator;
  let client: DynamoDBClient;
  let count = 0;
  let outboxTable: string;
  const records = (): ReturnType<typeof dynamodbStore> => dynamodbStore({ client, tableName: 'records', outboxTable });
  beforeAll(async () => {
    emulator = await startDynamoDbLocal();
    client = emulator.client();
    outboxTable = 'unused';
    await records().setUp();
    await client.send(
      new CreateTableCommand({
        TableName: 'orders',
        BillingMode: 'PAY_PER_REQUEST',
        AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'S' }],
        KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }],
      }),
    );
  });
  beforeEach(async () => {
    count += 1;
    outboxTable = `outbox-${count}`;
    await dynamodbOutbox({ client, tableName: outboxTable }).setUp();
  });
  afterAll(() => emulator?.stop());

  const delivered = async (): Promise<RelayedMessage[]> => {
    const got: RelayedMessage[] = [];
    const outbox = dynamodbOutbox({ client, tableName: outboxTable });
    await relayOutbox({ outbox, leases: storeLeases(memoryStore()), deliver: (message) => void got.push(message) });
    return got;
  };
  const order = async (id: string): Promise<boolean> =>
    (await client.send(new GetItemCommand({ TableName: 'orders', Key: { id: { S: id } }, ConsistentRead: true }))).Item !== undefined;
  const putOrder = (id: string, more: object = {}): TransactWriteItem => ({ Put: { TableName: 'orders', Item: { id: { S: id } }, ...more } });
  const take = (id: string, items: TransactWriteItem[], messages: readonly OutboxMessage[] = [{ topic: 'orders/taken', payload: { id }, key: id }]) =>
    runOnce({ store: records(), operation: 'orders/take', key: [outboxTable, id] }, async (run) => {
      const ids = messages.map((message) => run.outbox.add(message));
      await commitWith(run, ids, items);
      return ids;
    });

  it('S8 I1 the message, the business item and the record stand together, once, or not at all', async () => {
    const failing = take('a', [putOrder('a', { ConditionExpression: 'attribute_exists(id)' })]);
    await expect(failing).rejects.toMatchObject({ name: 'TransactionCanceledException' });
    expect([await order('a'), await delivered()]).toEqual([false, []]);
    const ids = await take('a', [putOrder('a')]);
    expect(await take('a', [putOrder('a')])).toEqual(ids);
    expect(await order('a')).toBe(true);
    expect((await delivered()).map(({ id }) => id)).toEqual(ids);
    expect(await delivered()).toEqual([]);
  });

  it('S8 what was committed before a crash is found by the next relay', async () => {
    const ids = await take('crash', [putOrder('crash')]);
    // Whoever committed it is gone; a relay of another process, with clients of its own, knows nothing but the table.
    const outbox = dynamodbOutbox({ client: emulator.client(), tableName: outboxTable });
    const got: string[] = [];
    await relayOutbox({ outbox, leases: storeLeases(memoryStore()), deliver: ({ id }) => void got.push(id) });
    expect(got).toEqual(ids);
  });

  it('I2 messages of one key lie in the order of their commits, however wrong the clocks of those who write them', async () => {
    const clocks = [0, -3_600_000, 0, 5_000, -5_000, 86_400_000, 0];
    for (const [n, offMs] of clocks.entries()) {
      await dynamodbWriter(client, outboxTable, () => 1_900_000_000_000 + offMs)([pending(`w${n}`, 'k', n), pending(`o${n}`, `other ${n}`, n, 1)]);
    }
    const got = (await delivered()).filter(({ key }) => key === 'k').map(({ payload }) => payload);
    expect(got).toEqual(clocks.map((_, n) => n));
  });

  it('I2 thirty at once on one key all get through, in one order', async () => {
    const one = Array.from({ length: 30 }, (_, n) => take(`many ${n}`, [], [{ topic: 't', key: 'busy', payload: n }]));
    // Each that gives up had no luck ten times in a row, and wrote nothing.
    const ended = await Promise.allSettled(one);
    const got = (await delivered()).map(({ payload }) => payload);
    expect(got).toHaveLength(ended.filter(({ status }) => status === 'fulfilled').length);
    expect(new Set(got).size).toBe(got.length);
    for (const end of ended) if (end.status === 'rejected') expect(end.reason).toMatchObject({ code: 'STORE_UNAVAILABLE' });
  });

  it('a failure of a condition of the caller is told as such, also where the key moved on in between', async () => {
    await dynamodbWriter(client, outboxTable, () => Date.now() + 3_600_000)([pending('ahead', 'shared')]);
    const messages = [{ topic: 't', key: 'shared', payload: 1 }];
    const failing = take('b', [putOrder('b', { ConditionExpression: 'attribute_exists(id)' })], messages);
    await expect(failing).rejects.toMatchObject({ CancellationReasons: [{ Code: 'ConditionalCheckFailed' }, {}, {}, {}] });
    expect(await order('b')).toBe(false);
    await take('b', [putOrder('b')], messages);
    expect((await delivered()).map(({ payload }) => payload)).toEqual([{ id: 'ahead' }, 1]);
  });

  it('refuses what does not fit, and what has no place, before anything is written', async () => {
    const many = Array.from({ length: 50 }, (_, n) => ({ topic: 't', key: `${n}`, payload: n }));
    await expect(take('many', [], many)).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
    await expect(take('large', [], [{ topic: 't', payload: 'x'.repeat(400_000) }])).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
    expect(() =>
      outboxWrite([pending('l', 'k', 'x'.repeat(300_000)), pending('m', 'k', 'y'.repeat(300_000), 1)], { tableName: 'x', nowMs: Date.now }),
    ).toThrow('one run and key');
    const none = runOnce({ store: dynamodbStore({ client, tableName: 'records' }), operation: 'orders/take', key: 'none' }, async (run) => {
      run.outbox.add({ topic: 't', payload: 1 });
      await commitWith(run, null, []);
    });
    await expect(none).rejects.toMatchObject({ code: 'INVALID_OPTIONS', message: expect.stringContaining('outboxTable') });
    expect(await delivered()).toEqual([]);
    expect(await take('fits', [], many.slice(0, 49))).toHaveLength(49);
    expect(await delivered()).toHaveLength(49);
  });

  it('the last stamp of a key is cleaned up by the service some day, a message never', async () => {
    await dynamodbWriter(client, outboxTable)([pending('x', 'k'), pending('y')]);
    const { Items = [] } = await client.send(new ScanCommand({ TableName: outboxTable, ConsistentRead: true }));
    expect(Items.filter((item) => item.expiresAtS !== undefined).map(({ sk }) => sk?.S)).toEqual(['head']);
  });

  it('says what to do where the table is missing or of another shape, and refuses nonsense', async () => {
    const relay = (tableName: string) =>
      relayOutbox({ outbox: dynamodbOutbox({ client, tableName }), leases: storeLeases(memoryStore()), deliver: () => {} });
    await expect(relay('missing')).rejects.toMatchObject({ code: 'STORE_MISCONFIGURED', message: expect.stringContaining('setUp()') });
    await expect(relay('orders')).rejects.toMatchObject({ code: 'STORE_MISCONFIGURED', message: expect.stringContaining('sort key "sk"') });
    await expect(dynamodbOutbox({ client, tableName: 'orders' }).setUp()).rejects.toMatchObject({ code: 'STORE_MISCONFIGURED' });
    await dynamodbOutbox({ client, tableName: outboxTable }).setUp();
    for (const options of [{}, { tableName: '' }, { tableName: 'x', client: 1 }, { tableName: 'x', shards: 2 }, undefined]) {
      expect(() => dynamodbOutbox(options as never)).toThrow('dynamodbOutbox');
    }
  });
});
