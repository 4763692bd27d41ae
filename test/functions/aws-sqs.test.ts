import type { SQSHandler, SQSRecord } from 'aws-lambda';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type EachOptions, idempotentEach } from '../../src/adapters/aws-lambda/index.ts';
import { PermanentError } from '../../src/core/errors.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';
import { gate, lambdaContext, sqsEvent } from '../support/aws-events.ts';

const orderOf = (record: SQSRecord): string => JSON.parse(record.body).id;
const options = (more: Partial<EachOptions> = {}): EachOptions => ({
  store: memoryStore(),
  operation: 'orders/take',
  key: orderOf,
  onItemFailed: () => {},
  ...more,
});
const orders = (...ids: readonly string[]) => sqsEvent(...ids.map((id) => ({ body: { id } })));
const failures = (...ids: readonly string[]) => ({ batchItemFailures: ids.map((itemIdentifier) => ({ itemIdentifier })) });
const context = lambdaContext();

describe('SQS, a standard queue', () => {
  it('I1 a batch that comes back costs only what was not done', async () => {
    const done: string[] = [];
    let broken = true;
    const consume = idempotentEach(options(), async (record) => {
      if (orderOf(record) === 'b' && broken) throw new Error('not yet');
      done.push(orderOf(record));
      return { big: () => 'what the handler returns is not kept' };
    });
    expect(await consume(orders('a', 'b', 'c'), context)).toEqual(failures('m2'));
    broken = false;
    expect(await consume(orders('a', 'b', 'c'), context)).toEqual(failures());
    expect(await consume(orders('a', 'b', 'c'), context)).toEqual(failures());
    expect(done).toEqual(['a', 'c', 'b']);
  });

  it('I6 a duplicate is never acknowledged while the first is still running', async () => {
    const inside = gate();
    const go = gate();
    let runs = 0;
    const consume = idempotentEach(options(), async () => {
      runs += 1;
      inside.open();
      await go.opened;
    });
    const first = consume(orders('a'), context);
    await inside.opened;
    expect(await consume(orders('a', 'a'), context)).toEqual(failures('m1', 'm2'));
    go.open();
    expect(await first).toEqual(failures());
    expect(await consume(orders('a'), context)).toEqual(failures());
    expect(runs).toBe(1);
  });

  it('I1 the same key twice in one batch runs once, and both are acknowledged', async () => {
    let runs = 0;
    const consume = idempotentEach(options({ concurrency: 8 }), async () => {
      runs += 1;
      await new Promise(setImmediate);
    });
    expect(await consume(orders('a', 'a', 'b', 'a'), context)).toEqual(failures());
    expect(runs).toBe(2);
  });

  it('a record whose key cannot be taken fails alone', async () => {
    const seen: unknown[] = [];
    const consume = idempotentEach(options({ onItemFailed: (error) => seen.push(error) }), () => {});
    const event = sqsEvent({ body: 'no JSON' }, { body: { id: 'a' } }, { body: { id: '' } }, { body: {} });
    expect(await consume(event, context)).toEqual(failures('m1', 'm3', 'm4'));
    expect(seen).toEqual([
      expect.any(SyntaxError),
      expect.objectContaining({ code: 'MISSING_KEY' }),
      expect.objectContaining({ code: 'MISSING_KEY' }),
    ]);
  });

  it('if every record failed, all of them are reported and nothing is thrown', async () => {
    const consume = idempotentEach(options(), () => {
      throw new Error('down');
    });
    expect(await consume(orders('a', 'b'), context)).toEqual(failures('m1', 'm2'));
  });

  it('I3 a PermanentError is remembered, and reported each time until the queue gives up', async () => {
    let runs = 0;
    const seen: unknown[] = [];
    const consume = idempotentEach(options({ onItemFailed: (error) => seen.push(error) }), () => {
      runs += 1;
      throw new PermanentError('no such order', { code: 'unknown_order' });
    });
    for (let delivery = 0; delivery < 3; delivery++) expect(await consume(orders('a'), context)).toEqual(failures('m1'));
    expect(runs).toBe(1);
    expect(seen).toEqual(Array(3).fill(expect.objectContaining({ message: 'no such order', code: 'unknown_order' })));
  });

  it('I3 done with a value that could not be kept is done: acknowledged, and not run again', async () => {
    let runs = 0;
    const store = memoryStore();
    const consume = idempotentEach(options({ store }), async (_record, _context, run) => {
      runs += 1;
      const value = (() => {}) as unknown as undefined;
      await run.commit(value, ({ id, record, version }) => (version === undefined ? store.create(id, record) : store.replace(id, record, version)));
    });
    expect(await consume(orders('a'), context)).toEqual(failures());
    expect(await consume(orders('a'), context)).toEqual(failures());
    expect(runs).toBe(1);
  });

  it('I9 the same key with another input is reported as failed, when asked to look', async () => {
    const seen: unknown[] = [];
    const consume = idempotentEach(options({ input: (record) => record.body, onItemFailed: (error) => seen.push(error) }), () => {});
    expect(await consume(sqsEvent({ body: { id: 'a', n: 1 } }), context)).toEqual(failures());
    expect(await consume(sqsEvent({ body: { id: 'a', n: 2 } }), context)).toEqual(failures('m1'));
    expect(seen).toEqual([expect.objectContaining({ code: 'KEY_REUSED' })]);
  });

  it('works on as many records at once as it is told to, and no more', async () => {
    for (const [concurrency, expected] of [
      [1, 1],
      [3, 3],
      [undefined, 8],
    ] as const) {
      let now = 0;
      let most = 0;
      const consume = idempotentEach(options(concurrency === undefined ? {} : { concurrency }), async () => {
        now += 1;
        most = Math.max(most, now);
        for (let turn = 0; turn < 3; turn++) await new Promise(setImmediate);
        now -= 1;
      });
      expect(await consume(orders(...'abcdefghijkl'), context)).toEqual(failures());
      expect(most).toBe(expected);
    }
  });

  it('a group id of a fair queue promises no order: a failure holds nobody up', async () => {
    const consume = idempotentEach(options(), (record) => {
      if (orderOf(record) === 'a') throw new Error('no');
    });
    const event = sqsEvent({ body: { id: 'a' }, fairGroup: 'g' }, { body: { id: 'b' }, fairGroup: 'g' });
    expect(await consume(event, context)).toEqual(failures('m1'));
  });
});

