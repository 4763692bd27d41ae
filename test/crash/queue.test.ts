import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { deliveriesOf, type QueueStage, startQueueStage } from './queue-stage.ts';
import { MAX_DEQUEUE_COUNT, type Order, type Witnessed } from './queue-task.ts';

const ORDERS = 40;
const SENT_TWICE = 12;
const KILLS = 6;
const WORK_MS = 200;
const LEASE_MS = 2_500;
/** Longer than the lease with what the service's clock is uncertain about: a message that a crash left behind meets a lease that has run out. */
const HIDDEN_S = 5;
const SEED = 20_251;
const LIMIT_MS = 55_000;

/** xorshift32: the same kills for the same seed, as far as clocks allow. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}

let stage: QueueStage;
beforeAll(async () => {
  stage = await startQueueStage();
});
afterAll(() => stage?.stop());

it(
  `I1 I3 I6 I10 ${ORDERS} orders, ${SENT_TWICE} of them sent twice, and ${KILLS} consumers killed at work: no order is lost, none is charged twice, poison is put aside`,
  async () => {
    const endsAtMs = performance.now() + LIMIT_MS;
    const random = randomFrom(SEED);
    const orders = await stage.orders('orders', { leaseMs: LEASE_MS, workMs: WORK_MS, batchSize: 2, hiddenS: HIDDEN_S, retryAfterS: 1 });
    const all: Order[] = Array.from({ length: ORDERS }, (_, n) => ({ orderId: `order-${n}`, amount: n + 1, work: 'charge' }));
    const bad: Order = { orderId: 'order-bad', amount: 1, work: 'throw' };
    await orders.send(bad);
    for (const [n, order] of all.entries()) {
      await orders.send(order);
      // At once: the second may meet the first at work.
      if (n < SENT_TWICE / 2) await orders.send(order);
    }

    const ever = await Promise.all([orders.consume(), orders.consume()]);
    const alive = [...ever];
    const killedAtMs = new Map<number, number>();
    for (let n = 0; n < KILLS; n++) {
      const [victim] = alive.splice(Math.floor(random() * alive.length), 1);
      if (victim === undefined) throw new Error('nobody to kill');
      await victim.call('begun');
      await pause(random() * WORK_MS);
      await victim.kill();
      killedAtMs.set(victim.pid, Date.now());
      const next = await orders.consume();
      ever.push(next);
      alive.push(next);
    }
    // Late: the second meets what the first came to.
    for (const order of all.slice(0, SENT_TWICE / 2)) await orders.send(order);
    while ((await orders.left()) > 0) {
      expect(performance.now(), 'messages are left in the queue').toBeLessThan(endsAtMs);
      await pause(100);
    }

    for (const { orderId } of all) expect(stage.provider.chargesOf(orderId), orderId).toHaveLength(1);
    expect(await orders.poisoned()).toEqual([bad]);
    expect(stage.provider.chargesOf(bad.orderId)).toEqual([]);

    const witnessed = await orders.witnessed();
    const begun = witnessed.filter(({ what }) => what === 'begun');
    const of = ({ orderId }: Order, lines: readonly Witnessed[]): Witnessed[] => lines.filter((line) => line.orderId === orderId);
    for (const order of all) {
      // Only a crash makes the work begin again, and only after the crash.
      for (const [at, later] of of(order, begun).slice(1).entries()) {
        const earlier = of(order, begun)[at] as Witnessed;
        expect(killedAtMs.has(earlier.pid), `${order.orderId} began again though nobody was killed`).toBe(true);
        expect(later.atMs, order.orderId).toBeGreaterThan((killedAtMs.get(earlier.pid) ?? 0) - SIGNAL_MS);
        expect(later.attempt, order.orderId).toBeGreaterThan(earlier.attempt);
      }
    }
    expect(of(bad, begun).length).toBeLessThanOrEqual(MAX_DEQUEUE_COUNT);

    // Without crashes at work, and messages that came again, the test would have shown nothing.
    const deliveries = ever.flatMap(deliveriesOf);
    const again = all.filter((order) => of(order, begun).length > 1).length;
    const deleted = deliveries.filter(({ end }) => end === 'deleted').length;
    console.log(`${deliveries.filter(({ end }) => end === 'received').length} deliveries, ${deleted} deleted, ${again} orders begun again`);
    expect(again).toBeGreaterThan(0);
    expect(deleted).toBeGreaterThan(ORDERS);
  },
  LIMIT_MS + 5_000,
);

/** The kill is noted when the process is gone; it was sent a little earlier. */
const SIGNAL_MS = 50;
