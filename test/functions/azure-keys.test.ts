/**
 * Everything the worker can deliver as trigger metadata, through the library's own conversion: one message, one key, or a refusal.
 */
import { app } from '@azure/functions';
import { describe, expect, it } from 'vitest';
import { keys } from '../../src/adapters/azure-functions/index.ts';
import { collection, host, keyOf, keysOf, longs, metadataOf, refused } from './azure-metadata.ts';

const SB = 'serviceBusTrigger';
const QUEUE = 'queueTrigger';
const TIME = '2026-03-13T01:25:02.25';
const TIME_MS = Date.parse(`${TIME}Z`);

describe('keys of queues', () => {
  it('I1 Storage Queue: the id of the message', async () => {
    const id = '0f8fad5b-d9cb-469f-a165-70867728950e';
    expect(await keyOf(keys.storageQueueMessageId, QUEUE, { Id: id, DequeueCount: 2 })).toEqual([id]);
  });

  it('I1 Service Bus: the message id that the sender chose, of a single message and of each of a batch', async () => {
    expect(await keyOf(keys.serviceBusMessageId, SB, { MessageId: 'm-1', DeliveryCount: 3 })).toEqual(['m-1']);
    const ids = ['a', 'b', 'c'];
    for (const array of [collection(...ids), ids]) {
      expect(await keysOf(keys.serviceBusMessageId, SB, { MessageIdArray: array, SequenceNumberArray: [1, 2, 3] }, ['{}', '{}', '{}'])).toEqual([
        ['a'],
        ['b'],
        ['c'],
      ]);
    }
  });

  it.each([
    ['missing', undefined],
    ['null', null],
    ['empty', ''],
    ['the text null', 'null'],
    ['a boolean', 'true'],
    ['a number', '1000'],
    ['another text for that number', '1e3'],
    ['digits that were rounded', '9007199254740993'],
    ['hex digits that are a number', '12345678901234567890e12345678901'],
    ['an object', '{"a":1}'],
    ['an array', '["a"]'],
    ['bytes', { rpc: { bytes: Buffer.from('a') } }],
  ])('I1 a message id that is %s is refused', async (_what, id) => {
    for (const [builder, type, name] of [
      [keys.serviceBusMessageId, SB, 'MessageId'],
      [keys.storageQueueMessageId, QUEUE, 'Id'],
    ] as const) {
      expect(refused(await keyOf(builder, type, id === undefined ? {} : { [name]: id }))).toMatch(/is missing|is not a text/);
    }
  });

  it('I1 a trigger without metadata is refused', async () => {
    expect(refused(await keyOf(keys.serviceBusMessageId, SB, undefined))).toContain('no metadata');
  });

  it('I1 a property of the body that the host puts in the place of the id is refused, in any case and any JSON', async () => {
    for (const [body, id] of [
      ['{"id":"order-1"}', 'order-1'],
      ['{"ID":7}', '7'],
      ['{"Id":{"a":1}}', '{"a":1}'],
      ["{id:'order-1'}", 'order-1'],
      ["  {'id':'order-1',}", 'order-1'],
    ] as const) {
      expect(refused(await keyOf(keys.storageQueueMessageId, QUEUE, { Id: id }, { string: body }))).toMatch(/body/);
      expect(refused(await keyOf(keys.storageQueueMessageId, QUEUE, { Id: id }, { bytes: Buffer.from(body) }))).toMatch(/body/);
    }
  });

  it.each(['{"id":null}', '{"id":["a"]}', '{"order":{"id":"o"}}', '["{"]', 'text'])(
    'I1 a body that takes no place, %s, is none of its business',
    async (body) => {
      expect(await keyOf(keys.storageQueueMessageId, QUEUE, { Id: 'm-1' }, { string: body })).toEqual(['m-1']);
    },
  );

  it('I1 an array from which the host has left out an empty id is refused for every item: the rest has moved up', async () => {
    const seen = await keysOf(keys.serviceBusMessageId, SB, { MessageIdArray: collection('a', 'c'), SequenceNumberArray: [1, 2, 3] }, [
      '{}',
      '{}',
      '{}',
    ]);
    expect(seen.map(refused).every((why) => why.includes('2 entries for 3 messages'))).toBe(true);
    // Also where no other array is there to tell.
    expect((await keysOf(keys.serviceBusMessageId, SB, { MessageIdArray: collection('a', 'c') }, ['1', '2', '3'])).map(refused)).toHaveLength(3);
    expect((await keysOf(keys.serviceBusMessageId, SB, {}, ['{}'])).map(refused)[0]).toContain('messageIdArray is missing');
    expect((await keysOf(keys.serviceBusMessageId, SB, { MessageIdArray: 'abc' }, ['1', '2', '3'])).map(refused)).toHaveLength(3);
  });

  it('I1 an item of a batch may be an array itself', async () => {
    expect(await keysOf(keys.serviceBusMessageId, SB, { MessageIdArray: ['a', 'b'] }, ['[1]', '[2]'])).toEqual([['a'], ['b']]);
  });

  it('I1 one bad id in a batch is refused alone', async () => {
    const seen = await keysOf(keys.serviceBusMessageId, SB, { MessageIdArray: ['a', null, 3] }, ['{}', '{}', '{}']);
    expect([seen[0], refused(seen[1]), refused(seen[2])]).toEqual([
      ['a'],
      expect.stringContaining('is missing'),
      expect.stringContaining('is not a text'),
    ]);
  });

  it('I1 a whole batch has no key: that of its first message would hide the others', async () => {
    const name = 'whole batch';
    let key: unknown;
    app.serviceBusQueue<unknown[]>(name, {
      queueName: 'q',
      connection: 'c',
      cardinality: 'many',
      handler: (items, context) => {
        try {
          key = keys.serviceBusMessageId(items, context);
        } catch (error) {
          key = error;
        }
      },
    });
    await host.invoke(name, { collectionString: { string: ['{}', '{}'] } }, metadataOf({ MessageIdArray: ['a', 'b'] }));
    expect(refused(key)).toContain('idempotentEach');
  });

  it('I1 an item of a batch, taken out by hand, is held against the other arrays', async () => {
    const name = 'by hand';
    const seen: unknown[] = [];
    app.serviceBusQueue<unknown[]>(name, {
      queueName: 'q',
      connection: 'c',
      cardinality: 'many',
      handler: (items, context) => {
        for (const [index, item] of items.entries()) {
          try {
            seen.push(keys.serviceBusMessageId(item, context, index));
          } catch (error) {
            seen.push(refused(error));
          }
        }
      },
    });
    const bodies = { collectionString: { string: ['{}', '{}'] } };
    await host.invoke(name, bodies, metadataOf({ MessageIdArray: ['a', 'b'], SequenceNumberArray: [1, 2] }));
    await host.invoke(name, bodies, metadataOf({ MessageIdArray: ['b'], SequenceNumberArray: [1, 2] }));
    expect(seen).toEqual([['a'], ['b'], expect.stringContaining('1 entries'), expect.stringContaining('1 entries')]);
  });

  it('I1 numeric message ids, where they were asked for: exact, or refused', async () => {
    const numeric = (id: unknown) => keyOf(keys.serviceBusNumericMessageId, SB, { MessageId: id });
    expect([await numeric('4711'), await numeric('0'), await numeric('007')]).toEqual([['4711'], ['0'], ['007']]);
    for (const id of ['9007199254740993', '1.5', '-1', '1e400', 'm-1', '', 'true', '{}', ' 0x1']) {
      expect(refused(await numeric(id))).toContain('messageId');
    }
  });

  it('I1 sequence numbers: exact in each form of a 64-bit number, refused where they were rounded', async () => {
    const one = (SequenceNumber: unknown) => keyOf(keys.serviceBusSequenceNumber, SB, { SequenceNumber, EnqueuedTimeUtc: TIME });
    expect(await one(12)).toEqual(['12', TIME_MS]);
    expect(await one({ rpc: { int: { low: 3, high: 2097152, unsigned: false } } })).toEqual(['9007199254740995', TIME_MS]);
    for (const number of [{ rpc: { json: '9007199254740993' } }, { rpc: { json: '9007199254740992' } }, 1.5, -1, null, undefined, {}, [], true]) {
      refused(await one(number));
    }
    const metadata = { SequenceNumberArray: longs(4294967295n, 9007199254740993n, 9007199254740995n), EnqueuedTimeUtcArray: [TIME, TIME, TIME] };
    expect(await keysOf(keys.serviceBusSequenceNumber, SB, metadata, ['1', '2', '3'])).toEqual([
      ['4294967295', TIME_MS],
      ['9007199254740993', TIME_MS],
      ['9007199254740995', TIME_MS],
    ]);
  });
});
