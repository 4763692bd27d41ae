import { randomUUID } from 'node:crypto';
import { DeleteTableCommand, type DynamoDBClient } from '@aws-sdk/client-dynamodb';
import type { SQSRecord } from 'aws-lambda';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { idempotent, idempotentEach, idempotentHttp, reject } from '../../src/adapters/aws-lambda/index.ts';
import { type RecordStore, resolveRun, runOnce, tryRunOnce } from '../../src/index.ts';
import { dynamodbStore, type PowertoolsRecords, powertoolsRecords } from '../../src/stores/dynamodb/index.ts';
import { gate, httpApiEvent, lambdaContext, sqsEvent } from '../support/aws-events.ts';
import type { Emulator } from '../support/dynamodb.ts';
import { byPowertools, FUNCTION_NAME, powertoolsLayer, powertoolsTable, startDynamoDb } from '../support/powertools.ts';

interface Order {
  readonly orderId: string;
  readonly amount?: number;
}

const context = lambdaContext();
let emulator: Emulator;
let client: DynamoDBClient;
let store: RecordStore;
let table: string;
let earlier: PowertoolsRecords;
let aheadMs = 0;
const hanging: (() => void)[] = [];

beforeAll(async () => {
  vi.spyOn(console, 'warn').mockImplementation(() => {});
  emulator = await startDynamoDb();
  client = emulator.client();
  store = dynamodbStore({ client, tableName: `rerunsafe-${randomUUID()}`, clock: { nowMs: () => Date.now() + aheadMs } });
  await store.setUp?.();
});
beforeEach(async () => {
  aheadMs = 0;
  table = await powertoolsTable(client);
  earlier = powertoolsRecords({ tableName: table, client, functionName: FUNCTION_NAME, clock: { nowMs: () => Date.now() + aheadMs } });
});
afterAll(async () => {
  for (const finish of hanging) finish();
  vi.restoreAllMocks();
  await emulator?.stop();
});

const theirs = <T>(work: (order: Order) => T | Promise<T>, config: Parameters<typeof byPowertools>[2] = {}) =>
  byPowertools(powertoolsLayer({ tableName: table, client }), work, { config: { eventKeyJmesPath: 'orderId', ...config.config } });

/** A call of Powertools that does not end before it is told to. */
async function inProgressThere(order: Order, leftMs = 60_000, config: Parameters<typeof byPowertools>[2] = {}) {
  const go = gate();
  const inside = gate();
  hanging.push(go.open);
  const work = theirs(async () => {
    inside.open();
    await go.opened;
    return `theirs ${order.orderId}`;
  }, config);
  const ended = work(order, leftMs);
  await inside.opened;
  return { ended, go };
}

let runs = 0;
const options = () => ({ store, operation: `charge-${randomUUID()}`, key: (order: Order) => order.orderId });
const ours = (more: object = {}, firstOptions: Parameters<PowertoolsRecords['first']>[2] = {}) => {
  runs = 0;
  return idempotent(
    { ...options(), ...more },
    earlier.first(
      (order: Order) => order.orderId,
      async function charge(order) {
        runs += 1;
        return `ours ${order.orderId}`;
      },
      firstOptions as object,
    ),
  );
};

