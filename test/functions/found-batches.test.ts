/**
 * What was found by attacking the batch wrappers: each of these lost a message, or acknowledged one that was not done.
 *
 * @module
 */
import type { KinesisStreamRecord, SQSRecord } from 'aws-lambda';
import { describe, expect, it } from 'vitest';
import { type EachOptions, idempotent, idempotentEach, type KafkaRecord } from '../../src/adapters/aws-lambda/index.ts';
import * as azure from '../../src/adapters/azure-functions/index.ts';
import { guardFrom } from '../../src/core/guard.ts';
import { runGuarded } from '../../src/core/run-once.ts';
import { memoryStore, runOnce } from '../../src/index.ts';
import { virtualClock } from '../../src/testing/index.ts';
import { gate, lambdaContext, sqsEvent } from '../support/aws-events.ts';
import { kafkaEvent, kinesisEvent } from '../support/aws-source-events.ts';

const options = (more: Partial<EachOptions> = {}): EachOptions => ({
  store: memoryStore(),
  operation: 'orders/take',
  key: (record: SQSRecord) => record.messageId,
  onItemFailed: () => {},
  ...more,
});
const orders = (...ids: readonly string[]) => sqsEvent(...ids.map((id) => ({ body: { id } })));
const failures = (...ids: readonly unknown[]) => ({ batchItemFailures: ids.map((itemIdentifier) => ({ itemIdentifier })) });
const context = lambdaContext();
class Status {
  readonly state = 'done';
}

describe('a message', () => {
  it('I3 I8 is not acknowledged because onUnknown met another record that was done and not stored', async () => {
    const store = memoryStore();
    const lookUp = { store, operation: 'payments/look-up', key: 'm1' };
    await runOnce(lookUp, () => new Status() as never);
    let runs = 0;
    const consume = idempotentEach(
      options({
        store,
        onThrow: () => 'unknown',
        onUnknown: async () => ((await runOnce(lookUp, () => new Status() as never)) ? { done: undefined } : 'not-done'),
      }),
      () => {
        runs += 1;
        throw new Error('time-out');
      },
    );
    expect(await consume(orders('a'), context)).toEqual(failures('m1'));
    expect(await consume(orders('a'), context)).toEqual(failures('m1'));
    expect(runs).toBe(1);
  });

  it('I3 is reported by the name it came with, whatever its handler writes over the record', async () => {
    const consume = idempotentEach(options(), (record) => {
      Object.assign(record, { messageId: 'm1' });
      throw new Error('no stock');
    });
    expect(await consume(orders('a', 'b'), context)).toEqual(failures('m1', 'm2'));

    const project = idempotentEach<KinesisStreamRecord>(
      { ...options(), key: (record: KinesisStreamRecord) => record.kinesis.sequenceNumber } as never,
      (record) => {
        Object.assign(record.kinesis, { sequenceNumber: '999' });
        throw new Error('no');
      },
    );
    const event = kinesisEvent({ body: 1 }, { body: 2 });
    const first = event.Records[0]?.kinesis.sequenceNumber;
    expect(await project(event, context)).toEqual(failures(first));

    const audit = idempotentEach<KafkaRecord>({ ...options(), key: (record: KafkaRecord) => record.offset } as never, (record) => {
      Object.assign(record, { offset: `${record.topic}/${record.offset}`, topic: 'other' });
      throw new Error('no');
    });
    const batch = kafkaEvent({ body: 1 });
    const [partition = '', [standing] = []] = Object.entries(batch.records)[0] ?? [];
    const { offset } = standing as KafkaRecord;
    expect(await audit(batch, context)).toEqual(failures({ partition, offset }));
  });

  it.each(['at once', 'later'])('I1 has a key of its own, though the function that finds keys uses one array again (%s)', async (when) => {
    const parts: string[] = [];
    const done: string[] = [];
    const keyOf = (record: SQSRecord): string[] => {
      parts[0] = record.messageId;
      return parts;
    };
    const key = when === 'at once' ? keyOf : (record: SQSRecord) => Promise.resolve([...keyOf(record)]);
    const consume = idempotentEach(options({ key }), ({ messageId }) => void done.push(messageId));
    expect(await consume(orders('a', 'b', 'c'), context)).toEqual(failures());
    expect(done).toEqual(['m1', 'm2', 'm3']);
  });

  it('I1 I9 the same of single events, at once in one process, and of what is compared', async () => {
    const parts: string[] = [];
    const input: { amount?: number } = {};
    const pay = idempotent(
      {
        store: memoryStore(),
        operation: 'payments/charge',
        key: (event: { id: string; amount: number }) => {
          parts[0] = event.id;
          return parts;
        },
        input: (event) => {
          input.amount = event.amount;
          return input;
        },
      },
      async (event) => `receipt of ${event.id}`,
    );
    const calls = [pay({ id: 'A', amount: 1 }, context), pay({ id: 'B', amount: 2 }, context)];
    expect(await Promise.all(calls)).toEqual(['receipt of A', 'receipt of B']);
    expect(await pay({ id: 'A', amount: 1 }, context)).toBe('receipt of A');
    await expect(pay({ id: 'A', amount: 2 }, context)).rejects.toMatchObject({ code: 'KEY_REUSED' });
  });

  it('I1 the same in Azure, where invocations share a process', async () => {
    const parts: string[] = [];
    const queue = {
      options: { trigger: { type: 'queueTrigger', name: 'q' }, extraOutputs: [], return: {} },
      functionName: 'f',
      invocationId: 'i',
    } as never;
    const take = azure.idempotent(
      {
        store: memoryStore(),
        operation: 'orders/take',
        key: (order: string) => {
          parts[0] = order;
          return parts;
        },
      },
      async (order) => `took ${order}`,
    );
    expect(await Promise.all([take('A', queue), take('B', queue)])).toEqual(['took A', 'took B']);
  });
});