describe('SQS, a FIFO queue', () => {
  const fifo = (...ids: readonly string[]) => sqsEvent(...ids.map((id) => ({ body: { id }, group: id.slice(0, 1) })));

  it('after a failure the rest of the group is reported untried; other groups go on', async () => {
    const tried: string[] = [];
    const consume = idempotentEach(options(), async (record) => {
      tried.push(orderOf(record));
      if (orderOf(record) === 'a2') throw new Error('no');
      await new Promise(setImmediate);
    });
    expect(await consume(fifo('a1', 'b1', 'a2', 'b2', 'a3', 'c1', 'a4'), context)).toEqual(failures('m3', 'm5', 'm7'));
    expect(tried.toSorted()).toEqual(['a1', 'a2', 'b1', 'b2', 'c1']);
  });

  it('a group is worked on in order, one at a time', async () => {
    const trace: string[] = [];
    const consume = idempotentEach(options(), async (record) => {
      trace.push(`${orderOf(record)} begins`);
      await new Promise(setImmediate);
      trace.push(`${orderOf(record)} ends`);
    });
    await consume(fifo('a1', 'b1', 'a2', 'a3'), context);
    expect(trace.filter((line) => line.startsWith('a'))).toEqual(['a1 begins', 'a1 ends', 'a2 begins', 'a2 ends', 'a3 begins', 'a3 ends']);
  });

  it('I6 a duplicate in flight holds its group up, as does a record without a key', async () => {
    const inside = gate();
    const go = gate();
    const consume = idempotentEach(options(), async (record) => {
      if (orderOf(record) !== 'a1') return;
      inside.open();
      await go.opened;
    });
    const first = consume(fifo('a1'), context);
    await inside.opened;
    expect(await consume(fifo('a1', 'a2', 'b1'), context)).toEqual(failures('m1', 'm2'));
    go.open();
    await first;
    expect(await consume(sqsEvent({ body: 'x', group: 'a' }, { body: { id: 'a2' }, group: 'a' }), context)).toEqual(failures('m1', 'm2'));
  });
});

