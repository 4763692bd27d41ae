import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { Fence } from '../../../src/core/ports.ts';
import { fencedTransaction } from '../../../src/stores/dynamodb/index.ts';
import { javaAvailable } from '../../support/dynamodb.ts';
import type { FaultAction } from '../../support/proxy.ts';
import { cancelled, fencedStage, isTransaction, LONG_MS, onlyNew } from './dynamodb-fenced-stage.ts';

describe.runIf(await javaAvailable())('fenced transactions on DynamoDB Local', () => {
  const stage = fencedStage();
  const { put, total, write, taken, takenOver } = stage;

  describe('lost answers', () => {
    const faults: readonly (readonly [string, { action: FaultAction; times?: number }, boolean])[] = [
      ['the answer to one try is lost', { action: 'drop-answer' }, true],
      ['the answers to two tries are lost', { action: 'drop-answer', times: 2 }, true],
      ['the answer breaks off', { action: 'half-answer' }, true],
      ['it arrives twice', { action: 'duplicate' }, true],
      ['it never arrives', { action: 'drop-request' }, false],
      ['the service fails', { action: { status: 500 } }, false],
    ];
    const meanwhile: readonly (readonly [string, (fence: Fence) => Promise<unknown>])[] = [
      ['nothing', async () => {}],
      ['its lease is renewed', ({ owner, token }) => stage.leases.renew(stage.name, { owner, token, leaseMs: LONG_MS })],
      ['somebody takes it over', () => takenOver()],
      ['another transaction of its own lands', (fence) => fencedTransaction(stage.plain, fence, [put('other', 1)], { tableName: stage.tableName })],
      [
        'somebody takes it over and writes',
        async () => fencedTransaction(stage.plain, (await takenOver()).fence, [put('report', 9)], { tableName: stage.tableName }),
      ],
    ];
    const cases = faults.flatMap((fault) => meanwhile.map((what) => [...fault, ...what] as const));

    it.each(cases)('I7 %s, and meanwhile $3', async (_fault, fault, applied, what, interfere) => {
      const { fence } = await taken();
      stage.proxy.inject({ match: isTransaction, ...fault });
      const again =
        fault.action === 'duplicate'
          ? undefined
          : stage.proxy.inject({ match: isTransaction, nth: (fault.times ?? 1) + 1, action: { delayMs: 250, at: 'request' } });
      const result = write(fence, [put('report', 1, onlyNew)]).then(
        () => 'landed',
        (error) => error.code ?? error.name,
      );
      if (again === undefined) await result;
      else await again.fired;
      await interfere(fence);
      const isTaken = what.includes('over');
      expect(await result).toBe(!applied && isTaken ? 'STALE_TOKEN' : 'landed');
      expect(await total('report')).toBe(what.includes('writes') ? 9 : !applied && isTaken ? undefined : 1);
    });

    it('I7 what landed is recognised by a later send too, after others were in the way', async () => {
      const { fence } = await taken();
      stage.proxy.inject({ match: isTransaction, action: 'drop-answer' });
      stage.proxy.inject({ match: isTransaction, nth: 2, times: 2, action: cancelled('TransactionConflict', 'None') });
      await write(fence, [put('report', 1, onlyNew)]);
      expect([await total('report'), stage.proxy.count()]).toEqual([1, 4]);
    });

    it('I8 a transaction in doubt that others stay in the way of is WRITE_UNKNOWN', async () => {
      const { fence } = await taken();
      stage.proxy.inject({ match: isTransaction, action: 'drop-answer' });
      stage.proxy.inject({ match: isTransaction, nth: 2, times: 99, action: cancelled('TransactionConflict', 'None') });
      await expect(write(fence, [put('report', 1, onlyNew)])).rejects.toMatchObject({ code: 'WRITE_UNKNOWN' });
    });

    it('I8 no answer to any try is WRITE_UNKNOWN; nobody reached at all is STORE_UNAVAILABLE', async () => {
      const { fence } = await taken();
      stage.proxy.inject({ match: isTransaction, times: 99, action: 'drop-answer' });
      await expect(write(fence, [put('report', 1)])).rejects.toMatchObject({ code: 'WRITE_UNKNOWN' });
      const nowhere = stage.emulator.client({ endpoint: 'http://127.0.0.1:1', maxAttempts: 2 });
      await expect(fencedTransaction(nowhere, fence, [put('report', 2)], { tableName: stage.tableName })).rejects.toMatchObject({
        code: 'STORE_UNAVAILABLE',
      });
    });

    it('I12 no answer at all ends in bounded time, and a late copy changes nothing after a takeover', async () => {
      const { fence } = await taken();
      const held = stage.proxy.inject({ match: isTransaction, times: 99, action: { delayMs: 1_200, at: 'request' } });
      const late = expect(write(fence, [put('report', 1)], { requestTimeoutMs: 400 })).rejects.toMatchObject({ code: 'WRITE_UNKNOWN' });
      await held.fired;
      await late;
      await takenOver();
      await pause(1_300);
      expect(await total('report')).toBeUndefined();
    });

    it("I8 a condition of the caller's that fails while an earlier try may still land is WRITE_UNKNOWN, with that as its cause", async () => {
      const { fence } = await taken();
      await fencedTransaction(stage.plain, fence, [put('report', 0)], { tableName: stage.tableName });
      const client = stage.emulator.client({
        endpoint: stage.proxy.url,
        maxAttempts: 3,
        requestHandler: { requestTimeout: 400, throwOnRequestTimeout: true },
      });
      stage.proxy.inject({ match: isTransaction, action: { delayMs: 2_000, at: 'request' } });
      await expect(fencedTransaction(client, fence, [put('report', 1, onlyNew)], { tableName: stage.tableName })).rejects.toMatchObject({
        code: 'WRITE_UNKNOWN',
        cause: { name: 'TransactionCanceledException', CancellationReasons: [{ Code: 'ConditionalCheckFailed' }, { Code: 'None' }] },
      });
    });

    it('a caller who has gone ends the call', async () => {
      const { fence } = await taken();
      const gone = AbortSignal.abort(new Error('gone'));
      await expect(write(fence, [put('report', 1)], { signal: gone })).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
      expect(stage.proxy.count()).toBe(0);
    });
  });
});
