import { randomUUID } from 'node:crypto';
import type { SQSRecord } from 'aws-lambda';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { idempotentEach, idempotentHttp, singleton } from '../../src/adapters/aws-lambda/index.ts';
import type { RecordStore } from '../../src/core/ports.ts';
import { storeLeases } from '../../src/core/store-leases.ts';
import { dynamodbStore } from '../../src/stores/dynamodb/index.ts';
import { gate, httpApiEvent, lambdaContext, scheduledEvent, sqsEvent } from '../support/aws-events.ts';
import { type Emulator, javaAvailable, startDynalite, startDynamoDbLocal } from '../support/dynamodb.ts';

const emulators = [
  { name: 'dynalite', start: startDynalite, withOldItem: false },
  ...((await javaAvailable()) ? [{ name: 'DynamoDB Local', start: startDynamoDbLocal, withOldItem: true }] : []),
];
const context = lambdaContext();

describe.each(emulators)('functions in Lambda over $name', ({ start, withOldItem }) => {
  let emulator: Emulator;
  let store: RecordStore;
  let aheadMs = 0;
  let requests = 0;

  beforeAll(async () => {
    emulator = await start();
    const client = emulator.client();
    client.middlewareStack.add(
      (next) => (given) => {
        requests += 1;
        return next(given);
      },
      { step: 'finalizeRequest', name: 'count' },
    );
    store = dynamodbStore({ client, tableName: `functions-${randomUUID()}`, clock: { nowMs: () => Date.now() + aheadMs } });
    await store.setUp?.();
  });
  afterAll(() => emulator?.stop());

  it('I1 I2 I11 an HTTP request: two requests to the table for the first, one for a replay with the same bytes', async () => {
    const bytes = Buffer.from([0xff, 0x00, 0x80, 0x0a]);
    const handler = idempotentHttp({ store, operation: 'http/bytes', scope: 'public' }, async () => ({
      statusCode: 201,
      headers: { 'content-type': 'application/octet-stream' },
      body: bytes.toString('base64'),
      isBase64Encoded: true,
    }));
    const event = httpApiEvent({ headers: { 'Idempotency-Key': randomUUID() }, body: 'x' });
    requests = 0;
    const first = await handler(event, context);
    expect(requests).toBe(2);
    const again = await handler(event, context);
    // dynalite does not hand over the standing item with a refusal, so it is read.
    expect(requests).toBe(withOldItem ? 3 : 4);
    expect(again).toEqual({ ...first, headers: { 'content-type': 'application/octet-stream', 'Idempotent-Replayed': 'true' } });
  });

  it('I6 a batch whose invocation was killed comes back: the done is not done again, the cut is run after its lease', async () => {
    const done: string[] = [];
    const cut = gate();
    let killed = true;
    const idOf = (record: SQSRecord): string => JSON.parse(record.body).id;
    const consume = idempotentEach({ store, operation: 'orders/take', key: idOf, concurrency: 1, onItemFailed: () => {} }, async (record) => {
      if (killed && idOf(record) === 'b') {
        cut.open();
        // What a time-out of Lambda leaves behind: work that never returns.
        await new Promise(() => {});
      }
      done.push(idOf(record));
    });
    const event = sqsEvent({ body: { id: 'a' } }, { body: { id: 'b' } }, { body: { id: 'c' } });
    const endsAt = Date.now() + 3_000;
    void consume(
      event,
      lambdaContext(() => endsAt - Date.now()),
    );
    await cut.opened;
    killed = false;

    expect(await consume(event, context)).toEqual({ batchItemFailures: [{ itemIdentifier: 'm2' }] });
    // What was left, the second on top, and the difference that two clocks may have.
    aheadMs += 3_000 + 1_000 + 2_000;
    expect(await consume(event, context)).toEqual({ batchItemFailures: [] });
    expect(done).toEqual(['a', 'c', 'b']);
  });

  it('I1 of ten deliveries at once of one scheduled moment, one runs', async () => {
    let runs = 0;
    const job = singleton({ leases: storeLeases(store), name: 'reports/nightly', onSkipped: () => {} }, async () => ++runs);
    const results = await Promise.all(Array.from({ length: 10 }, () => job(scheduledEvent(), lambdaContext())));
    expect(results.filter((result) => result !== undefined)).toEqual([1]);
    expect(await job(scheduledEvent(), context)).toBeUndefined();
    expect(runs).toBe(1);
  });
});