describe('SQS and the time limit', () => {
  it('I12 near the limit no further record is begun, and the rest is reported', async () => {
    let leftMs = 30_000;
    const begun: string[] = [];
    const consume = idempotentEach(options({ concurrency: 1, deadlineMarginMs: 2_000 }), (record) => {
      begun.push(orderOf(record));
      leftMs -= 15_000;
    });
    expect(
      await consume(
        orders('a', 'b', 'c', 'd'),
        lambdaContext(() => leftMs),
      ),
    ).toEqual(failures('m3', 'm4'));
    expect(begun).toEqual(['a', 'b']);
  });

  it('I6 each record is leased until just after the limit, as it stands when the record is begun', async () => {
    let leftMs = 30_000;
    const leases: number[] = [];
    const store = memoryStore();
    const consume = idempotentEach(options({ store, concurrency: 1 }), async (record) => {
      for await (const { record: row } of store.list({ state: 'running' })) leases.push(row.leaseMs);
      if (orderOf(record) === 'a') leftMs = 10_000;
    });
    await consume(
      orders('a', 'b'),
      lambdaContext(() => leftMs),
    );
    expect(leases).toEqual([31_000, 11_000]);
  });

  it.each([0, -5, Number.NaN])('a remaining time of %d is taken for unknown, not for over', async (leftMs) => {
    const consume = idempotentEach(options(), () => {});
    expect(
      await consume(
        orders('a'),
        lambdaContext(() => leftMs),
      ),
    ).toEqual(failures());
  });
});

describe('what SQS must not be told', () => {
  it('an event from elsewhere is refused whole: an empty answer would acknowledge it', async () => {
    const consume = idempotentEach(options(), () => {});
    const kinesis = { ...orders('a').Records[0], eventSource: 'aws:kinesis' };
    const [sqs] = orders('a').Records;
    for (const event of [undefined, {}, { Records: [kinesis] }, { Records: [sqs, kinesis] }, { Records: [sqs, { ...sqs, eventSource: 'aws:s3' }] }])
      await expect(consume(event as never, context)).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
    expect(await consume({ Records: [] }, context)).toEqual(failures());
  });

  it('an empty identifier is never reported: the whole batch comes back, and costs nothing', async () => {
    let runs = 0;
    const consume = idempotentEach(options(), (record) => {
      if (record.messageId === '') throw new Error('no');
      runs += 1;
    });
    const event = orders('a', 'b');
    const [one, two] = event.Records as [SQSRecord, SQSRecord];
    await expect(consume({ Records: [one, { ...two, messageId: '' }] }, context)).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
    expect(await consume({ Records: [one] }, context)).toEqual(failures());
    expect(runs).toBe(1);
  });
});

describe('who hears of failed records', () => {
  const error = vi.spyOn(console, 'error');
  const warn = vi.spyOn(console, 'warn');
  beforeEach(() => {
    error.mockReset();
    warn.mockReset();
  });
  afterEach(() => vi.clearAllMocks());

  it('by default one entry for each, with the error and without the key', async () => {
    const { onItemFailed: _, ...quiet } = options();
    const failure = Object.assign(new Error('no stock'), { code: 'E_DOWN' });
    const consume = idempotentEach(quiet, () => {
      throw failure;
    });
    await consume(sqsEvent({ body: { id: 'order-77' }, group: 'g' }, { body: { id: 'order-78' }, group: 'g' }), context);
    expect(error.mock.calls).toEqual([['orders/take: message m1 failed and is reported to the queue:', failure]]);
    expect(String(error.mock.calls)).not.toContain('order-7');
    expect(warn.mock.calls).toEqual([['orders/take: 1 of 2 messages were not begun and are reported as failed.']]);
  });

  it('a hook that throws turns no finished record into a failure', async () => {
    const hook = () => {
      throw new Error('hook');
    };
    const consume = idempotentEach(options({ onItemFailed: hook }), (record) => {
      if (orderOf(record) === 'a') throw new Error('no');
    });
    expect(await consume(orders('a', 'b'), context)).toEqual(failures('m1'));
    expect(error).toHaveBeenCalledTimes(1);
  });
});

it('the consumer keeps its name, takes two parameters, and fits the type of the platform', () => {
  const consume: SQSHandler = idempotentEach(options(), async function take() {});
  expect([consume.name, consume.length]).toEqual(['take', 2]);
  expect(() => idempotentEach({ ...options(), concurrency: 0, key: undefined } as never, () => {})).toThrow(/key is missing.*concurrency must be/);
});
