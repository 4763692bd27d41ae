import { describe, expect, expectTypeOf, it, vi } from 'vitest';
import {
  type ActiveMqEvent,
  type ActiveMqMessage,
  type EachOptions,
  ItemsFailedError,
  idempotentEach,
  keys,
  type RabbitMqEvent,
  type RabbitMqMessage,
} from '../../src/adapters/aws-lambda/index.ts';
import { PermanentError } from '../../src/core/errors.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';
import { gate, lambdaContext } from '../support/aws-events.ts';
import { activeMqEvent, rabbitMqEvent } from '../support/aws-source-events.ts';

type Message = ActiveMqMessage | RabbitMqMessage;

const bodyOf = ({ data }: Message): string => Buffer.from(data, 'base64').toString();
const options = (more: Partial<EachOptions<Message>> = {}): EachOptions<Message> => ({
  store: memoryStore(),
  operation: 'orders/take',
  key: bodyOf,
  onItemFailed: () => {},
  ...more,
});
const context = lambdaContext();

/** What the consumer threw. */
const thrownBy = (batch: Promise<unknown>): Promise<unknown> =>
  batch.then(
    () => expect.fail('it did not throw'),
    (error: unknown) => error,
  );

describe.each([
  { name: 'ActiveMQ', event: (...bodies: readonly string[]): ActiveMqEvent | RabbitMqEvent => activeMqEvent(bodies) },
  { name: 'RabbitMQ', event: (...bodies: readonly string[]): ActiveMqEvent | RabbitMqEvent => rabbitMqEvent(bodies) },
])('$name', ({ event }) => {
  it('I1 all are tried, one error names what was not done, and the batch that comes back costs only that', async () => {
    const done: string[] = [];
    const failure = new Error('not yet');
    let broken = true;
    const consume = idempotentEach(options(), async (message) => {
      if (broken && 'bd'.includes(bodyOf(message))) throw failure;
      done.push(bodyOf(message));
    });
    const thrown = (await thrownBy(consume(event('a', 'b', 'c', 'd'), context))) as ItemsFailedError;
    expect(thrown).toBeInstanceOf(ItemsFailedError);
    expect(thrown).toMatchObject({
      message: 'orders/take: 2 of 4 items failed (index 1, 3), the first with: not yet',
      failures: [
        { index: 1, error: failure },
        { index: 3, error: failure },
      ],
      untried: [],
    });
    broken = false;
    for (let delivery = 0; delivery < 2; delivery++) expect(await consume(event('a', 'b', 'c', 'd'), context)).toBeUndefined();
    expect(done).toEqual(['a', 'c', 'b', 'd']);
  });

  it('I6 a duplicate in flight elsewhere is not done: the batch comes back', async () => {
    const inside = gate();
    const go = gate();
    let runs = 0;
    const consume = idempotentEach(options(), async () => {
      runs += 1;
      inside.open();
      await go.opened;
    });
    const first = consume(event('a'), context);
    await inside.opened;
    expect(await thrownBy(consume(event('a'), context))).toMatchObject({ failures: [{ index: 0, error: { code: 'IN_FLIGHT' } }] });
    go.open();
    expect(await first).toBeUndefined();
    expect(await consume(event('a', 'a'), context)).toBeUndefined();
    expect(runs).toBe(1);
  });

  it('I3 a PermanentError is remembered, and brings the batch back each time', async () => {
    let runs = 0;
    const consume = idempotentEach(options(), () => {
      runs += 1;
      throw new PermanentError('no such order');
    });
    for (let delivery = 0; delivery < 3; delivery++) {
      expect(await thrownBy(consume(event('a'), context))).toMatchObject({ errors: [{ message: 'no such order' }] });
    }
    expect(runs).toBe(1);
  });

  it('I12 near the time limit nothing more is begun, and the error says what was not', async () => {
    let leftMs = 30_000;
    const consume = idempotentEach(options({ concurrency: 1, deadlineMarginMs: 2_000 }), () => {
      leftMs -= 15_000;
    });
    const timed = lambdaContext(() => leftMs);
    expect(await thrownBy(consume(event('a', 'b', 'c', 'd'), timed))).toMatchObject({
      message: 'orders/take: not tried: index 2, 3',
      failures: [],
      untried: [2, 3],
    });
  });

  it('I1 the same key twice in a batch runs once; a message without a key fails alone', async () => {
    const done: string[] = [];
    const consume = idempotentEach(options(), async (message) => {
      await new Promise(setImmediate);
      done.push(bodyOf(message));
    });
    expect(await thrownBy(consume(event('a', '', 'a', 'b'), context))).toMatchObject({ failures: [{ index: 1, error: { code: 'MISSING_KEY' } }] });
    expect(done.toSorted()).toEqual(['a', 'b']);
  });
});