describe('a handler that looks at the records of Powertools first', () => {
  it('I3 does not run what was finished there, and keeps its value when their record is gone', async () => {
    await theirs((order) => `theirs ${order.orderId}`)({ orderId: 'o1' }, 60_000);
    const charge = ours();
    expect(charge.name).toBe('charge');
    expect(await charge({ orderId: 'o1' }, context)).toBe('theirs o1');
    expect(await charge({ orderId: 'o2' }, context)).toBe('ours o2');
    await client.send(new DeleteTableCommand({ TableName: table }));
    expect(await charge({ orderId: 'o1' }, context)).toBe('theirs o1');
    expect(runs).toBe(1);
  });

  it('I6 runs nothing while Powertools is at it, says so, and takes the value when that is done', async () => {
    const { ended, go } = await inProgressThere({ orderId: 'o1' });
    // A policy that takes any throw for an unknown outcome: this one says that nothing has happened.
    const charge = ours({ onUnknown: 'block' });
    for (let n = 0; n < 3; n++) {
      await expect(charge({ orderId: 'o1' }, context)).rejects.toMatchObject({ code: 'IN_FLIGHT', retryable: true, retryAfterMs: 10_000 });
    }
    go.open();
    await ended;
    expect(await charge({ orderId: 'o1' }, context)).toBe('theirs o1');
    expect(runs).toBe(0);
  });

  it('I10 with onThrow, what was refused counts as no attempt, and binds the key to no input', async () => {
    const config = { config: { payloadValidationJmesPath: 'amount' } };
    const { ended, go } = await inProgressThere({ orderId: 'o1', amount: 5 }, 60_000, config);
    const charge = ours(
      { onThrow: earlier.onThrow, maxAttempts: 2, input: (order: Order) => order },
      { validate: (order) => (order as Order).amount },
    );
    for (let n = 0; n < 4; n++) await expect(charge({ orderId: 'o1', amount: 5 }, context)).rejects.toMatchObject({ code: 'IN_FLIGHT' });
    await expect(charge({ orderId: 'o1', amount: 6 }, context)).rejects.toMatchObject({ code: 'KEY_REUSED' });
    go.open();
    await ended;
    await expect(charge({ orderId: 'o1', amount: 6 }, context)).rejects.toMatchObject({ code: 'KEY_REUSED' });
    expect(await charge({ orderId: 'o1', amount: 5 }, context)).toBe('theirs o1');
    expect(earlier.onThrow(new Error('of the work'))).toBeUndefined();
    expect(earlier.onThrow('no error at all')).toBeUndefined();
  });

  it('I8 what was begun there and never ended runs again, or is blocked until a person has resolved it', async () => {
    await inProgressThere({ orderId: 'crashed' }, 5_000);
    aheadMs = 8_000;
    const careful = { ...options(), onUnknown: 'block' as const };
    const blocking = idempotent(
      careful,
      earlier.first(
        (order: Order) => order.orderId,
        () => ++runs,
        { onUnknown: 'block' },
      ),
    );
    runs = 0;
    await expect(blocking({ orderId: 'crashed' }, context)).rejects.toMatchObject({ code: 'BLOCKED' });
    aheadMs = 7_200_000;
    await expect(blocking({ orderId: 'crashed' }, context)).rejects.toMatchObject({ code: 'BLOCKED' });
    await resolveRun({ store, operation: careful.operation, key: 'crashed' }, { done: 77 });
    expect(await blocking({ orderId: 'crashed' }, context)).toBe(77);
    expect(runs).toBe(0);

    aheadMs = 8_000;
    expect(await ours()({ orderId: 'crashed' }, context)).toBe('ours crashed');
  });

  it('runs nothing where their table cannot be read, and what it does not know how to look for', async () => {
    const nowhere = emulator.client({ endpoint: 'http://127.0.0.1:9', maxAttempts: 1 });
    const blind = powertoolsRecords({ tableName: table, client: nowhere, functionName: FUNCTION_NAME });
    const key = randomUUID();
    let began = 0;
    const call = (records: PowertoolsRecords, payload: unknown) =>
      runOnce(
        { store, operation: 'blind', key, onUnknown: 'block' },
        records.first(
          () => payload,
          () => ++began,
        ),
      );
    await expect(call(blind, 'x')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE', retryable: true });
    await expect(call(earlier, undefined)).rejects.toMatchObject({ code: 'MISSING_KEY' });
    expect(began).toBe(0);
    expect(await call(earlier, 'x')).toBe(1);
  });

  it('I12 a look that hangs ends with the invocation, and the handler is not begun', async () => {
    const stuck = emulator.client();
    stuck.middlewareStack.add(() => () => new Promise(() => {}), { step: 'initialize', name: 'stuck' });
    const hung = powertoolsRecords({ tableName: table, client: stuck, functionName: FUNCTION_NAME, requestTimeoutMs: 60_000 });
    const endsAtMs = performance.now() + 700;
    const charge = idempotent(
      options(),
      hung.first(
        (order: Order) => order.orderId,
        () => ++runs,
      ),
    );
    runs = 0;
    const near = lambdaContext(() => endsAtMs - performance.now());
    await expect(charge({ orderId: 'o1' }, near)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    expect(performance.now()).toBeLessThan(endsAtMs);
    expect(runs).toBe(0);
  });

  it('over HTTP a refusal is an answer that is not kept, and must be one', async () => {
    const { ended, go } = await inProgressThere({ orderId: 'o1' });
    const handler = (refuse: (code: string) => object) =>
      idempotentHttp(
        { store, operation: 'http/charge', scope: 'public', onThrow: earlier.onThrow },
        earlier.first(
          (event: ReturnType<typeof httpApiEvent>) => JSON.parse(event.body ?? 'null').orderId,
          async () => ({ statusCode: 201, body: 'ours' }),
          { refuse: ({ code }) => refuse(code), revive: (stored) => ({ statusCode: 200, body: String(stored) }) },
        ),
      );
    const event = httpApiEvent({ headers: { 'Idempotency-Key': randomUUID() }, body: JSON.stringify({ orderId: 'o1' }) });
    const charge = handler((code) => reject({ statusCode: 409, body: code }));
    expect(await charge(event, context)).toMatchObject({ statusCode: 409, body: 'IN_FLIGHT' });
    await expect(handler((code) => ({ statusCode: 202, body: code }))(event, context)).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
    go.open();
    await ended;
    const first = await charge(event, context);
    expect(first).toMatchObject({ statusCode: 200, body: 'theirs o1' });
    expect(await charge(event, context)).toMatchObject({ statusCode: 200, body: 'theirs o1', headers: { 'Idempotent-Replayed': 'true' } });
  });

  it('over HTTP an answer that is not kept here is given as long as their record lives', async () => {
    const refused = { statusCode: 500, body: 'broken' };
    await theirs(() => refused)({ orderId: 'o500' }, 60_000);
    runs = 0;
    const charge = idempotentHttp(
      { store, operation: 'http/broken', scope: 'public' },
      earlier.first(
        () => 'o500',
        async (_event: ReturnType<typeof httpApiEvent>) => ({ statusCode: 201, body: String(++runs) }),
      ),
    );
    const event = httpApiEvent({ headers: { 'Idempotency-Key': randomUUID() }, body: '{}' });
    expect([await charge(event, context), await charge(event, context)]).toEqual([refused, refused]);
    aheadMs = 3_700_000;
    expect(await charge(event, context)).toMatchObject({ statusCode: 201, body: '1' });
  });

  it('a function that is no function, and an option that is none, are refused when it is built', () => {
    const build =
      (...args: readonly unknown[]) =>
      () =>
        (earlier.first as (...args: readonly unknown[]) => unknown)(...args);
    expect(build('orderId', () => 1)).toThrow('payloadOf must be a function');
    expect(build(() => 1)).toThrow('handler is missing');
    expect(
      build(
        () => 1,
        () => 1,
        { onUnknown: 'ask', onInProgress: () => 1 },
      ),
    ).toThrow(/onUnknown must be .*onInProgress is not an option/);
  });

  it('guards nothing, and looks nowhere, where guarding is switched off', async () => {
    vi.stubEnv('RERUNSAFE_DISABLED', '1');
    const nowhere = powertoolsRecords({ tableName: 'none', client, functionName: FUNCTION_NAME });
    const work = nowhere.first(
      () => 'x',
      () => 'ran',
    );
    expect(await tryRunOnce({ store, operation: 'local', key: 'x' }, work)).toMatchObject({ value: 'ran', saved: false });
    vi.unstubAllEnvs();
  });
});

it('I3 a whole move: 50 orders done, 5 in progress, 45 new; each is done once, also when their table is gone', async () => {
  const effects = new Map<string, number>();
  const charged = (orderId: string): string => {
    effects.set(orderId, (effects.get(orderId) ?? 0) + 1);
    return `receipt ${orderId}`;
  };
  const ids = Array.from({ length: 100 }, (_, n) => `order-${n}`);
  const orderOf = (record: SQSRecord): Order => JSON.parse(record.body);
  const again = sqsEvent(...ids.map((orderId) => ({ body: { orderId } })));
  const failed = (numbers: readonly number[]) => ({ batchItemFailures: numbers.map((n) => ({ itemIdentifier: `m${n + 1}` })) });

  // As it was.
  const layer = powertoolsLayer({ tableName: table, client });
  const config = { eventKeyJmesPath: 'orderId' };
  const old = byPowertools(layer, ({ orderId }: Order) => charged(orderId), { config });
  for (const orderId of ids.slice(0, 50)) await old({ orderId }, 60_000);
  const go = gate();
  const slow = byPowertools(layer, async ({ orderId }: Order) => go.opened.then(() => charged(orderId)), { config });
  const draining = ids.slice(50, 55).map((orderId) => slow({ orderId }, 60_000));
  await vi.waitFor(async () => {
    for (const orderId of ids.slice(50, 55)) expect(await earlier.read(orderId)).toMatchObject({ kind: 'in-progress' });
  });

  // As it is while both are there.
  const own = {
    store,
    operation: 'orders/move',
    key: (record: SQSRecord) => orderOf(record).orderId,
    onThrow: earlier.onThrow,
    onItemFailed: () => {},
  };
  const work = async (record: SQSRecord): Promise<void> => void charged(orderOf(record).orderId);
  const moving = idempotentEach(
    own,
    earlier.first((record) => orderOf(record).orderId, work),
  );
  expect(await moving(again, context)).toEqual(failed([50, 51, 52, 53, 54]));
  expect(effects.size).toBe(95);
  go.open();
  await Promise.all(draining);
  expect(await moving(again, context)).toEqual(failed([]));

  // As it will be.
  await client.send(new DeleteTableCommand({ TableName: table }));
  expect(await idempotentEach(own, work)(again, context)).toEqual(failed([]));
  expect([...effects.keys()].sort()).toEqual([...ids].sort());
  expect([...effects.values()].every((times) => times === 1)).toBe(true);
});
