import { randomUUID } from 'node:crypto';
import { TransactionCanceledException } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { keyParts, recordId } from '../../src/core/key.ts';
import { type Run, tryRunOnce } from '../../src/index.ts';
import { commitWith, dynamodbStore } from '../../src/stores/dynamodb/index.ts';
import { type Emulator, javaAvailable, startDynalite } from '../support/dynamodb.ts';
import { cancelled } from '../unit/stores/dynamodb-fenced-stage.ts';
import { plainTable } from '../unit/stores/dynamodb-subject.ts';
import { dynamodbPlace, dynamodbRows } from './places.ts';

const OPERATION = 'test/commit';
const put = (TableName: string, id: string, more: object = {}) => ({ Put: { TableName, Item: { id: { S: id } }, ...more } });

describe.runIf(await javaAvailable())('what DynamoDB says of a transaction that commitWith sends', () => {
  let place: Awaited<ReturnType<typeof dynamodbPlace>>;
  beforeAll(async () => {
    place = await dynamodbPlace();
  });
  afterAll(() => place?.stop());
  beforeEach(() => place.wire.proxy.clear());

  const fresh = () => {
    const key = randomUUID();
    const id = recordId(OPERATION, [], keyParts(key));
    return {
      row: `row-${key}`,
      run: (work: (run: Run) => unknown) => tryRunOnce<unknown>({ store: place.wire.open(), operation: OPERATION, key, leaseMs: 20_000 }, work),
      stands: () => place.store.read(id),
      takeOver: async () => {
        const standing = await place.store.read(id);
        if (standing === undefined) throw new Error('no record');
        const { record, version } = standing;
        await place.store.replace(id, { ...record, owner: 'another', revision: randomUUID(), token: record.token + 1, attempt: 2 }, version);
      },
    };
  };
  const answers = (...actions: ReturnType<typeof cancelled>[]): void => {
    for (const [n, action] of actions.entries()) place.wire.proxy.inject({ match: place.wire.isTransaction, nth: n + 1, action });
  };
  const targets = (): string[] => place.wire.proxy.requests.map(({ target }) => String(target).split('.')[1] as string);

  it('I11 costs one request in place of the completion', async () => {
    const { run, row } = fresh();
    await run((at) => place.commit(at, 'committed', row));
    expect(targets()).toEqual(['PutItem', 'TransactWriteItems']);
  });

  it("the reasons of a cancellation are counted from the caller's first item, and the 99th is in it too", async () => {
    const { run, row } = fresh();
    const TableName = await plainTable(place.plain);
    const items = Array.from({ length: 99 }, (_, n) => put(TableName, `${row}-${n}`));
    const onlyOld = { ConditionExpression: 'attribute_exists(id)' };
    const result = await run(async (at) => {
      const error = await commitWith(at, 1, [...items.slice(0, 98), put(TableName, `${row}-98`, onlyOld)]).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(TransactionCanceledException);
      const codes = (error as TransactionCanceledException).CancellationReasons?.map(({ Code }) => Code);
      expect([codes?.length, codes?.indexOf('ConditionalCheckFailed')]).toEqual([100, 98]);
      await commitWith(at, 2, items);
    });
    expect(result).toMatchObject({ value: 2, saved: true });
  });

  it.each(['TransactionConflict', 'ThrottlingError', 'ProvisionedThroughputExceeded'])(
    'I10 %s, on an item of either, is waited out',
    async (code) => {
      const { run, row } = fresh();
      answers(cancelled(code, 'None'), cancelled('None', code), cancelled(code, code));
      expect(await run((at) => place.commit(at, 'committed', row))).toMatchObject({ value: 'committed', saved: true });
      expect([await place.times(row), targets().length]).toEqual([1, 5]);
    },
  );

  it('I4 a service that does not return what stands there is asked for it', async () => {
    const { run, row, takeOver } = fresh();
    const error = await run(async (at) => {
      await takeOver();
      answers(cancelled('None', 'ConditionalCheckFailed'));
      await place.commit(at, 'committed', row);
    }).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'LEASE_LOST' });
    expect(targets()).toEqual(['PutItem', 'TransactWriteItems', 'GetItem']);
    expect(await place.times(row)).toBe(0);
  });

  it("I4 both conditions failed: that somebody else has the run comes before the caller's own rule", async () => {
    const { run, row, takeOver } = fresh();
    await place.write(row);
    const running = run(async (at) => {
      await takeOver();
      await place.commit(at, 'committed', row, { onlyNew: true });
    });
    await expect(running).rejects.toMatchObject({ code: 'LEASE_LOST' });
  });

  it("I4 a service that tells of the caller's condition alone: the record is looked at before that is believed", async () => {
    const { run, row, takeOver } = fresh();
    const running = run(async (at) => {
      await takeOver();
      answers(cancelled('ConditionalCheckFailed', 'None'));
      await place.commit(at, 'committed', row, { onlyNew: true });
    });
    await expect(running).rejects.toMatchObject({ code: 'LEASE_LOST' });
  });

  it('I7 likewise where it was our own transaction that landed, and its answer was lost', async () => {
    const { run, row } = fresh();
    place.wire.proxy.inject({ match: place.wire.isTransaction, times: 3, action: 'drop-answer' });
    place.wire.proxy.inject({ match: place.wire.isTransaction, nth: 4, action: cancelled('ConditionalCheckFailed', 'None') });
    const result = await run((at) => place.commit(at, 'committed', row, { onlyNew: true }));
    expect(result).toMatchObject({ value: 'committed', saved: true });
    expect(await place.times(row)).toBe(1);
  });

  it.each([
    ['comes twice', (TableName: string, row: string) => [put(TableName, row), put(TableName, row)]],
    ['is too large', (TableName: string, row: string) => [{ Put: { TableName, Item: { id: { S: row }, more: { S: 'x'.repeat(410_000) } } } }]],
  ])("an item that %s is the SDK's own error, untouched; nothing is written, and the run goes on", async (_, items) => {
    const { run, row, stands } = fresh();
    const TableName = await plainTable(place.plain);
    const result = await run(async (at) => {
      const error = await commitWith(at, 1, items(TableName, row)).catch((thrown: unknown) => thrown);
      expect((error as Error).name).toMatch(/^(ValidationException|TransactionCanceledException)$/);
      expect((await stands())?.record.state).toBe('running');
      await commitWith(at, 2, [put(TableName, row)]);
    });
    expect(result).toMatchObject({ value: 2 });
  });

  it("a table of the caller's that does not exist is STORE_MISCONFIGURED, and both tables are named", async () => {
    const { run, row } = fresh();
    const running = run((at) => commitWith(at, 1, [put('no-such-table', row)]));
    await expect(running).rejects.toMatchObject({ code: 'STORE_MISCONFIGURED', message: expect.stringMatching(/table t-.*, no-such-table/) });
  });
});

describe('a service without transactions', () => {
  let emulator: Emulator;
  beforeAll(async () => {
    emulator = await startDynalite();
  });
  afterAll(() => emulator?.stop());

  it('is STORE_MISCONFIGURED; nothing is written, and the run goes on', async () => {
    const client = emulator.client();
    const store = dynamodbStore({ client, tableName: 'records' });
    await store.setUp();
    const rows = dynamodbRows(client, await plainTable(client));
    const result = await tryRunOnce<unknown>({ store, operation: OPERATION, key: 1 }, async (run) => {
      await expect(rows.commit(run, 1, 'row')).rejects.toMatchObject({
        code: 'STORE_MISCONFIGURED',
        message: expect.stringContaining('UnknownOperationException'),
      });
      return 'returned';
    });
    expect(result).toMatchObject({ value: 'returned', saved: true });
    expect(await rows.times('row')).toBe(0);
  });
});
