import type { DynamoDBRecord, DynamoDBStreamHandler, KinesisStreamHandler, KinesisStreamRecord } from 'aws-lambda';
import { afterEach, beforeEach, describe, expect, expectTypeOf, it, vi } from 'vitest';
import { type EachOptions, idempotentEach, keys } from '../../src/adapters/aws-lambda/index.ts';
import { PermanentError } from '../../src/core/errors.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';
import { gate, lambdaContext, sqsEvent } from '../support/aws-events.ts';
import { dynamodbNumber, dynamodbStreamEvent, kinesisEvent, kinesisNumber, type StreamParts } from '../support/aws-source-events.ts';

type StreamRecord = KinesisStreamRecord | DynamoDBRecord;

const bodyOf = (record: StreamRecord): string =>
  'kinesis' in record ? Buffer.from(record.kinesis.data, 'base64').toString() : (record.dynamodb?.NewImage?.body?.S ?? '');
const context = lambdaContext();

const STREAMS = [
  { name: 'Kinesis', event: kinesisEvent, number: kinesisNumber },
  { name: 'DynamoDB streams', event: dynamodbStreamEvent, number: dynamodbNumber },
] as const;

describe.each(STREAMS)('$name', ({ event, number }) => {
  const options = (more: Partial<EachOptions<StreamRecord>> = {}): EachOptions<StreamRecord> => ({
    store: memoryStore(),
    operation: 'orders/project',
    key: bodyOf,
    onItemFailed: () => {},
    ...more,
  });
  const from = (n: number) => ({ batchItemFailures: [{ itemIdentifier: number(n) }] });
  const allDone = { batchItemFailures: [] };
  /** Records of one partition key or item are named alike: a1, a2. */
  const records = (...bodies: readonly string[]) => event(...bodies.map((body): StreamParts => ({ body, of: body.slice(0, 1) })));
  /** A consumer, and what its handler has seen. */
  const consumer = (broken: (body: string) => boolean, more: Partial<EachOptions<StreamRecord>> = {}) => {
    const tried: string[] = [];
    const consume = idempotentEach(options(more), async (record) => {
      tried.push(bodyOf(record));
      await new Promise(setImmediate);
      if (broken(bodyOf(record))) throw new Error('no');
    });
    return { consume, tried };
  };

  it('I1 everything done: an empty list, now and when the batch comes again', async () => {
    const { consume, tried } = consumer(() => false);
    for (let delivery = 0; delivery < 3; delivery++) expect(await consume(records('a1', 'b1', 'a2'), context)).toEqual(allDone);
    expect(tried).toEqual(['a1', 'b1', 'a2']);
  });

  it('I1 a failure: its number alone is reported, nothing later is tried, and what comes back costs only what was not done', async () => {
    let broken = true;
    const { consume, tried } = consumer((body) => broken && body === 'a2');
    expect(await consume(records('a1', 'b1', 'a2', 'b2', 'c1'), context)).toEqual(from(3));
    expect(tried).toEqual(['a1', 'b1', 'a2']);
    broken = false;
    expect(await consume(records('a1', 'b1', 'a2', 'b2', 'c1'), context)).toEqual(allDone);
    expect(tried.slice(3)).toEqual(['a2', 'b2', 'c1']);
  });

  it.each([
    { broken: ['a1'], tried: ['a1', 'b1', 'b2', 'c1'], answer: 1 },
    { broken: ['b1'], tried: ['a1', 'b1', 'a2', 'a3', 'c1'], answer: 2 },
    { broken: ['b2', 'a3'], tried: ['a1', 'b1', 'a2', 'b2', 'a3', 'c1'], answer: 4 },
    { broken: ['c1'], tried: ['a1', 'b1', 'a2', 'b2', 'a3', 'c1'], answer: 6 },
  ])(
    'I1 side by side, $broken fail: order is kept of what belongs together, others go on, the first is reported',
    async ({ broken, tried, answer }) => {
      const stream = consumer((body) => broken.includes(body), { concurrency: 2 });
      expect(await stream.consume(records('a1', 'b1', 'a2', 'b2', 'a3', 'c1'), context)).toEqual(from(answer));
      expect(stream.tried.toSorted()).toEqual(tried.toSorted());
      for (const lane of 'abc') expect(stream.tried.filter((body) => body.startsWith(lane))).toEqual(tried.filter((body) => body.startsWith(lane)));
    },
  );

  it('I6 a duplicate in flight elsewhere is the first failure in order, never skipped', async () => {
    const inside = gate();
    const go = gate();
    const tried: string[] = [];
    const consume = idempotentEach(options(), async (record) => {
      tried.push(bodyOf(record));
      if (bodyOf(record) !== 'a2') return;
      inside.open();
      await go.opened;
    });
    const first = consume(records('a1', 'a2', 'a3'), context);
    await inside.opened;
    expect(await consume(records('a1', 'a2', 'a3'), context)).toEqual(from(2));
    go.open();
    expect(await first).toEqual(allDone);
    expect(await consume(records('a1', 'a2', 'a3'), context)).toEqual(allDone);
    expect(tried).toEqual(['a1', 'a2', 'a3']);
  });

  it('I1 the same key twice in a batch runs once, also side by side under two partition keys', async () => {
    for (const concurrency of [1, 4]) {
      const { consume, tried } = consumer(() => false, { concurrency });
      const batch = event({ body: 'x', of: 'p' }, { body: 'x', of: 'q' }, { body: 'y', of: 'q' });
      expect(await consume(batch, context)).toEqual(allDone);
      expect(tried).toEqual(['x', 'y']);
    }
  });

  it('I12 near the time limit nothing more is begun, and the first that was not is reported', async () => {
    let leftMs = 30_000;
    const tried: string[] = [];
    const consume = idempotentEach(options({ deadlineMarginMs: 2_000 }), (record) => {
      tried.push(bodyOf(record));
      leftMs -= 15_000;
    });
    const timed = lambdaContext(() => leftMs);
    expect(await consume(records('a1', 'b1', 'c1', 'd1'), timed)).toEqual(from(3));
    expect(tried).toEqual(['a1', 'b1']);
  });

  it('I3 a PermanentError is remembered, and holds the shard up each time until Lambda gives up', async () => {
    let runs = 0;
    const seen: unknown[] = [];
    const consume = idempotentEach(options({ onItemFailed: (error) => seen.push(error) }), () => {
      runs += 1;
      throw new PermanentError('no such order');
    });
    for (let delivery = 0; delivery < 3; delivery++) expect(await consume(records('a1', 'a2'), context)).toEqual(from(1));
    expect(runs).toBe(1);
    expect(seen).toEqual(Array(3).fill(expect.objectContaining({ message: 'no such order' })));
  });

  it('a record whose key cannot be taken is a failure in order', async () => {
    const { consume, tried } = consumer(() => false);
    expect(await consume(records('a1', '', 'a3'), context)).toEqual(from(2));
    expect(tried).toEqual(['a1']);
  });

  it('an empty identifier is never reported: the whole batch comes back, and costs nothing', async () => {
    const { consume, tried } = consumer((body) => body === 'a2');
    const batch = records('a1', 'a2');
    const bad = JSON.parse(JSON.stringify(batch).replace(number(2), '')) as typeof batch;
    await expect(consume(bad, context)).rejects.toMatchObject({ code: 'INVALID_OPTIONS', message: /no sequence number/ });
    expect(await consume(records('a1'), context)).toEqual(allDone);
    expect(tried).toEqual(['a1', 'a2']);
  });

  it('a tumbling window is refused whole, its end too: its state would be lost', async () => {
    const { consume, tried } = consumer(() => false);
    const window = { window: { start: '2025-01-01T00:00:00Z', end: '2025-01-01T00:05:00Z' }, state: {}, isFinalInvokeForWindow: false };
    for (const { Records } of [records('a1'), records()]) {
      await expect(consume({ Records, ...window } as never, context)).rejects.toMatchObject({ code: 'INVALID_OPTIONS', message: /tumbling window/ });
    }
    expect(tried).toEqual([]);
  });

  it('records of several sources, or of one that they only claim, are refused whole', async () => {
    const { consume, tried } = consumer(() => false);
    const [record] = records('a1').Records as StreamRecord[];
    const other = sqsEvent({ body: 'a' }).Records[0];
    for (const Records of [
      [record, other],
      [record, undefined],
      [record, { ...record, kinesis: undefined, dynamodb: undefined }],
      [record, { ...record, eventSource: undefined }],
    ]) {
      await expect(consume({ Records } as never, context)).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
    }
    expect(tried).toEqual([]);
    expect(await consume(records(), context)).toEqual(allDone);
  });
});

