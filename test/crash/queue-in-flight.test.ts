import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { WorkerProcess } from '../../scripts/demo/calls.ts';
import { deliveriesOf, type Orders, type QueueStage, startQueueStage } from './queue-stage.ts';
import { type Consumer, MAX_DEQUEUE_COUNT, type Order } from './queue-task.ts';

const LEASE_MS = 2_500;
/** A message is visible again long before the work on it is done. */
const CONSUMER = { leaseMs: LEASE_MS, workMs: 20, batchSize: 1, hiddenS: 1, retryAfterS: 0 };
const LIMIT_MS = 30_000;
// Each process loads an SDK first: slow on a busy machine.
vi.setConfig({ testTimeout: 60_000 });

let stage: QueueStage;
beforeAll(async () => {
  stage = await startQueueStage();
});
afterAll(() => stage?.stop());

async function until<T>(look: () => T | undefined | false | Promise<T | undefined | false>): Promise<T> {
  for (const endsAtMs = performance.now() + LIMIT_MS; performance.now() < endsAtMs; await pause(20)) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
  }
  throw new Error('it did not come to that');
}

/** The first process is at work on an order, and holds it; the second has the same message. */
async function twoAtOnce(
  name: string,
  more: Partial<Consumer> = {},
): Promise<{ orders: Orders; order: Order; first: WorkerProcess; second: WorkerProcess }> {
  const orders = await stage.orders(name, { ...CONSUMER, ...more });
  const order: Order = { orderId: name, amount: 1, work: 'hold' };
  const first = await orders.consume();
  const begun = first.call('begun');
  await orders.send(order);
  await begun;
  const second = await orders.consume({ hiddenS: 30 });
  await until(() => deliveriesOf(second).length > 0);
  return { orders, order, first, second };
}

describe('a queue message that comes again while the first delivery of it is still at work', () => {
  it('I2 I6 is not acknowledged and not run: the loser waits as long as the lease, then throws, and few deliveries are used up', async () => {
    const { orders, order, first, second } = await twoAtOnce('held');
    const refused = await until(() => {
      const released = deliveriesOf(second).filter(({ end }) => end === 'released');
      return released.length === 2 && released;
    });
    expect(refused.map(({ error }) => error)).toEqual(['IN_FLIGHT', 'IN_FLIGHT']);
    for (const { tookMs } of refused) expect(tookMs).toBeGreaterThanOrEqual(LEASE_MS * 0.9);
    // While the first is at work, the message stays.
    expect([await orders.left(), stage.provider.chargesOf(order.orderId).length]).toEqual([1, 0]);

    await first.call('letGo');
    const last = await until(() => deliveriesOf(second).find(({ end }) => end === 'deleted'));
    expect(last.dequeueCount).toBeLessThan(MAX_DEQUEUE_COUNT);
    expect(deliveriesOf(second).filter(({ end }) => end === 'poisoned')).toEqual([]);
    // The first comes too late to delete it: its receipt has been overtaken.
    await until(() => deliveriesOf(first).some(({ end }) => end === 'taken-away'));
    expect([await orders.left(), await orders.poisoned()]).toEqual([0, []]);
    expect(stage.provider.chargesOf(order.orderId)).toHaveLength(1);
    expect((await orders.witnessed()).map(({ what, attempt }) => [what, attempt])).toEqual([
      ['begun', 1],
      ['ended', 1],
    ]);
  });

  it('I2 is acknowledged as soon as the first is done, if that is within the wait', async () => {
    const { orders, order, first, second } = await twoAtOnce('short');
    await first.call('letGo');
    const [, settled] = await until(() => deliveriesOf(second).length > 1 && deliveriesOf(second));
    expect(settled).toMatchObject({ end: 'deleted', dequeueCount: 2 });
    expect([await orders.left(), stage.provider.chargesOf(order.orderId).length, (await orders.witnessed()).length]).toEqual([0, 1, 2]);
  });

  it('I2 told to refuse instead of waiting, uses up all its deliveries and is poison, while the first succeeds: what the wait is for', async () => {
    const { orders, order, first, second } = await twoAtOnce('refused', { onInFlight: 'refuse' });
    await until(() => deliveriesOf(second).some(({ end }) => end === 'poisoned'));
    expect(await orders.poisoned()).toEqual([order]);
    await first.call('letGo');
    await until(() => stage.provider.chargesOf(order.orderId).length === 1);
  });
});
