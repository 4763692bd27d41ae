import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import type { Fence } from '../../../src/core/ports.ts';
import { runOnce, tryAcquire } from '../../../src/index.ts';
import { fencedTransaction, fencedUpdate } from '../../../src/stores/dynamodb/index.ts';
import { javaAvailable, startDynalite } from '../../support/dynamodb.ts';
import { cancelled, fencedStage, isTransaction, LONG_MS, onlyNew, stale } from './dynamodb-fenced-stage.ts';
import { rawItem } from './dynamodb-subject.ts';

describe.runIf(await javaAvailable())('fenced transactions on DynamoDB Local', () => {
  const stage = fencedStage();
  const { idOf, put, total, write, taken, takenOver } = stage;
  const targets = () => stage.proxy.requests.map(({ target }) => String(target).split('.')[1]);

  describe('who may write', () => {
    it('the holder of a lease commits all of its items, in one request', async () => {
      const { fence } = await taken();
      await write(fence, [put('gone', 1)]);
      stage.proxy.clear();
      const Key = { id: { S: idOf('gone') } };
      await write(fence, [put('a', 1), put('b', 2), { Delete: { TableName: stage.TableName, Key } }]);
      expect(await Promise.all(['a', 'b', 'gone'].map(total))).toEqual([1, 2, undefined]);
      expect(targets()).toEqual(['TransactWriteItems']);
      expect(await rawItem(stage.plain, stage.TableName, idOf('a'))).toEqual({ id: { S: idOf('a') }, total: { N: '1' } });
    });

    it('I4 whoever was overtaken is refused with both tokens, though the successor has not touched the item', async () => {
      const first = await taken();
      await write(first.fence, [put('report', 1)]);
      const second = await takenOver();
      await expect(write(first.fence, [put('report', 2)])).rejects.toMatchObject(stale(first.fence, second.token));
      expect(await total('report')).toBe(1);
      await write(second.fence, [put('report', 3)]);
      expect(await total('report')).toBe(3);
    });

    it('I4 a transaction that was on its way when the lease was taken is refused: what the successor has read stays so', async () => {
      const first = await taken();
      await write(first.fence, [put('report', 1)]);
      const held = stage.proxy.inject({ match: isTransaction, action: { delayMs: 400, at: 'request' } });
      const late = write(first.fence, [put('report', 2)]);
      const refused = expect(late).rejects.toMatchObject({ code: 'STALE_TOKEN' });
      await held.fired;
      const second = await takenOver();
      expect(await total('report')).toBe(1);
      await refused;
      await expect(late).rejects.toMatchObject(stale(first.fence, second.token));
      expect(await total('report')).toBe(1);
    });

    it('I4 a break fences the holder at once, before anybody else has come', async () => {
      const { fence } = await taken();
      await stage.leases.break(stage.name);
      const { token } = (await stage.leases.read(stage.name)) ?? {};
      await expect(write(fence, [put('report', 1)])).rejects.toMatchObject(stale(fence, token));
    });

    it('I4 the token alone is not enough: who holds it is asked too', async () => {
      const { fence } = await taken();
      await expect(write({ ...fence, owner: 'somebody' }, [put('report', 1)])).rejects.toMatchObject({ code: 'STALE_TOKEN' });
      await expect(write({ ...fence, token: fence.token - 1 }, [put('report', 1)])).rejects.toMatchObject({ code: 'STALE_TOKEN' });
      await expect(write({ ...fence, token: fence.token + 1 }, [put('report', 1)])).rejects.toMatchObject({ code: 'STALE_TOKEN' });
      expect(await total('report')).toBeUndefined();
    });

    it('a fence of what is kept elsewhere is for a person, and not somebody else having taken it', async () => {
      const { fence } = await taken();
      const told = { code: 'STORE_MISCONFIGURED', message: expect.stringMatching(/nothing is kept .*storeLeases.*tableName/) };
      await expect(write({ ...fence, id: 'never taken' }, [put('report', 1)])).rejects.toMatchObject(told);
      await expect(write(fence, [put('report', 1)], { tableName: stage.TableName })).rejects.toMatchObject(told);
      expect(await total('report')).toBeUndefined();
    });

    it("a lease that has run out or was released is still its last holder's, until somebody takes it", async () => {
      const released = await taken();
      await released.release();
      await write(released.fence, [put('report', 1)]);
      const late = await taken(100);
      await vi.waitFor(async () => expect(await stage.leases.read(stage.name)).toMatchObject({ held: false }), 10_000);
      await write(late.fence, [put('report', 2)]);
      await taken();
      await expect(write(late.fence, [put('report', 3)])).rejects.toMatchObject({ code: 'STALE_TOKEN' });
      expect(await total('report')).toBe(2);
    });

    it('a fence that has travelled in a message fences its receiver, with whatever travelled beside it', async () => {
      const { fence } = await taken();
      const received = JSON.parse(JSON.stringify({ ...fence, sentAt: 'noon' })) as Fence;
      const consumer = stage.emulator.client();
      const Key = { id: { S: idOf('elsewhere') } };
      await fencedTransaction(consumer, received, [put('report', 1)], { tableName: stage.tableName });
      await fencedUpdate(consumer, received, { TableName: stage.TableName, Key });
      const next = await takenOver();
      await expect(fencedTransaction(consumer, received, [put('report', 2)], { tableName: stage.tableName })).rejects.toMatchObject(
        stale(fence, next.token),
      );
      // The fence of one item shuts out the old holder only from when the new one has touched that item.
      await fencedUpdate(stage.plain, next.fence, { TableName: stage.TableName, Key });
      await expect(fencedUpdate(consumer, received, { TableName: stage.TableName, Key })).rejects.toMatchObject(stale(fence, next.token));
      expect(await total('report')).toBe(1);
    });

    it('I4 a run writes by its own fence, and not any more when a successor has taken its record', async () => {
      const options = { store: stage.store, operation: 'test/fenced', key: stage.name, onThrow: () => 'unknown' as const };
      let first: Fence | undefined;
      const died = runOnce(options, async (run) => {
        first = run.fence;
        await write(run.fence as Fence, [put('report', 1)]);
        throw new Error('died');
      });
      await expect(died).rejects.toThrow('died');
      const value = await runOnce(options, async (run) => {
        await write(run.fence as Fence, [put('report', 2)]);
        await expect(write(first as Fence, [put('report', 3)])).rejects.toMatchObject({ code: 'STALE_TOKEN' });
        return 'done';
      });
      expect([value, await total('report')]).toEqual(['done', 2]);
    });

    it('I4 I5 of parties that break in on each other no commit comes after one of a later holder, and no update is lost', async () => {
      let landed = 0;
      let refused = 0;
      const party = async (): Promise<void> => {
        for (let n = 0; n < 8; n++) {
          await stage.leases.break(stage.name);
          const got = await tryAcquire(stage.leases, stage.name, { leaseMs: LONG_MS, renew: 'none' });
          if (got.kind !== 'acquired') continue;
          const { fence, token } = got.lease;
          const before = (await rawItem(stage.plain, stage.TableName, idOf('count'))) ?? { total: { N: '0' }, by: { N: '0' } };
          expect(Number(before.by?.N)).toBeLessThan(token);
          await pause(Math.random() * 10);
          const Item = { id: { S: idOf('count') }, total: { N: String(Number(before.total?.N) + 1) }, by: { N: String(token) } };
          try {
            // Neither the count nor the token before is a condition: only the lease is.
            await fencedTransaction(stage.plain, fence, [{ Put: { TableName: stage.TableName, Item } }], { tableName: stage.tableName });
            landed += 1;
          } catch (error) {
            expect(error).toMatchObject({ code: 'STALE_TOKEN' });
            refused += 1;
          }
        }
      };
      await stage.leases.acquire(stage.name, { owner: 'the first', leaseMs: LONG_MS });
      await Promise.all([party(), party(), party(), party()]);
      expect(await total('count')).toBe(landed);
      expect(landed).toBeGreaterThan(0);
      expect(refused).toBeGreaterThan(0);
    });
  });

  describe('refusals', () => {
    it("a condition of the caller's that failed comes through as the SDK has it, counted as they gave it, and nothing is left", async () => {
      const { fence } = await taken();
      await write(fence, [put('exists', 1)]);
      await expect(write(fence, [put('first', 1), put('exists', 2, onlyNew)])).rejects.toMatchObject({
        name: 'TransactionCanceledException',
        CancellationReasons: [{ Code: 'None' }, { Code: 'ConditionalCheckFailed' }, { Code: 'None' }],
      });
      expect([await total('first'), await total('exists')]).toEqual([undefined, 1]);
    });

    it("I4 a stale holder whose own condition fails too is told that it is stale: what it conditions on is the successor's", async () => {
      const { fence } = await taken();
      await write(fence, [put('exists', 1)]);
      await takenOver();
      await expect(write(fence, [put('exists', 2, onlyNew)])).rejects.toMatchObject({ code: 'STALE_TOKEN' });
    });

    it('what the service does not take comes through as the SDK has it', async () => {
      const { fence } = await taken();
      await expect(write(fence, [put('twice', 1), put('twice', 2)])).rejects.toMatchObject({ name: 'ValidationException' });
      await expect(write(fence, [{ Put: { TableName: stage.TableName, Item: { other: { S: 'x' } } } }])).rejects.toMatchObject({
        name: expect.stringMatching(/ValidationException|TransactionCanceledException/),
      });
    });

    it('a table that is not there is for a person, who is told the names of all', async () => {
      const { fence } = await taken();
      const missing = { Put: { TableName: 'missing', Item: { id: { S: 'x' } } } };
      await expect(write(fence, [missing])).rejects.toMatchObject({
        code: 'STORE_MISCONFIGURED',
        message: expect.stringContaining(`${stage.tableName}, missing`),
      });
    });

    it.each(['TransactionConflict', 'ThrottlingError', 'ProvisionedThroughputExceeded'])(
      'I10 %s is waited out; where it does not end it is STORE_UNAVAILABLE',
      async (Code) => {
        const { fence } = await taken();
        const action = cancelled(Code, 'None');
        stage.proxy.inject({ match: isTransaction, times: 3, action });
        await write(fence, [put('report', 1)]);
        expect([await total('report'), targets().length]).toEqual([1, 4]);
        stage.proxy.clear();
        stage.proxy.inject({ match: isTransaction, times: 99, action });
        await expect(write(fence, [put('report', 2)])).rejects.toMatchObject({
          code: 'STORE_UNAVAILABLE',
          cause: { name: 'TransactionCanceledException' },
        });
        expect([await total('report'), targets().length]).toEqual([1, 8]);
      },
    );

    it('a refusal that does not bring the item is looked up', async () => {
      const { fence } = await taken();
      const next = await takenOver();
      stage.proxy.inject({ match: isTransaction, action: cancelled('None', 'ConditionalCheckFailed') });
      await expect(write(fence, [put('report', 1)])).rejects.toMatchObject(stale(fence, next.token));
      expect(targets()).toEqual(['TransactWriteItems', 'GetItem']);
    });

    it('refuses, before anything is sent, what could not be', async () => {
      const { fence } = await taken();
      const problems = (...texts: string[]) => ({ code: 'INVALID_OPTIONS', facts: { problems: texts.map((text) => expect.stringContaining(text)) } });
      const many = Array.from({ length: 100 }, (_, n) => put(String(n), n));
      await expect(write(fence, many)).rejects.toMatchObject(problems('at most 99'));
      await expect(write(fence, 'x' as never)).rejects.toMatchObject(problems('array'));
      const odd = [undefined, null, 7, {}, { Putt: {} }, { Put: undefined }, { Put: 'x' }, { ...put('a', 1), Delete: {} }, [], ['Put']];
      for (const item of odd) await expect(write(fence, [put('b', 1), item as never])).rejects.toMatchObject(problems('item 1'));
      await expect(write({ ...fence, token: Number.NaN }, [])).rejects.toMatchObject(problems('token'));
      await expect(write(undefined as never, [])).rejects.toMatchObject(problems('id', 'owner', 'token'));
      await expect(write(fence, [], { table: 'x', requestTimeoutMs: 0 })).rejects.toMatchObject(problems('table', 'requestTimeoutMs'));
      await expect(write(fence, [], { tableName: undefined })).rejects.toMatchObject(problems('tableName'));
      expect(stage.proxy.count()).toBe(0);
      await write(fence, many.slice(1));
      await write(fence, []);
    });

    it('takes the name of the table from the environment', async () => {
      const { fence } = await taken();
      vi.stubEnv('RERUNSAFE_TABLE', stage.tableName);
      await fencedTransaction(stage.client, fence, [put('report', 1)]);
      vi.unstubAllEnvs();
      expect(await total('report')).toBe(1);
    });
  });
});

it('where there are no transactions (dynalite), nothing is written, and a person is told', async () => {
  const dynalite = await startDynalite();
  try {
    const fence = { id: 'nightly', owner: 'o', token: 1 };
    await expect(fencedTransaction(dynalite.client(), fence, [], { tableName: 'rerunsafe' })).rejects.toMatchObject({ code: 'STORE_MISCONFIGURED' });
  } finally {
    await dynalite.stop();
  }
});