describe('near the limit', () => {
  const limited = (ms: number) => {
    const end = Date.now() + ms;
    return lambdaContext(() => end - Date.now());
  };

  it('I10 a key that never comes fails its record alone, and the others are done', async () => {
    const done: string[] = [];
    const key = (record: SQSRecord) => (record.messageId === 'm2' ? new Promise<string>(() => {}) : record.messageId);
    const consume = idempotentEach(options({ key, deadlineMarginMs: 100 }), ({ messageId }) => void done.push(messageId));
    expect(await consume(orders('a', 'b', 'c'), limited(600))).toEqual(failures('m2'));
    expect(done).toEqual(['m1', 'm3']);
  });

  it('I10 a hook that never ends does not take the answer with it', async () => {
    const consume = idempotentEach(options({ onItemFailed: () => new Promise(() => {}), deadlineMarginMs: 100 }), () =>
      Promise.reject(new Error('no')),
    );
    expect(await consume(orders('a'), limited(400))).toEqual(failures('m1'));
  });

  it('I10 a single event whose key never comes ends before Lambda ends it', async () => {
    const pay = idempotent({ store: memoryStore(), operation: 'o', key: () => new Promise<string>(() => {}), deadlineMarginMs: 100 }, () => 1);
    await expect(pay({}, limited(300))).rejects.toMatchObject({ name: 'TimeoutError' });
  });

  it.each([Number.NaN, Number.POSITIVE_INFINITY, 1e12, undefined])(
    'I10 a remaining time that turns into %s is counted on from what was told first',
    async (later) => {
      const store = memoryStore();
      const inside = gate();
      let told = 0;
      const given = lambdaContext(() => (told++ === 0 ? 5_000 : (later as number)));
      const work = idempotent({ store, operation: 'o', key: () => 'k' }, async (_event, _context, run) => {
        inside.open();
        return run.remainingMs();
      });
      const leftMs = await work({}, given);
      expect(leftMs).toBeGreaterThan(3_000);
      expect(leftMs).toBeLessThan(5_000);
      for await (const { record } of store.list({})) expect(record.leaseMs).toBeLessThanOrEqual(6_001);
    },
  );
});

describe('a comparison', () => {
  it('I9 that finds nothing is refused: there would be none', async () => {
    const pay = idempotent({ store: memoryStore(), operation: 'o', key: () => 'k', input: (event: { detail?: number }) => event.detail }, () => 1);
    await expect(pay({}, context)).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
    expect(await pay({ detail: 1 }, context)).toBe(1);
  });
});

describe('a store that does not answer', () => {
  const silent = () => ({ ...memoryStore(), create: () => new Promise<never>(() => {}), read: () => new Promise<never>(() => {}) });

  it('I8 I10 costs no more than ten seconds of a long invocation, and is told by its name', async () => {
    const clock = virtualClock();
    const guard = guardFrom('test', { store: silent(), operation: 'o', leaseMs: 900_000, renew: 'none' });
    const startedAt = clock.nowMs();
    let failure: unknown;
    const running = runGuarded(guard, { key: 'k' }, () => 1, clock).catch((error: unknown) => {
      failure = error;
    });
    while (failure === undefined && clock.nowMs() - startedAt < 900_000) await clock.advance(500);
    await running;
    expect(failure).toMatchObject({ name: 'RerunSafe.WRITE_UNKNOWN' });
    expect(clock.nowMs() - startedAt).toBeLessThan(30_000);
    expect(clock.pendingTimers()).toBe(0);
  });

  it.each(['idempotent', 'idempotentEach'])('I8 %s says so too when its time is over first, and that nothing was run', async (kind) => {
    const end = Date.now() + 400;
    const given = lambdaContext(() => end - Date.now());
    const errors: unknown[] = [];
    const options = { store: silent(), operation: 'o', deadlineMarginMs: 150 };
    if (kind === 'idempotent') await idempotent({ ...options, key: () => 'k' }, () => 1)({}, given).catch((error) => errors.push(error));
    else
      await idempotentEach({ ...options, key: (record) => record.messageId, onItemFailed: (error) => errors.push(error) }, () => {})(
        orders('a'),
        given,
      );
    expect(errors).toEqual([expect.objectContaining({ code: 'WRITE_UNKNOWN', retryable: true })]);
  });
});

describe('the wrong wrapper', () => {
  it('I1 a batch is no single event: the key of its first record would hide the others', async () => {
    let runs = 0;
    const one = idempotent(
      { store: memoryStore(), operation: 'o', key: (event: { Records: SQSRecord[] }) => event.Records[0]?.messageId },
      () => ++runs,
    );
    await expect(one(orders('a', 'b'), context)).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
    expect([await one(orders('a'), context), runs]).toEqual([1, 1]);
  });

  it('I3 what another wrapper with the same operation has done is not taken for done here', async () => {
    const store = memoryStore();
    await idempotent({ store, operation: 'orders/take', key: () => 'm1' }, () => 'first')({}, context);
    const errors: unknown[] = [];
    const consume = idempotentEach(options({ store, onItemFailed: (error) => errors.push(error) }), () => {});
    expect(await consume(orders('a'), context)).toEqual(failures('m1'));
    expect(errors).toEqual([expect.objectContaining({ code: 'STORE_MISCONFIGURED' })]);
  });
});
