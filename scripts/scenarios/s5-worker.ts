/**
 * S5: an instance of an HTTP function, on Lambda or on Azure Functions.
 *
 * @module
 */
import { randomUUID } from 'node:crypto';
import type { RecordStore, Run } from '../../src/index.ts';
import { httpApiEvent, lambdaContext } from '../../test/support/aws-events.ts';
import { serve } from '../demo/calls.ts';
import { installFunctionsCore } from '../support/functions-host.ts';
import { charge } from './far-side.ts';
import { placeGiven, storeReady } from './place.ts';

interface Post {
  readonly orderId: string;
  /** false: the process hangs when all is done, and the answer never leaves it. */
  readonly answers?: boolean;
}

interface Answer {
  readonly status: number;
  readonly replayed: boolean;
  readonly body: string;
}

const LEASE_MS = 5_000;
const OPTIONS = { operation: 'payments/charge', scope: 'public', leaseMs: LEASE_MS } as const;

async function pay(orderId: string, run: Run): Promise<{ chargeId: string }> {
  await run.step('reserve', () => charge({ orderId: `${orderId}/reserve`, amount: 0 }, run.keyFor('reserve')));
  return { chargeId: await charge({ orderId, amount: 4200 }, run.keyFor('charge')) };
}

async function onAzure(store: RecordStore): Promise<(orderId: string) => Promise<Answer>> {
  const host = installFunctionsCore();
  const { app } = (await import('@azure/functions')).default;
  const { idempotentHttp } = await import('../../src/adapters/azure-functions/index.ts');
  app.http('pay', {
    methods: ['POST'],
    handler: idempotentHttp({ ...OPTIONS, store }, async (request, _context, run) => {
      const { orderId } = (await request.json()) as Post;
      return { status: 201, jsonBody: await pay(orderId, run) };
    }),
  });
  await host.start();
  return async (orderId) => {
    const headers = { 'content-type': 'application/json', 'idempotency-key': orderId };
    const { status, headers: answered, body } = await host.http('pay', { headers, body: JSON.stringify({ orderId }) });
    return { status, replayed: isReplay(answered), body: body.toString() };
  };
}

async function onLambda(store: RecordStore): Promise<(orderId: string) => Promise<Answer>> {
  const { idempotentHttp } = await import('../../src/adapters/aws-lambda/index.ts');
  const handler = idempotentHttp({ ...OPTIONS, store }, async (event: { body?: string | null }, _context, run) => {
    const { orderId } = JSON.parse(event.body ?? '') as Post;
    return { statusCode: 201, headers: { 'content-type': 'application/json' }, body: JSON.stringify(await pay(orderId, run)) };
  });
  return async (orderId) => {
    const event = httpApiEvent({ headers: { 'content-type': 'application/json', 'idempotency-key': orderId }, body: JSON.stringify({ orderId }) });
    const answer = (await handler(
      event,
      lambdaContext(() => 5_000),
    )) as { statusCode: number; headers: Record<string, string>; body: string };
    return { status: answer.statusCode, replayed: isReplay(answer.headers), body: answer.body };
  };
}

const isReplay = (headers: Readonly<Record<string, string>>): boolean =>
  Object.entries(headers).some(([name, value]) => name.toLowerCase() === 'idempotent-replayed' && value === 'true');

const place = placeGiven('azure-tables', 'dynamodb');
const send = place === null ? undefined : await (place.kind === 'dynamodb' ? onLambda : onAzure)(await storeReady(place));
const remembered = new Set<string>();

async function leave(answers: boolean): Promise<void> {
  log('done');
  if (!answers) await new Promise(() => {});
}

const { log } = serve({
  async payRemembering({ orderId, answers = false }: Post) {
    if (remembered.has(orderId)) return;
    await charge({ orderId, amount: 4200 }, randomUUID());
    remembered.add(orderId);
    await leave(answers);
  },
  async post({ orderId, answers = false }: Post) {
    const answer = await send?.(orderId);
    await leave(answers);
    return answer;
  },
});
