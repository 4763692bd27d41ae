/**
 * S5: a serverless function writes, crashes, and a new instance gets the same request.
 *
 * @module
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Expect } from '../support/report.ts';
import { BACKENDS, type Kind } from './place.ts';
import { type Scenario, WITHOUT } from './scenario.ts';
import type { Stage } from './stage.ts';
import { logged, reaches, seen } from './watch.ts';

interface Answer {
  readonly status: number;
  readonly replayed: boolean;
  readonly body: string;
}

const WORKER = 's5-worker.ts';

export const s5: Scenario = {
  id: 'S5',
  title: 'A function writes, crashes, and a new instance gets the same request',
  parts: [
    { on: WITHOUT, shows: 'what was done is remembered in the process', play: without },
    ...(['azure-tables', 'dynamodb'] as const).map((kind) => ({
      on: BACKENDS[kind],
      shows: kind === 'dynamodb' ? 'idempotentHttp on Lambda' : 'idempotentHttp on Azure Functions, state by ETag',
      play: (expect: Expect, stage: Stage) => guarded(expect, stage, kind),
    })),
  ],
};

async function without(expect: Expect, stage: Stage): Promise<void> {
  const provider = await stage.provider();
  const [victim, fresh] = await Promise.all([stage.process(WORKER), stage.process(WORKER)]);
  const lost = seen(victim, 'payRemembering', { orderId: 'order-1' });
  await reaches(lost, logged(victim, 'done'));
  await victim.kill();
  expect('killed before it could answer: its caller', await lost, 'no answer');
  await seen(fresh, 'payRemembering', { orderId: 'order-1', answers: true });
  expect('a new instance: charges for one order', provider.chargesOf('order-1').length, 2);
}

async function guarded(expect: Expect, stage: Stage, kind: Kind): Promise<void> {
  const provider = await stage.provider();
  const place = await stage.place(kind);
  const [one, two, fresh] = await Promise.all([stage.process(WORKER, place), stage.process(WORKER, place), stage.process(WORKER, place)]);

  const lost = seen(one, 'post', { orderId: 'order-1', answers: false });
  await reaches(lost, logged(one, 'done'));
  await one.kill();
  expect('killed before it could answer: its caller', await lost, 'no answer');
  const again = await fresh.call<Answer>('post', { orderId: 'order-1', answers: true });
  expect('a new instance, status', again.status, 201);
  expect('replayed', again.replayed, true);
  expect('the body', again.body, '{"chargeId":"ch_0002"}');
  expect('charges for one order, calls', [provider.chargesOf('order-1').length, provider.keysOf('order-1').length], [1, 1]);

  const held = provider.holdNext('charges');
  const halfway = seen(two, 'post', { orderId: 'order-2', answers: false });
  await reaches(halfway, held.arrived);
  held.release();
  // The first of two steps is kept; the second one hangs.
  const second = provider.holdNext('charges');
  await reaches(halfway, second.arrived);
  await two.kill();
  second.release();
  expect('killed between two steps: its caller', await halfway, 'no answer');
  const early = await fresh.call<Answer>('post', { orderId: 'order-2', answers: true });
  expect('a new instance at once', early.status, 409);
  let late = early;
  for (const endsAtMs = performance.now() + 60_000; late.status === 409 && performance.now() < endsAtMs; await pause(100)) {
    late = await fresh.call<Answer>('post', { orderId: 'order-2', answers: true });
  }
  expect('and when the lease has run out', late.status, 201);
  expect('calls for the step that was done: not again', provider.keysOf('order-2/reserve').length, 1);
  expect('calls for the one in doubt: again, the same key', new Set(provider.keysOf('order-2')).size, 1);
  expect('charges for it', provider.chargesOf('order-2').length, 1);
}
