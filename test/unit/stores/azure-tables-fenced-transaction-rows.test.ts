import { setTimeout as pause } from 'node:timers/promises';
import type { TransactionAction } from '@azure/data-tables';
import { describe, expect, it } from 'vitest';
import type { Fence } from '../../../src/core/ports.ts';
import { decideAcquire } from '../../../src/core/store-leases.ts';
import { runOnce, storeLeases, tryAcquire } from '../../../src/index.ts';
import { rowOf } from '../../../src/stores/azure-tables/fence-rows.ts';
import { fencedTransaction, fencePartition, tableStore } from '../../../src/stores/azure-tables/index.ts';
import { fencedStage, LONG_MS } from './azure-tables-fenced-stage.ts';
import { all, freshId, isWrite, methods } from './azure-tables-subject.ts';

describe('fenced transactions on Table Storage', () => {
  const stage = fencedStage();
  const { put, total, taken } = stage;

  describe('the rows', () => {
    it('I11 costs a read and a write; the next renewal costs two more, and the completion of a run', async () => {
      const own = tableStore({ client: stage.client });
      const through = storeLeases(own);
      const owner = freshId();
      const got = await through.acquire(stage.name, { owner, leaseMs: LONG_MS });
      if (got.kind !== 'acquired') throw new Error(got.kind);
      const holder = { owner, token: got.token, leaseMs: LONG_MS };
      stage.subject.proxy.clear();
      await fencedTransaction(stage.client, { id: stage.name, ...holder }, [put('report', 1)]);
      expect(methods(stage.subject.proxy.requests)).toEqual(['GET 200', 'POST 202']);
      stage.subject.proxy.clear();
      expect(await through.renew(stage.name, holder)).toBe('renewed');
      expect(methods(stage.subject.proxy.requests)).toEqual(['PUT 412', 'GET 200', 'PUT 204']);
      stage.subject.proxy.clear();
      expect(await through.renew(stage.name, holder)).toBe('renewed');
      expect(methods(stage.subject.proxy.requests)).toEqual(['PUT 204']);
      stage.subject.proxy.clear();
      await runOnce({ store: own, operation: 'test/cost', key: stage.name }, async ({ fence }) => {
        stage.partitionKey = fencePartition((fence as Fence).id);
        await fencedTransaction(stage.client, fence as Fence, [put('report', 1)]);
      });
      expect(methods(stage.subject.proxy.requests)).toEqual(['POST 204', 'GET 200', 'POST 202', 'PUT 412', 'GET 200', 'PUT 204']);
    });

    it('I5 the lease keeps its record, and what is beside it is no record', async () => {
      const lease = await taken();
      const before = await stage.leases.read(stage.name);
      const rows = async () => (await all(stage.store, {})).filter(({ record }) => record.label?.includes(stage.name));
      const [row] = await rows();
      await fencedTransaction(stage.client, lease.fence, [put('report', 1)]);
      const [after, ...others] = await rows();
      expect(others).toEqual([]);
      expect(after?.record).toEqual({ ...row?.record, writtenAtMs: after?.record.writtenAtMs, leaseMs: after?.record.leaseMs });
      expect(after?.record.leaseMs).toBeLessThanOrEqual(LONG_MS);
      expect(await stage.leases.read(stage.name)).toMatchObject({ ...before, remainingMs: expect.any(Number) });
      await lease.renew();
      expect(await lease.release()).toBe('released');
      await taken();
    });

    it("I4 however often consumers write, a dead holder's lease ends, a minimum hold does too, and what has ended does not begin anew", async () => {
      const lease = await taken(2_000);
      const begunAtMs = Date.now();
      const until = async (isFree: () => Promise<boolean>, fence: Fence) => {
        while (!(await isFree())) {
          expect(Date.now() - begunAtMs).toBeLessThan(14_000);
          await fencedTransaction(stage.plain, fence, [put('report', 1)]);
          await pause(400);
        }
        return Date.now() - begunAtMs;
      };
      // Lease and uncertainty, the seconds that a Date is cut to, and one turn.
      const endedAfterMs = await until(async () => (await stage.leases.read(stage.name))?.held === false, lease.fence);
      expect(endedAfterMs).toBeGreaterThan(2_000);
      expect(endedAfterMs).toBeLessThan(6_500);
      const { owner, token } = lease.fence;
      await stage.leases.release(stage.name, { owner, token, holdMs: 1_000 });
      const next = { owner: freshId(), leaseMs: LONG_MS };
      const isFree = async () =>
        decideAcquire(await stage.store.read(rowOf(stage.name, { partitions: 256 }).rowKey), next, Date.now(), 1_000).kind === 'claim';
      await until(isFree, lease.fence);
      await fencedTransaction(stage.plain, lease.fence, [put('report', 2)]);
      expect(await isFree()).toBe(true);
      expect(await stage.leases.acquire(stage.name, next)).toMatchObject({ kind: 'acquired' });
    }, 30_000);

    it('I6 a renewal begins a new end, which the transactions after it keep', async () => {
      const { fence } = await taken(3_000);
      await fencedTransaction(stage.plain, fence, [put('report', 1)]);
      expect(await stage.leases.renew(stage.name, { ...fence, leaseMs: LONG_MS })).toBe('renewed');
      await fencedTransaction(stage.plain, fence, [put('report', 2)]);
      await fencedTransaction(stage.plain, fence, [put('report', 3)]);
      const { remainingMs } = (await stage.leases.read(stage.name)) ?? {};
      expect(remainingMs).toBeGreaterThan(LONG_MS - 5_000);
      expect(remainingMs).toBeLessThanOrEqual(LONG_MS);
    });

    it("list and purge take rows by their row keys: a caller's own may have any columns", async () => {
      const { fence } = await taken();
      const own = (row: string, columns: object): TransactionAction => ['upsert', stage.entity(row, columns), 'Replace'];
      await fencedTransaction(stage.client, fence, [own('a', { schema: 2, revision: 'b' }), own('b', { schema: 1, revision: 4, fenceWrites: 'x' })]);
      const found = (await all(stage.store, {})).filter(
        ({ id }) => id === rowOf(stage.name, { partitions: 256 }).rowKey || id.startsWith(stage.name),
      );
      expect(found.map(({ id }) => id)).toEqual([rowOf(stage.name, { partitions: 256 }).rowKey]);
      expect(await stage.store.purge({})).toEqual({ removed: 0 });
    });

    it('I5 purge removes the marks that are older than an hour, and leaves the lease and the entities', async () => {
      const table = stage.subject.client();
      let hours = 0;
      table.pipeline.addPolicy({
        name: 'later',
        async sendRequest(request, next) {
          const response = await next(request);
          response.headers.set('date', new Date(Date.parse(response.headers.get('date') ?? '') + hours * 3_600_000).toUTCString());
          return response;
        },
      });
      const own = tableStore({ client: table });
      await own.setUp();
      const kept = storeLeases(own);
      const got = await tryAcquire(kept, stage.name, { renew: 'none' });
      if (got.kind !== 'acquired') throw new Error(got.kind);
      await fencedTransaction(table, got.lease.fence, [put('report', 1)]);
      const left = async () => {
        const found: string[] = [];
        for await (const { rowKey } of table.listEntities()) found.push(String(rowKey).replace(/^r1_.{43}/, 'lease'));
        return found.sort();
      };
      await own.purge({});
      expect(await left()).toEqual(['lease', 'lease.fenced', `${stage.name}-report`]);
      hours = 2;
      await own.purge({ operation: 'another' });
      expect(await left()).toHaveLength(3);
      await own.purge({});
      expect(await left()).toEqual(['lease', `${stage.name}-report`]);
      hours = 0;
      await fencedTransaction(table, got.lease.fence, [put('report', 2)]);
      expect(await left()).toHaveLength(3);
    });
  });

  it('with as many partitions as the store has', async () => {
    const few = tableStore({ client: stage.plain, partitions: 3 });
    const got = await tryAcquire(storeLeases(few), stage.name, { renew: 'none' });
    if (got.kind !== 'acquired') throw new Error(got.kind);
    stage.partitionKey = fencePartition(stage.name, { partitions: 3 });
    expect(stage.partitionKey).toMatch(/^rs000[012]$/);
    await fencedTransaction(stage.client, got.lease.fence, [put('report', 1)], { partitions: 3 });
    expect(await total('report')).toBe(1);
  });

  it('takes 98 actions and none', async () => {
    const { fence } = await taken();
    await fencedTransaction(
      stage.client,
      fence,
      Array.from({ length: 98 }, (_, n) => put(String(n), n)),
    );
    expect(await total('97')).toBe(97);
    expect(await fencedTransaction(stage.client, fence, [])).toMatchObject({ subResponses: [] });
  });

  it('refuses, before anything is sent, what could not be or must not be', async () => {
    const { fence } = await taken();
    const problems = (...texts: string[]) => ({ code: 'INVALID_OPTIONS', facts: { problems: texts.map((text) => expect.stringContaining(text)) } });
    const wrong = (actions: unknown, changes: object = {}, options: object = {}) =>
      fencedTransaction(stage.client, { ...fence, ...changes }, actions as TransactionAction[], options);
    await expect(wrong([['upsert', { partitionKey: 'reports', rowKey: 'x' }], put('a', 1)])).rejects.toMatchObject(problems('action 0'));
    await expect(wrong([['delete', { partitionKey: stage.partitionKey, rowKey: `r1_${'a'.repeat(43)}` }]])).rejects.toMatchObject(
      problems('row of the store'),
    );
    await expect(wrong(Array.from({ length: 99 }, (_, n) => put(String(n), n)))).rejects.toMatchObject(problems('at most 98'));
    await expect(wrong('report')).rejects.toMatchObject(problems('array'));
    const keys = { partitionKey: stage.partitionKey, rowKey: 'x' };
    for (const verb of ['insert', 'merge', 'replace', 'toString']) {
      await expect(wrong([put('a', 1), [verb, keys]])).rejects.toMatchObject(problems('action 1'));
    }
    const odd = [undefined, null, 7, {}, keys, [], ['create'], ['create', null], ['upsert', { partitionKey: stage.partitionKey }]];
    for (const action of odd) await expect(wrong([action])).rejects.toMatchObject(problems('action 0'));
    await expect(wrong([], { token: 1.5 })).rejects.toMatchObject(problems('token'));
    await expect(wrong([], { owner: undefined })).rejects.toMatchObject(problems('owner'));
    await expect(wrong([], {}, { partition: 3, requestTimeoutMs: 0 })).rejects.toMatchObject(problems('partition', 'requestTimeoutMs'));
    expect(() => fencePartition('')).toThrow('id');
    expect(stage.subject.proxy.count(isWrite)).toBe(0);
    expect(stage.subject.proxy.count()).toBe(0);
  });
});