describe('who hears of failed records of a stream', () => {
  const error = vi.spyOn(console, 'error');
  const warn = vi.spyOn(console, 'warn');
  beforeEach(() => {
    error.mockReset();
    warn.mockReset();
  });
  afterEach(() => vi.clearAllMocks());

  it('by default one entry for each that was tried, and one for all that were not', async () => {
    const failure = new Error('no');
    const consume = idempotentEach({ store: memoryStore(), operation: 'orders/project', key: keys.kinesisSequenceNumber }, () =>
      Promise.reject(failure),
    );
    await consume(kinesisEvent({ body: 'a' }, { body: 'b' }, { body: 'c' }), context);
    expect(error.mock.calls).toEqual([[`orders/project: record ${kinesisNumber(1)} failed and is reported to the stream:`, failure]]);
    expect(warn.mock.calls).toEqual([['orders/project: 2 of 3 records were not begun and are reported as failed.']]);
  });
});

it('the record is that of the key, and the consumer fits the type of the platform', () => {
  const common = { store: memoryStore(), operation: 'orders/project' };
  const kinesis: KinesisStreamHandler = idempotentEach({ ...common, key: keys.kinesisSequenceNumber }, async function project(record) {
    expectTypeOf(record).toEqualTypeOf<KinesisStreamRecord>();
  });
  const dynamodb: DynamoDBStreamHandler = idempotentEach({ ...common, key: (record: DynamoDBRecord) => record.eventID }, (record) => {
    expectTypeOf(record).toEqualTypeOf<DynamoDBRecord>();
  });
  expect([kinesis.name, kinesis.length, dynamodb.length]).toEqual(['project', 2, 2]);
});
