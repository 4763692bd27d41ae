import { DescribeTableCommand, type DynamoDBClient, GetItemCommand, ScanCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { isRerunSafeError } from '../../src/index.ts';
import { type PowertoolsRecordsOptions, powertoolsRecords } from '../../src/stores/dynamodb/index.ts';
import { gate } from '../support/aws-events.ts';
import type { Emulator } from '../support/dynamodb.ts';
import { byPowertools, FUNCTION_NAME, powertoolsLayer, powertoolsTable, startDynamoDb, type Wrapped } from '../support/powertools.ts';
import { PAYLOADS, RESULTS } from '../support/powertools-values.ts';

let emulator: Emulator;
let client: DynamoDBClient;
let table: string;
let aheadMs = 0;

beforeAll(async () => {
  // Powertools says so for every call without a context, and for every payload of nothing.
  vi.spyOn(console, 'warn').mockImplementation(() => {});
  emulator = await startDynamoDb();
  client = emulator.client();
  table = await powertoolsTable(client);
});
afterAll(async () => {
  vi.restoreAllMocks();
  await emulator?.stop();
});

const reader = (more: Partial<PowertoolsRecordsOptions> = {}) => {
  aheadMs = 0;
  // It stands still, so that a slow machine changes nothing.
  const startedMs = Date.now();
  return powertoolsRecords({ tableName: table, client, functionName: FUNCTION_NAME, clock: { nowMs: () => startedMs + aheadMs }, ...more });
};

const layerOf = () => powertoolsLayer({ tableName: table, client });

/** What Powertools itself gives back for a second call. */
async function replayOf<T>(payload: unknown, result: T, wrapped: Wrapped = {}): Promise<unknown> {
  let runs = 0;
  const work = byPowertools(layerOf(), () => ++runs && result, wrapped);
  await work(payload, 60_000);
  const replay = await work(payload, 60_000);
  expect(runs).toBe(1);
  return replay;
}

describe('the records of Powertools', () => {
  it.each(PAYLOADS)('I3 are found for the payload: %s', async (name, payload) => {
    const replay = await replayOf(payload, { of: name });
    expect(replay).toEqual({ of: name });
    expect(await reader().read(payload)).toEqual({ kind: 'completed', value: replay });
    expect(await reader({ functionName: 'another' }).read(payload)).toBeUndefined();
  });

  it.each(RESULTS)('I2 give the value that Powertools gives: %s', async (name, result) => {
    const replay = await replayOf({ result: name }, result);
    expect(await reader().read({ result: name })).toStrictEqual({ kind: 'completed', value: replay });
  });

  it('I3 are found with every option of the persistence layer', async () => {
    const names = {
      keyAttr: 'pk',
      statusAttr: 's',
      dataAttr: 'd',
      expiryAttr: 'e',
      inProgressExpiryAttr: 'p',
      validationKeyAttr: 'v',
    };
    const composite = { ...names, sortKeyAttr: 'sk' };
    const cases = [
      { more: names, tableName: await powertoolsTable(client, 'pk') },
      { more: composite, tableName: await powertoolsTable(client, 'pk', 'sk') },
      { more: { ...composite, staticPkValue: 'all' }, tableName: await powertoolsTable(client, 'pk', 'sk') },
    ];
    for (const { more, tableName } of cases) {
      const layer = powertoolsLayer({ tableName, client, more });
      const config = { eventKeyJmesPath: 'id', payloadValidationJmesPath: 'amount' };
      await byPowertools(layer, () => 'done', { config, keyPrefix: ' orders ' })({ id: 'o1', amount: 5 }, 60_000);
      const earlier = reader({ tableName, keyPrefix: ' orders ', ...more });
      expect(await earlier.read('o1', { validate: 5 })).toEqual({ kind: 'completed', value: 'done' });
      await expect(earlier.read('o1', { validate: 6 })).rejects.toMatchObject({ code: 'KEY_REUSED' });
      const { Items } = await client.send(new ScanCommand({ TableName: tableName }));
      expect(Items).toHaveLength(1);
    }
  });

  it.each(['sha256', 'sha512', 'RSA-MD5'])('I3 are found with the hash function %s', async (hashFunction) => {
    await replayOf({ hashFunction }, 'done', { config: { hashFunction } });
    expect(await reader({ hashFunction }).read({ hashFunction })).toEqual({ kind: 'completed', value: 'done' });
  });

  it.each([
    ['a field', 'detail.orderId', (event: Event) => event.detail.orderId],
    ['several, some of them missing', '[detail.orderId, detail.line]', (event: Event) => [event.detail.orderId, event.detail.line ?? null]],
    ['an object', '{o: detail.orderId, l: detail.line}', (event: Event) => ({ o: event.detail.orderId, l: event.detail.line ?? null })],
    ['JSON within', 'powertools_json(body).["user", "id"]', (event: Event) => [JSON.parse(event.body).user, JSON.parse(event.body).id]],
  ])('I3 are found for what JMESPath selects: %s', async (name, eventKeyJmesPath, payloadOf) => {
    const event = { name, detail: { orderId: `o-${name}` }, body: JSON.stringify({ user: name, id: 7 }) } as Event;
    const layer = layerOf();
    await byPowertools(layer, (): string => name, { config: { eventKeyJmesPath } })(event, 60_000);
    expect(await reader().read(payloadOf(event))).toEqual({ kind: 'completed', value: name });
  });

  it('I9 a record is refused to another payload where Powertools would compare them, while it runs and after', async () => {
    const go = gate();
    const inside = gate();
    const layer = layerOf();
    const config = { eventKeyJmesPath: 'id', payloadValidationJmesPath: '[amount, note]' };
    const work = byPowertools(
      layer,
      async () => {
        inside.open();
        await go.opened;
        return 'charged';
      },
      { config },
    );
    const running = work({ id: 'validated', amount: 5 }, 60_000);
    await inside.opened;
    const earlier = reader();
    await expect(earlier.read('validated', { validate: [6, null] })).rejects.toMatchObject({ code: 'KEY_REUSED' });
    expect(await earlier.read('validated', { validate: [5, null] })).toMatchObject({ kind: 'in-progress' });
    go.open();
    await running;
    await expect(earlier.read('validated', { validate: [6, null] })).rejects.toMatchObject({ code: 'KEY_REUSED' });
    expect(await earlier.read('validated', { validate: [5, null] })).toEqual({ kind: 'completed', value: 'charged' });
    expect(await earlier.read('validated')).toEqual({ kind: 'completed', value: 'charged' });
    // What JMESPath does not find is null.
    await byPowertools(layerOf(), () => 1, { config: { payloadValidationJmesPath: 'note' } })({ id: 'no note' }, 60_000);
    expect(await earlier.read({ id: 'no note' }, { validate: undefined })).toEqual({ kind: 'completed', value: 1 });
    // Written without a validation: there is nothing to compare with.
    await replayOf('no validation', 1);
    expect(await earlier.read('no validation', { validate: 5 })).toEqual({ kind: 'completed', value: 1 });
  });

  it.each([
    ['with a deadline: until it is over', 20_000, 20_000, { kind: 'unknown' }],
    ['with a deadline behind its expiry: until the deadline', 500_000, 500_000, undefined],
    ['without a deadline: until it expires', undefined, 100_000, undefined],
  ])('I6 what is in progress there is left alone, %s', async (name, leftMs, lastsMs, then) => {
    const go = gate();
    const inside = gate();
    const work = byPowertools(
      layerOf(),
      async () => {
        inside.open();
        await go.opened;
      },
      { config: { expiresAfterSeconds: 100 } },
    );
    const running = work(name, leftMs);
    await inside.opened;
    const earlier = reader();
    expect(await earlier.read(name)).toEqual({ kind: 'in-progress', retryAfterMs: 10_000 });
    aheadMs = lastsMs - 2_000;
    const late = await earlier.read(name);
    expect(late).toEqual({ kind: 'in-progress', retryAfterMs: expect.any(Number) });
    expect((late as { retryAfterMs: number }).retryAfterMs).toBeLessThan(4_600);
    // So far may two clocks be apart, and 600 ms are for the seconds that an expiry is rounded to.
    aheadMs = lastsMs + 2_600;
    expect(await earlier.read(name)).toEqual(then);
    aheadMs = 103_000;
    if (lastsMs <= 100_000) expect(await earlier.read(name)).toBeUndefined();
    go.open();
    await running;
  });

  it('I3 a finished one counts until it expires, and as long again as two clocks may be apart', async () => {
    const work = byPowertools(layerOf(), () => 'done', { config: { expiresAfterSeconds: 100 } });
    await work('expiring', 60_000);
    const earlier = reader();
    aheadMs = 100_600;
    expect(await earlier.read('expiring')).toEqual({ kind: 'completed', value: 'done' });
    aheadMs = 103_000;
    expect(await earlier.read('expiring')).toBeUndefined();
  });

  it('a work that failed there has left nothing', async () => {
    const work = byPowertools(layerOf(), () => {
      throw new Error('declined');
    });
    await expect(work('failing', 60_000)).rejects.toThrow('declined');
    expect(await reader().read('failing')).toBeUndefined();
  });

  it('I8 what is no payload, or no record, is refused by name', async () => {
    const earlier = reader();
    const circle: Record<string, unknown> = {};
    circle.self = circle;
    for (const payload of [undefined, () => {}, Symbol('x'), 10n, circle]) {
      await expect(earlier.read(payload)).rejects.toMatchObject({ code: 'MISSING_KEY' });
    }
    await replayOf('a record', 1);
    await expect(reader({ statusAttr: 'state' }).read('a record')).rejects.toMatchObject({
      code: 'STORE_MISCONFIGURED',
      message: expect.stringContaining('statusAttr'),
    });
    await expect(reader({ keyAttr: 'pk' }).read('a record')).rejects.toMatchObject({
      code: 'STORE_MISCONFIGURED',
      message: expect.stringContaining('keyAttr'),
    });
    await expect(reader({ tableName: 'gone' }).read('a record')).rejects.toMatchObject({
      code: 'STORE_MISCONFIGURED',
      message: expect.stringContaining('no DynamoDB table gone'),
    });
  });

  it('a table that does not answer is STORE_UNAVAILABLE, in time', async () => {
    const nowhere = emulator.client({ endpoint: 'http://127.0.0.1:9', maxAttempts: 2 });
    const error = await reader({ client: nowhere, requestTimeoutMs: 2_000 })
      .read('x')
      .catch((thrown: unknown) => thrown);
    expect(isRerunSafeError(error, 'STORE_UNAVAILABLE') && error.retryable).toBe(true);
    const cancelled = AbortSignal.abort(new Error('no time left'));
    await expect(reader().read('x', { signal: cancelled })).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
  });

  it('I11 a look is one strongly consistent GetItem, and nothing is ever written', async () => {
    await replayOf('looked at', 1);
    const spied = emulator.client();
    const sent: { name: string; input: unknown }[] = [];
    spied.middlewareStack.add(
      (next, { commandName = '' }) =>
        (args) => {
          sent.push({ name: commandName, input: args.input });
          return next(args);
        },
      { step: 'initialize', name: 'spy' },
    );
    const earlier = reader({ client: spied });
    await earlier.read('looked at');
    await earlier.read('never seen');
    expect(sent.map(({ name }) => name)).toEqual([GetItemCommand.name, GetItemCommand.name]);
    expect(sent.every(({ input }) => (input as { ConsistentRead?: boolean }).ConsistentRead === true)).toBe(true);
    // The client that was given stays the user's.
    earlier.close();
    await spied.send(new DescribeTableCommand({ TableName: table }));
  });

  it('wrong options are refused when the reader is built, all in one message', () => {
    const build = (options: unknown) => () => powertoolsRecords(options as PowertoolsRecordsOptions);
    expect(build({ tableName: '', hashFunction: 'md4711', sortKey: 'x' })).toThrow(
      /tableName .*hashFunction must be a hash.*sortKey is not an option/,
    );
    expect(build({ tableName: 't', functionName: 'f', keyAttr: 'a', sortKeyAttr: 'a' })).toThrow('must differ');
    vi.stubEnv('AWS_LAMBDA_FUNCTION_NAME', undefined);
    expect(build({ tableName: 't' })).toThrow('functionName is missing');
    expect(build({ tableName: 't', keyPrefix: 'p' })).not.toThrow();
    expect(build({ tableName: 't', keyPrefix: 'p', sortKeyAttr: 'sk' })).toThrow('functionName is missing');
    vi.stubEnv('AWS_LAMBDA_FUNCTION_NAME', FUNCTION_NAME);
    expect(build({ tableName: 't' })).not.toThrow();
    vi.unstubAllEnvs();
  });
});

interface Event {
  readonly detail: { readonly orderId: string; readonly line?: string };
  readonly body: string;
}
