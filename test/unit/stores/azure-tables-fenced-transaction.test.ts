import { setTimeout as pause } from 'node:timers/promises';
import type { TransactionAction } from '@azure/data-tables';
import { describe, expect, it, vi } from 'vitest';
import type { Fence } from '../../../src/core/ports.ts';
import { runOnce, tryAcquire } from '../../../src/index.ts';
import { fencedTransaction, fencedUpsert, fencePartition } from '../../../src/stores/azure-tables/index.ts';
import { fencedStage, isTransaction, LONG_MS, stale } from './azure-tables-fenced-stage.ts';
import { methods } from './azure-tables-subject.ts';

describe('fenced transactions on Table Storage', () => {
  const stage = fencedStage();
  const { entity, put, total, taken, takenOver } = stage;

  describe('who may write', () => {
    it('the holder of a lease commits all of its actions, and is told the ETags in their order', async () => {
      const { fence } = await taken();
      await stage.plain.createEntity(entity('gone', { total: 1 }));
      const { etag } = await stage.plain.createEntity(entity('changed', { total: 1, note: 'kept' }));
      const answer = await fencedTransaction(stage.client, fence, [
        ['create', entity('new', { total: 1 })],
        ['update', entity('changed', { total: 2 }), 'Merge', { etag: String(etag) }],
        ['delete', entity('gone')],
        put('put', 3),
      ]);
      expect(await Promise.all(['new', 'changed', 'gone', 'put'].map(total))).toEqual([1, 2, undefined, 3]);
      const stand = await Promise.all(['new', 'changed', 'put'].map((row) => stage.plain.getEntity(stage.partitionKey, `${stage.name}-${row}`)));
      expect(answer?.subResponses.map((response) => response.etag)).toEqual([stand[0]?.etag, stand[1]?.etag, undefined, stand[2]?.etag]);
      expect(stand[1]).toMatchObject({ note: 'kept' });
    });

    it('I4 whoever was overtaken is refused with both tokens, though the successor has not touched the entity', async () => {
      const first = await taken();
      await fencedTransaction(stage.client, first.fence, [put('report', 1)]);
      const second = await takenOver();
      await expect(fencedTransaction(stage.client, first.fence, [put('report', 2), ['delete', entity('other')]])).rejects.toMatchObject(
        stale(first.fence, second.token),
      );
      expect(await total('report')).toBe(1);
      await fencedTransaction(stage.client, second.fence, [put('report', 3)]);
      expect(await total('report')).toBe(3);
    });

    it('I4 a transaction that was on its way when the lease was taken is refused: what the successor has read stays so', async () => {
      const first = await taken();
      await fencedTransaction(stage.client, first.fence, [put('report', 1)]);
      const held = stage.subject.proxy.inject({ match: isTransaction, action: { delayMs: 400, at: 'request' } });
      const late = fencedTransaction(stage.client, first.fence, [put('report', 2)]);
      const refused = expect(late).rejects.toMatchObject({ code: 'STALE_TOKEN' });
      await held.fired;
      const second = await takenOver();
      expect(await total('report')).toBe(1);
      await refused;
      await expect(late).rejects.toMatchObject(stale(first.fence, second.token));
      expect(await total('report')).toBe(1);
    });

    it('I4 a break fences the holder at once, before anybody else has come', async () => {
      const lease = await taken();
      await stage.leases.break(stage.name);
      const { token } = (await stage.leases.read(stage.name)) ?? {};
      await expect(fencedTransaction(stage.client, lease.fence, [put('report', 1)])).rejects.toMatchObject(stale(lease.fence, token));
    });

    it('I4 the token alone is not enough: who holds it is asked too', async () => {
      const { fence } = await taken();
      const write = [put('report', 1)];
      await expect(fencedTransaction(stage.client, { ...fence, owner: 'somebody' }, write)).rejects.toMatchObject({ code: 'STALE_TOKEN' });
      await expect(fencedTransaction(stage.client, { ...fence, token: fence.token + 1 }, write)).rejects.toMatchObject({ code: 'STALE_TOKEN' });
    });

    it('a fence of what is kept elsewhere is for a person, and not somebody else having taken it', async () => {
      const { fence } = await taken();
      stage.partitionKey = fencePartition('never taken');
      await expect(fencedTransaction(stage.client, { ...fence, id: 'never taken' }, [put('report', 1)])).rejects.toMatchObject({
        code: 'STORE_MISCONFIGURED',
        message: expect.stringMatching(/nothing is kept .*never taken.*storeLeases.*partitions/),
      });
    });

    it("a lease that has run out or was released is still its last holder's, until somebody takes it", async () => {
      const released = await taken();
      await released.release();
      await fencedTransaction(stage.client, released.fence, [put('report', 1)]);
      const late = await taken(100);
      await vi.waitFor(async () => expect(await stage.leases.read(stage.name)).toMatchObject({ held: false }), 5_000);
      await fencedTransaction(stage.client, late.fence, [put('report', 2)]);
      expect(await stage.leases.read(stage.name)).toMatchObject({ held: false, token: late.token });
      await taken();
      await expect(fencedTransaction(stage.client, late.fence, [put('report', 3)])).rejects.toMatchObject({ code: 'STALE_TOKEN' });
      expect(await total('report')).toBe(2);
    });

    it('a fence that has travelled in a message fences its receiver, with whatever travelled beside it', async () => {
      const { fence } = await taken();
      const received = JSON.parse(JSON.stringify({ ...fence, sentAt: 'noon' })) as Fence;
      const consumer = stage.subject.client(stage.client.tableName);
      await fencedTransaction(consumer, received, [put('report', 1)]);
      await fencedUpsert(consumer, received, entity('elsewhere', { total: 1 }));
      const next = await takenOver();
      await expect(fencedTransaction(consumer, received, [put('report', 2)])).rejects.toMatchObject(stale(fence, next.token));
      // The fence of one entity shuts out the old holder only from when the new one has touched that entity.
      await fencedUpsert(stage.client, next.fence, entity('elsewhere', { total: 2 }));
      await expect(fencedUpsert(consumer, received, entity('elsewhere', { total: 3 }))).rejects.toMatchObject(stale(fence, next.token));
      expect([await total('report'), await total('elsewhere')]).toEqual([1, 2]);
    });

    it('I4 a run writes by its own fence, and not any more when a successor has taken its record', async () => {
      const options = { store: stage.store, operation: 'test/fenced', key: stage.name, onThrow: () => 'unknown' as const };
      let first: Fence | undefined;
      const write = (fence: Fence, n: number) => {
        stage.partitionKey = fencePartition(fence.id);
        return fencedTransaction(stage.client, fence, [put('report', n)]);
      };
      const died = runOnce(options, async (run) => {
        first = run.fence;
        await write(run.fence as Fence, 1);
        throw new Error('died');
      });
      await expect(died).rejects.toThrow('died');
      const value = await runOnce(options, async (run) => {
        await write(run.fence as Fence, 2);
        await expect(write(first as Fence, 3)).rejects.toMatchObject({ code: 'STALE_TOKEN' });
        return 'done';
      });
      expect(value).toBe('done');
      expect(await total('report')).toBe(2);
      expect(await runOnce(options, () => 'again')).toBe('done');
    });
  });

  describe('one transaction', () => {
    it('a renewal of its own lease in between does not fail the holder', async () => {
      const lease = await taken();
      const held = stage.subject.proxy.inject({ match: isTransaction, action: { delayMs: 300, at: 'request' } });
      const write = fencedTransaction(stage.client, lease.fence, [['create', entity('report', { total: 1 })]]);
      await held.fired;
      await lease.renew();
      await write;
      expect(methods(stage.subject.proxy.requests)).toEqual(['GET 200', 'POST 202', 'GET 200', 'POST 202']);
      expect(await total('report')).toBe(1);
    });

    it.each<[string, number, (exists: object, absent: object) => TransactionAction]>([
      ['an entity that is there already', 409, (exists) => ['create', exists as never]],
      ['an entity that is not there', 404, (_, absent) => ['update', absent as never, 'Merge']],
      [
        'an ETag that does not stand',
        412,
        (exists) => ['update', exists as never, 'Merge', { etag: 'W/"datetime\'2020-01-01T00%3A00%3A00.0000000Z\'"' }],
      ],
      ['a property that is too large', 400, (_, absent) => ['upsert', { ...absent, text: 'x'.repeat(40_000) } as never]],
      ['an entity that comes twice', 400, () => put('first', 2)],
    ])("the caller's own failure comes through as the SDK has it, and nothing is left: %s", async (_what, statusCode, action) => {
      const { fence } = await taken();
      await stage.plain.createEntity(entity('exists', { total: 1 }));
      const failed = fencedTransaction(stage.client, fence, [put('first', 1), action(entity('exists'), entity('absent'))]);
      await expect(failed).rejects.toMatchObject({ name: 'RestError', statusCode, message: expect.stringMatching(/^1:/) });
      expect([await total('first'), await total('exists')]).toEqual([undefined, 1]);
      // Not taken for a lost race, and sent again and again.
      expect(stage.subject.proxy.count(isTransaction)).toBe(1);
    });

    it("I4 a stale holder whose own condition fails too is told that it is stale: what it conditions on is the successor's", async () => {
      const first = await taken();
      await stage.plain.createEntity(entity('exists', { total: 1 }));
      const held = stage.subject.proxy.inject({ match: isTransaction, action: { delayMs: 300, at: 'request' } });
      const late = fencedTransaction(stage.client, first.fence, [['create', entity('exists')]]);
      const refused = expect(late).rejects.toMatchObject({ code: 'STALE_TOKEN' });
      await held.fired;
      await takenOver();
      await refused;
    });

    it('of many at once by one holder all land, each with one read and one write', async () => {
      const { fence } = await taken();
      const many = Array.from({ length: 25 }, (_, n) => fencedTransaction(stage.client, fence, [['create', entity(String(n), { total: n })]]));
      await Promise.all(many);
      expect(await Promise.all(many.map((_, n) => total(String(n))))).toEqual(many.map((_, n) => n));
      expect(methods(stage.subject.proxy.requests).sort()).toEqual([...many.map(() => 'GET 200'), ...many.map(() => 'POST 202')]);
    });

    it('of processes that share a fence, each gets its turn', async () => {
      const { fence } = await taken();
      const processes = Array.from({ length: 4 }, () => stage.subject.client(stage.client.tableName));
      const many = processes.flatMap((one, p) =>
        Array.from({ length: 5 }, (_, n) => fencedTransaction(one, fence, [['create', entity(`${p}-${n}`, { total: n })]])),
      );
      await Promise.all(many);
      for (const p of processes.keys()) for (let n = 0; n < 5; n++) expect(await total(`${p}-${n}`)).toBe(n);
    });

    it('I4 I5 of parties that break in on each other no commit comes after one of a later holder, and no update is lost', async () => {
      const log: { at: string; token: number }[] = [];
      let refused = 0;
      const party = async (): Promise<void> => {
        const own = stage.subject.client(stage.client.tableName);
        for (let n = 0; n < 8; n++) {
          await stage.leases.break(stage.name);
          const got = await tryAcquire(stage.leases, stage.name, { leaseMs: LONG_MS, renew: 'none' });
          if (got.kind !== 'acquired') continue;
          const { fence, token } = got.lease;
          const before = ((await total('count')) ?? 0) as number;
          await pause(Math.random() * 10);
          try {
            const answer = await fencedTransaction(own, fence, [put('count', before + 1)]);
            log.push({ at: String(answer?.subResponses[0]?.etag), token });
          } catch (error) {
            expect(error).toMatchObject({ code: 'STALE_TOKEN' });
            refused += 1;
          }
        }
      };
      await stage.leases.acquire(stage.name, { owner: 'the first', leaseMs: LONG_MS });
      await Promise.all([party(), party(), party(), party(), party()]);
      // Azurite's ETags are times.
      log.sort((a, b) => (a.at < b.at ? -1 : 1));
      expect(log.map(({ token }) => token)).toEqual(log.map(({ token }) => token).sort((a, b) => a - b));
      expect(await total('count')).toBe(log.length);
      expect(log.length).toBeGreaterThan(0);
      expect(refused).toBeGreaterThan(0);
    });
  });
});
