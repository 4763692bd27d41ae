/**
 * S1: a payment API is retried after a timeout.
 *
 * @module
 */
import type { Expect } from '../support/report.ts';
import type { Order } from './far-side.ts';
import { BACKENDS, type Kind } from './place.ts';
import { type Scenario, WITHOUT } from './scenario.ts';
import type { Stage } from './stage.ts';
import { different, reaches, seen, until } from './watch.ts';

const WORKER = 's1-worker.ts';
const CRASH_LEASE_MS = 5_000;
const order = (orderId: string): Order => ({ orderId, amount: 4200 });
const paying = (orderId: string, leaseMs = 60_000) => ({ order: order(orderId), leaseMs });

export const s1: Scenario = {
  id: 'S1',
  title: 'A payment API is retried after a timeout',
  parts: [
    { on: WITHOUT, shows: 'the order is noted after the charge', play: without },
    ...(['dynamodb', 'azure-tables', 'postgres', 'redis'] as const).map((kind) => ({
      on: BACKENDS[kind],
      shows: 'the key is claimed before the charge',
      play: (expect: Expect, stage: Stage) => guarded(expect, stage, kind),
    })),
  ],
};

async function without(expect: Expect, stage: Stage): Promise<void> {
  const provider = await stage.provider();
  const [victim, other] = await Promise.all([stage.process(WORKER), stage.process(WORKER)]);
  const held = provider.holdNext('charges');
  const lost = seen(victim, 'payAndNote', order('order-1'));
  await reaches(lost, held.arrived);
  await victim.kill();
  held.release();
  expect('killed after the charge: its caller', await lost, 'no answer');
  await other.call('payAndNote', order('order-1'));
  expect('its caller tries again: charges for one order', provider.chargesOf('order-1').length, 2);
}

async function guarded(expect: Expect, stage: Stage, kind: Kind): Promise<void> {
  const provider = await stage.provider();
  const place = await stage.place(kind);
  const [victim, other] = await Promise.all([stage.process(WORKER, place), stage.process(WORKER, place)]);
  const pay = (worker: typeof other, orderId: string) => until<string>(worker, 'pay', paying(orderId), ['IN_FLIGHT']);

  const slow = provider.holdNext('charges');
  const first = seen<string>(victim, 'pay', paying('order-1'));
  await reaches(first, slow.arrived);
  expect('timed out while it is under way: the retry', await seen(other, 'pay', paying('order-1')), 'IN_FLIGHT');
  slow.release();
  const receipt = await first;
  expect('the retry after that has the same receipt', await pay(other, 'order-1'), receipt);
  expect('calls at the provider', provider.keysOf('order-1').length, 1);

  const held = provider.holdNext('charges');
  const lost = seen(victim, 'pay', paying('order-2', CRASH_LEASE_MS));
  await reaches(lost, held.arrived);
  await victim.kill();
  held.release();
  expect('killed after the charge: its caller', await lost, 'no answer');
  expect('the retry at once: may still be under way', await seen(other, 'pay', paying('order-2', CRASH_LEASE_MS)), 'IN_FLIGHT');
  const retried = await pay(other, 'order-2');
  expect('the retry after its lease has a receipt', retried.slice(0, 3), 'ch_');
  expect('calls at the provider', provider.keysOf('order-2').length, 2);
  expect('different keys of those calls', different(provider.keysOf('order-2')), 1);
  expect('charges for that order', provider.chargesOf('order-2').length, 1);

  const answers = await Promise.all(Array.from({ length: 10 }, () => pay(other, 'order-2')));
  expect('ten more retries: different receipts', different([retried, ...answers]), 1);
  expect(
    'the same order with another amount',
    await seen(other, 'pay', { ...paying('order-2'), order: { orderId: 'order-2', amount: 1 } }),
    'KEY_REUSED',
  );
  expect('calls at the provider, charges', [provider.keysOf('order-2').length, provider.chargesOf('order-2').length], [2, 1]);
}