describe('who hears of messages that failed', () => {
  it.each([
    { event: activeMqEvent(['a'], [7]), name: 'ID:b-9bcfa592-1.mq.eu-west-1.amazonaws.com-37557-1234520418293-4:1:1:1:7' },
    { event: rabbitMqEvent(['a'], ['m7']), name: 'm7' },
    { event: rabbitMqEvent(['a'], [null]), name: '(without an id)' },
  ])('by default an entry with the id $name', async ({ event, name }) => {
    const error = vi.spyOn(console, 'error').mockImplementation(() => {});
    const { onItemFailed: _, ...quiet } = options();
    const failure = new Error('no');
    await thrownBy(idempotentEach(quiet, () => Promise.reject(failure))(event, context));
    expect(error.mock.calls).toEqual([[`orders/take: message ${name} failed and is reported to the broker:`, failure]]);
    error.mockRestore();
  });
});

describe('what is no batch', () => {
  it.each([
    undefined,
    null,
    'text',
    [],
    {},
    { eventSource: 'aws:mq' },
    { eventSource: 'aws:mq', messages: {} },
    { eventSource: 'aws:mq', messages: [undefined] },
    { eventSource: 'aws:mq', rmqMessagesByQueue: {} },
    { eventSource: 'aws:rmq' },
    { eventSource: 'aws:rmq', rmqMessagesByQueue: { 'orders::/': 'x' } },
    { eventSource: 'aws:rmq', rmqMessagesByQueue: { 'orders::/': [undefined] } },
    { eventSource: 'aws:docdb', events: [] },
    { eventSource: 'aws:sqs', messages: [] },
    { Records: 'x' },
    { Records: [{ EventSource: 'aws:sns', Sns: {} }] },
    { Records: [{ eventSource: 'aws:s3', s3: {} }] },
    { Records: [{ eventSource: 'aws:mq' }] },
    { Records: [], eventSource: 'aws:kafka' },
  ])('%j is refused, and nothing runs', async (event) => {
    const handle = vi.fn();
    await expect(idempotentEach(options(), handle)(event as never, context)).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
    expect(handle).not.toHaveBeenCalled();
  });

  it('a batch of nothing is done', async () => {
    const consume = idempotentEach(options(), () => {});
    expect(await consume(activeMqEvent([]), context)).toBeUndefined();
    expect(await consume(rabbitMqEvent([]), context)).toBeUndefined();
  });
});

it('the message is that of the key', () => {
  const common = { store: memoryStore(), operation: 'orders/take' };
  const active = idempotentEach({ ...common, key: keys.activeMqMessageId }, (message) => expectTypeOf(message).toEqualTypeOf<ActiveMqMessage>());
  const rabbit = idempotentEach({ ...common, key: keys.rabbitMqMessageId }, (message) => expectTypeOf(message).toEqualTypeOf<RabbitMqMessage>());
  expectTypeOf(active).parameter(0).toEqualTypeOf<ActiveMqEvent>();
  expectTypeOf(rabbit).parameter(0).toEqualTypeOf<RabbitMqEvent>();
  expectTypeOf(rabbit).returns.resolves.toEqualTypeOf<undefined>();
});
