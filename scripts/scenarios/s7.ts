/**
 * S7: a caller's timeout is taken for failure.
 *
 * @module
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { FaultProxy, ProxiedRequest } from '../../test/support/faults.ts';
import { startFaultProxy } from '../../test/support/proxy.ts';
import { postgresFraming, startTcpFaultProxy } from '../../test/support/tcp-proxy.ts';
import type { Expect } from '../support/report.ts';
import { type At, BACKENDS, poolAt } from './place.ts';
import { type Scenario, WITHOUT } from './scenario.ts';
import type { Stage } from './stage.ts';
import { logged, reaches, seen, until } from './watch.ts';

type Kind = 'postgres' | 'dynamodb' | 'azure-tables';

const WORKER = 's7-worker.ts';
const AT_WORK = 'at work';
const PATIENCE_MS = 300;

export const s7: Scenario = {
  id: 'S7',
  title: "A caller's timeout is taken for failure",
  parts: [
    { on: WITHOUT, shows: 'an order is inserted, on PostgreSQL', play: without },
    ...(['postgres', 'dynamodb', 'azure-tables'] as const).map((kind) => ({
      on: BACKENDS[kind],
      shows: kind === 'postgres' ? 'runInTransaction' : 'commitWith',
      play: (expect: Expect, stage: Stage) => guarded(expect, stage, kind),
    })),
  ],
};

async function placeFor(stage: Stage, kind: Kind): Promise<At<Kind>> {
  const place = await stage.place(kind);
  if (place.kind === 'postgres') {
    const pool = await poolAt(place, 1);
    await pool.query('CREATE TABLE orders (order_id text NOT NULL, receipt text NOT NULL)');
    await pool.end();
  }
  return place;
}

const patiently = <T>(call: Promise<T>): Promise<T | string> => Promise.race([call, pause(PATIENCE_MS, 'timed out')]);

async function without(expect: Expect, stage: Stage): Promise<void> {
  const place = await placeFor(stage, 'postgres');
  const [a, b] = await Promise.all([stage.process(WORKER, place), stage.process(WORKER, place)]);
  const first = seen(a, 'takePlain', { orderId: 'order-1', waits: true });
  await reaches(first, logged(a, AT_WORK));
  expect('the receiver is slow, its caller gives up', await patiently(first), 'timed out');
  await b.call('takePlain', { orderId: 'order-1' });
  await a.call('goOn');
  await first;
  expect('and tries again: orders', (await b.call<{ rows: number }>('look', { orderId: 'order-1' })).rows, 2);
}

async function guarded(expect: Expect, stage: Stage, kind: Kind): Promise<void> {
  const place = await placeFor(stage, kind);
  const { proxied, proxy } = await throughProxy(stage, place);
  const start = (at: At<Kind>) => stage.process(WORKER, at);
  const [a, b, victim, cut] = await Promise.all([start(place), start(place), start(place), start(proxied)]);
  const look = (orderId: string) => b.call<{ rows: number; records: string[] }>('look', { orderId });

  const first = seen<string>(a, 'take', { orderId: 'order-1', waits: true });
  await reaches(first, logged(a, AT_WORK));
  expect('the receiver is slow, its caller gives up', await patiently(first), 'timed out');
  const retry = seen<string>(b, 'take', { orderId: 'order-1' });
  if (kind === 'postgres') expect('the same intent again waits for the first one', await patiently(retry), 'timed out');
  else expect('the same intent again, at once', await retry, 'IN_FLIGHT');
  await a.call('goOn');
  const receipt = await first;
  const second = kind === 'postgres' ? await retry : await until<string>(b, 'take', { orderId: 'order-1' }, ['IN_FLIGHT']);
  expect('both have the same receipt', second === receipt && receipt.length === 36, true);
  expect('orders', (await look('order-1')).rows, 1);

  const lost = seen(victim, 'take', { orderId: 'order-2', waits: true });
  await reaches(lost, logged(victim, AT_WORK));
  await victim.kill();
  expect('killed before the commit: its caller', await lost, 'no answer');
  const standing = kind === 'postgres' ? ['completed'] : ['completed', 'running'];
  expect('orders of it, all records', await look('order-2'), { rows: 0, records: standing });
  const after = await until<string>(b, 'take', { orderId: 'order-2' }, ['IN_FLIGHT']);
  expect('the same intent again: a receipt', after.length, 36);
  expect('orders of it, all records', await look('order-2'), { rows: 1, records: ['completed', 'completed'] });

  const dropped = proxy.inject({ match: isCommit, action: 'drop-answer' });
  const answer = await cut.call<string>('take', { orderId: 'order-3' });
  await dropped.fired;
  expect('the connection breaks during the commit: a receipt', answer.length, 36);
  expect('orders of it, all records', await look('order-3'), { rows: 1, records: ['completed', 'completed', 'completed'] });
  expect('the same intent again: the same receipt', await b.call('take', { orderId: 'order-3' }), answer);
}

/** COMMIT in PostgreSQL's protocol, the transaction of DynamoDB, the batch of Table Storage. */
const isCommit = ({ headers, path, body }: ProxiedRequest): boolean =>
  body.includes('COMMIT\0') || String(headers['x-amz-target']).endsWith('.TransactWriteItems') || path.includes('/$batch');

async function throughProxy(stage: Stage, place: At<Kind>): Promise<{ proxied: At<Kind>; proxy: FaultProxy }> {
  const url = urlOf(place);
  const port = Number(new URL(url).port);
  const proxy = await (place.kind === 'postgres' ? startTcpFaultProxy(port, postgresFraming) : startFaultProxy({ targetPort: port }));
  stage.defer(() => proxy.stop());
  // Every part of the place that names the port, and nothing else does.
  return { proxied: JSON.parse(JSON.stringify(place).replaceAll(url, url.replace(`:${port}`, `:${proxy.port}`))) as At<Kind>, proxy };
}

function urlOf(place: At<Kind>): string {
  if (place.kind === 'postgres') return place.url;
  if (place.kind === 'dynamodb') return place.endpoint;
  return /TableEndpoint=([^;]+)/.exec(place.connectionString)?.[1] ?? '';
}
