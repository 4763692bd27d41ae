import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import type { Fence } from '../../../src/core/ports.ts';
import { fencedTransaction } from '../../../src/stores/azure-tables/index.ts';
import type { FaultAction } from '../../support/proxy.ts';
import { fencedStage, isLook, isTransaction, LONG_MS } from './azure-tables-fenced-stage.ts';

describe('fenced transactions on Table Storage', () => {
  const stage = fencedStage();
  const { entity, put, total, taken, takenOver } = stage;

  describe('lost answers', () => {
    const times = 3;
    const faults: readonly (readonly [string, { action: FaultAction; times?: number }, boolean])[] = [
      ['the answer to one try is lost', { action: 'drop-answer' }, true],
      ['the answers to all tries are lost', { action: 'drop-answer', times }, true],
      ['the answer breaks off', { action: 'half-answer', times }, true],
      ['it arrives twice', { action: 'duplicate' }, true],
      ['it never arrives', { action: 'drop-request', times }, false],
      ['the service fails', { action: { status: 500 }, times }, false],
      ['somebody answers in its stead', { action: { status: 202 } }, false],
    ];
    const meanwhile: readonly (readonly [string, (fence: Fence) => Promise<unknown>])[] = [
      ['nothing', async () => {}],
      ['its lease is renewed', ({ owner, token }) => stage.leases.renew(stage.name, { owner, token, leaseMs: LONG_MS })],
      ['somebody takes it over', () => takenOver()],
      ['another transaction of its own lands', (fence) => fencedTransaction(stage.plain, fence, [put('other', 1)])],
      ['somebody takes it over and writes', async () => fencedTransaction(stage.plain, (await takenOver()).fence, [put('other', 1)])],
    ];
    const cases = faults.flatMap((fault) => meanwhile.map((what) => [...fault, ...what] as const));

    it.each(cases)('I7 %s, and meanwhile $3', async (_fault, fault, applied, what, interfere) => {
      const { fence } = await taken();
      stage.subject.proxy.inject({ match: isTransaction, ...fault });
      // Held up until the other thing has happened: the second look is the one after the fault.
      const looking = stage.subject.proxy.inject({ match: isLook, nth: 2, action: { delayMs: 250, at: 'request' } });
      const write = fencedTransaction(stage.client, fence, [['create', entity('report', { total: 1 })]]);
      const result = write.then(
        () => 'landed',
        (error) => error.code,
      );
      await looking.fired;
      await interfere(fence);
      const isTaken = what.includes('over');
      expect(await result).toBe(!applied && isTaken ? 'STALE_TOKEN' : 'landed');
      expect(await total('report')).toBe(!applied && isTaken ? undefined : 1);
    });

    it('I8 a transaction in doubt that cannot be looked up is WRITE_UNKNOWN, not a conflict', async () => {
      const { fence } = await taken();
      stage.subject.proxy.inject({ nth: 2, times: 99, action: 'drop-answer' });
      await expect(fencedTransaction(stage.client, fence, [put('report', 1)])).rejects.toMatchObject({ code: 'WRITE_UNKNOWN' });
      stage.subject.proxy.clear();
      // One try lost, the next refused, and then nobody to ask.
      stage.subject.proxy.inject({ match: isTransaction, action: 'drop-answer' });
      stage.subject.proxy.inject({ match: isLook, nth: 2, times: 99, action: 'drop-request' });
      await expect(fencedTransaction(stage.client, fence, [['create', entity('new')]])).rejects.toMatchObject({ code: 'WRITE_UNKNOWN' });
    });

    it('I8 what was bound to a row that has changed since is no doubt any more: a refusal after that is one', async () => {
      const { fence } = await taken();
      stage.subject.proxy.inject({ match: isTransaction, times, action: 'drop-request' });
      stage.subject.proxy.inject({ match: isTransaction, nth: times + 1, times: 99, action: { status: 429 } });
      const looking = stage.subject.proxy.inject({ match: isLook, nth: 2, action: { delayMs: 250, at: 'request' } });
      const write = expect(fencedTransaction(stage.client, fence, [put('report', 1)])).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
      await looking.fired;
      await stage.leases.renew(stage.name, { ...fence, leaseMs: LONG_MS });
      await write;
      stage.subject.proxy.clear();
      stage.subject.proxy.inject({ match: isTransaction, times, action: 'drop-request' });
      stage.subject.proxy.inject({ match: isTransaction, nth: times + 1, times: 99, action: { status: 429 } });
      await expect(fencedTransaction(stage.client, fence, [put('report', 1)])).rejects.toMatchObject({ code: 'WRITE_UNKNOWN' });
      expect(await total('report')).toBeUndefined();
    });

    it('I8 whose mark may have been pushed out by those of others is told WRITE_UNKNOWN', async () => {
      const { fence } = await taken();
      stage.subject.proxy.inject({ match: isTransaction, action: 'drop-answer', times });
      const looking = stage.subject.proxy.inject({ match: isLook, nth: 2, action: { delayMs: 3_000, at: 'request' } });
      const write = expect(fencedTransaction(stage.client, fence, [put('report', 1)])).rejects.toMatchObject({ code: 'WRITE_UNKNOWN' });
      await looking.fired;
      for (let n = 0; n < 16; n++) await fencedTransaction(stage.plain, fence, [put('other', n)]);
      await write;
    });

    it('I12 no answer at all ends in bounded time, and a late copy changes nothing after a takeover', async () => {
      const { fence } = await taken();
      stage.subject.proxy.inject({ match: isTransaction, times: 99, action: { delayMs: 1_500, at: 'request' } });
      const write = fencedTransaction(stage.client, fence, [put('report', 1)], { requestTimeoutMs: 300 });
      await expect(write).rejects.toMatchObject({ code: 'WRITE_UNKNOWN' });
      await takenOver();
      await pause(1_500);
      expect(await total('report')).toBeUndefined();
    });

    it("I8 a conflict of the caller's own while an earlier try may still land is WRITE_UNKNOWN, with the conflict as its cause", async () => {
      const { fence } = await taken();
      await stage.plain.createEntity(entity('report', { total: 0 }));
      stage.subject.proxy.inject({ match: isTransaction, action: { delayMs: 1_500, at: 'request' } });
      const write = fencedTransaction(stage.client, fence, [['create', entity('report', { total: 1 })]], { requestTimeoutMs: 500 });
      await expect(write).rejects.toMatchObject({ code: 'WRITE_UNKNOWN', cause: { statusCode: 409 } });
      const { partitionKey, rowKey } = entity('report');
      await stage.plain.deleteEntity(partitionKey, rowKey);
      await vi.waitFor(async () => expect(await total('report')).toBe(1), 5_000);
    });

    it('a caller who has gone while others are before it in the line is told at once, and its turn never comes', async () => {
      const { fence } = await taken();
      const held = stage.subject.proxy.inject({ match: isTransaction, action: { delayMs: 1_500, at: 'request' } });
      const before = fencedTransaction(stage.client, fence, [put('before', 1)]);
      await held.fired;
      const gone = new AbortController();
      const write = fencedTransaction(stage.client, fence, [put('report', 1)], { signal: gone.signal });
      const behind = fencedTransaction(stage.client, fence, [put('behind', 1)]);
      const goneAtMs = Date.now();
      gone.abort();
      await expect(write).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
      expect(Date.now() - goneAtMs).toBeLessThan(500);
      await Promise.all([before, behind]);
      expect([await total('before'), await total('report'), await total('behind')]).toEqual([1, undefined, 1]);
    });

    it('a caller who has gone ends the call', async () => {
      const { fence } = await taken();
      const gone = new AbortController();
      const held = stage.subject.proxy.inject({ match: isLook, action: 'stall' });
      const write = fencedTransaction(stage.client, fence, [put('report', 1)], { signal: gone.signal });
      const ended = expect(write).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
      await held.fired;
      gone.abort();
      await ended;
      expect(await total('report')).toBeUndefined();
    });
  });
});
