import type { MSKEvent, SelfManagedKafkaEvent } from 'aws-lambda';
import { describe, expect, expectTypeOf, it } from 'vitest';
import { type EachOptions, idempotentEach, type KafkaBatchResponse, type KafkaRecord, keys } from '../../src/adapters/aws-lambda/index.ts';
import { PermanentError } from '../../src/core/errors.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';
import { gate, lambdaContext } from '../support/aws-events.ts';
import { kafkaEvent } from '../support/aws-source-events.ts';

const bodyOf = ({ value }: KafkaRecord): string => Buffer.from(value, 'base64').toString();
const options = (more: Partial<EachOptions<KafkaRecord>> = {}): EachOptions<KafkaRecord> => ({
  store: memoryStore(),
  operation: 'orders/index',
  key: bodyOf,
  onItemFailed: () => {},
  ...more,
});
const context = lambdaContext();

/** `1:a` is a record of partition 1; offsets are places in the batch. */
const msk = (...records: readonly string[]) => kafkaEvent(...records.map((body) => ({ body, partition: Number(body.split(':')[0]) })));
const selfManaged = (...records: readonly string[]): SelfManagedKafkaEvent => {
  const { eventSourceArn: _, ...event } = msk(...records);
  return { ...event, eventSource: 'SelfManagedKafka' };
};
const reported = (...places: readonly (readonly [partition: number, offset: number])[]): KafkaBatchResponse => ({
  batchItemFailures: places.map(([partition, offset]) => ({ itemIdentifier: { partition: `orders-${partition}`, offset } })),
});

describe.each([
  { name: 'MSK', event: msk },
  { name: 'self-managed Kafka', event: selfManaged },
])('$name', ({ event }) => {
  const batch = event('0:a', '1:b', '0:c', '1:d', '0:e');

  it.each([
    { broken: [], tried: ['0:a', '0:c', '0:e', '1:b', '1:d'], answer: reported() },
    { broken: ['0:a'], tried: ['0:a', '1:b', '1:d'], answer: reported([0, 1], [0, 3], [0, 5]) },
    { broken: ['0:c'], tried: ['0:a', '0:c', '1:b', '1:d'], answer: reported([0, 3], [0, 5]) },
    { broken: ['1:d'], tried: ['0:a', '0:c', '0:e', '1:b', '1:d'], answer: reported([1, 4]) },
    { broken: ['0:e', '1:b'], tried: ['0:a', '0:c', '0:e', '1:b'], answer: reported([0, 5], [1, 2], [1, 4]) },
  ])('I1 $broken fail: the rest of the partition is reported untried, other partitions go on', async ({ broken, tried, answer }) => {
    for (const concurrency of [undefined, 1]) {
      const seen: string[] = [];
      const consume = idempotentEach(options(concurrency === undefined ? {} : { concurrency }), async (record) => {
        seen.push(bodyOf(record));
        await new Promise(setImmediate);
        if ((broken as string[]).includes(bodyOf(record))) throw new Error('no');
      });
      expect(await consume(batch, context)).toEqual(answer);
      expect(seen.toSorted()).toEqual(tried);
      for (const partition of '01')
        expect(seen.filter((body) => body.startsWith(partition))).toEqual(tried.filter((body) => body.startsWith(partition)));
    }
  });

  it('I1 a batch that comes back costs only what was not done', async () => {
    const done: string[] = [];
    let broken = true;
    const consume = idempotentEach(options(), (record) => {
      if (broken && bodyOf(record) === '0:c') throw new Error('no');
      done.push(bodyOf(record));
    });
    await consume(batch, context);
    broken = false;
    for (let delivery = 0; delivery < 2; delivery++) expect(await consume(batch, context)).toEqual(reported());
    expect(done.toSorted()).toEqual(['0:a', '0:c', '0:e', '1:b', '1:d']);
  });

  it('I6 a duplicate in flight elsewhere holds its partition up', async () => {
    const inside = gate();
    const go = gate();
    const consume = idempotentEach(options(), async (record) => {
      if (bodyOf(record) !== '0:a') return;
      inside.open();
      await go.opened;
    });
    const first = consume(event('0:a'), context);
    await inside.opened;
    expect(await consume(batch, context)).toEqual(reported([0, 1], [0, 3], [0, 5]));
    go.open();
    expect(await first).toEqual(reported());
    expect(await consume(batch, context)).toEqual(reported());
  });

  it('I3 a PermanentError is remembered, and reported each time', async () => {
    let runs = 0;
    const consume = idempotentEach(options(), () => {
      runs += 1;
      throw new PermanentError('no such order');
    });
    for (let delivery = 0; delivery < 3; delivery++) expect(await consume(event('2:a'), context)).toEqual(reported([2, 1]));
    expect(runs).toBe(1);
  });

  it('I1 the same key in two partitions runs once, and both are done', async () => {
    let runs = 0;
    const consume = idempotentEach(options({ key: () => 'k' }), async () => {
      runs += 1;
      await new Promise(setImmediate);
    });
    expect(await consume(batch, context)).toEqual(reported());
    expect(runs).toBe(1);
  });

  it('I12 near the time limit nothing more is begun, and the rest of each partition is reported', async () => {
    let leftMs = 30_000;
    const consume = idempotentEach(options({ concurrency: 2, deadlineMarginMs: 2_000 }), async () => {
      await new Promise(setImmediate);
      leftMs -= 15_000;
    });
    const timed = lambdaContext(() => leftMs);
    expect(await consume(batch, timed)).toEqual(reported([0, 5], [1, 4]));
  });
});

describe('what Kafka must not be told', () => {
  const failing = idempotentEach(options(), () => Promise.reject(new Error('no')));

  it.each([
    { what: 'an offset beyond 2^53', spoil: (json: string) => json.replace('"offset":1', '"offset":9007199254740993') },
    { what: 'an offset that is no number', spoil: (json: string) => json.replace('"offset":1', '"offset":"1"') },
    { what: 'no offset', spoil: (json: string) => json.replace('"offset":1,', '') },
    { what: 'no partition', spoil: (json: string) => json.replace('"orders-0":', '"":') },
  ])('$what: it is never reported, the whole batch comes back', async ({ spoil }) => {
    const bad = JSON.parse(spoil(JSON.stringify(msk('0:a')))) as MSKEvent;
    await expect(failing(bad, context)).rejects.toMatchObject({ code: 'INVALID_OPTIONS', message: /exact partition and offset/ });
  });

  it('an event whose records are not there is refused whole; one without any is done', async () => {
    for (const records of [undefined, null, [], 'x', { 'orders-0': 'x' }, { 'orders-0': [undefined] }]) {
      await expect(failing({ ...msk(), records } as never, context)).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
    }
    expect(await failing(msk(), context)).toEqual(reported());
  });

  it('the record is that of the key', () => {
    const consume = idempotentEach({ store: memoryStore(), operation: 'orders/index', key: keys.kafkaOffset }, (record) => {
      expectTypeOf(record).toEqualTypeOf<KafkaRecord>();
    });
    expectTypeOf(consume).parameter(0).toEqualTypeOf<MSKEvent | SelfManagedKafkaEvent>();
    expectTypeOf(consume).returns.resolves.toEqualTypeOf<KafkaBatchResponse>();
  });
});
