/**
 * S8: the database commits, and the notification is lost, or the other way round.
 *
 * @module
 */
import type { Expect } from '../support/report.ts';
import { type At, BACKENDS, dynamodbAt, type Place, poolAt } from './place.ts';
import { type Scenario, WITHOUT } from './scenario.ts';
import type { Stage } from './stage.ts';
import { logged, reaches, seen, until } from './watch.ts';

interface Seen {
  readonly orders: number;
  readonly waiting: number;
  readonly mails: number;
}
interface Relayed {
  readonly delivered: number;
  readonly orders: readonly string[];
  readonly ids: readonly string[];
}

const WORKER = 's8-worker.ts';

export const s8: Scenario = {
  id: 'S8',
  title: 'The database commits and the notification is lost, or the other way round',
  parts: [
    { on: WITHOUT, shows: 'a mail after the commit, and before it, on PostgreSQL', play: without },
    ...(['postgres', 'dynamodb'] as const).map((kind) => ({
      on: BACKENDS[kind],
      shows: 'an outbox in the same transaction, a relay, an inbox',
      play: (expect: Expect, stage: Stage) => guarded(expect, stage, kind),
    })),
  ],
};

async function placeFor(stage: Stage, kind: 'postgres' | 'dynamodb'): Promise<Place> {
  const place = await stage.place(kind);
  if (place.kind === 'postgres') {
    const pool = await poolAt(place, 1);
    await pool.query('CREATE TABLE things (what text NOT NULL, id text NOT NULL)');
    await pool.end();
    return place;
  }
  const { dynamodbOutbox } = await import('../../src/stores/dynamodb/index.ts');
  const outboxTable = `${place.tableName}-outbox`;
  await dynamodbOutbox({ client: await dynamodbAt(place), tableName: outboxTable }).setUp?.();
  return { ...place, outboxTable } as At<'dynamodb'>;
}

async function without(expect: Expect, stage: Stage): Promise<void> {
  const provider = await stage.provider();
  const place = await placeFor(stage, 'postgres');
  const [one, two, other] = await Promise.all([stage.process(WORKER, place), stage.process(WORKER, place), stage.process(WORKER, place)]);
  void seen(one, 'commitThenMail', { orderId: 'order-1' });
  void seen(two, 'mailThenCommit', { orderId: 'order-2' });
  await Promise.all([logged(one, 'between the two'), logged(two, 'between the two')]);
  await one.kill();
  expect('committed, then killed: orders, mails', [(await other.call<Seen>('look')).orders, provider.chargesOf('order-1').length], [1, 0]);
  await two.kill();
  const { orders } = await other.call<Seen>('look');
  expect('mailed, then killed: orders more, mails', [orders - 1, provider.chargesOf('order-2').length], [0, 1]);
}

async function guarded(expect: Expect, stage: Stage, kind: 'postgres' | 'dynamodb'): Promise<void> {
  const place = await placeFor(stage, kind);
  const start = () => stage.process(WORKER, place);
  const [one, two, dying, other] = await Promise.all([start(), start(), start(), start()]);
  const look = () => other.call<Seen>('look');

  const unsaid = seen(one, 'take', { orderId: 'order-1', waits: 'before the commit' });
  await reaches(unsaid, logged(one, 'hangs before the commit'));
  await one.kill();
  expect('killed before the commit', await look(), { orders: 0, waiting: 0, mails: 0 });
  const lost = seen(two, 'take', { orderId: 'order-2', waits: 'after the commit' });
  await reaches(lost, logged(two, 'hangs after the commit'));
  await two.kill();
  expect('killed after the commit: its caller', await lost, 'no answer');
  expect('the message is there with the order', await look(), { orders: 1, waiting: 1, mails: 0 });
  const id = await other.call<string>('take', { orderId: 'order-2' });
  expect('the same order again: replayed, nothing is added', await look(), { orders: 1, waiting: 1, mails: 0 });

  const relaying = seen(dying, 'relay', { hangs: true });
  await reaches(relaying, logged(dying, `delivered ${id}`));
  await dying.kill();
  expect('a relay killed after the delivery, before it is noted', await look(), { orders: 1, waiting: 1, mails: 1 });
  const relayed = await until<Relayed>(other, 'relay', {}, ['held']);
  expect('another, after its lease: the same id again', typeof relayed === 'string' ? relayed : relayed.ids, [id]);
  expect('delivered twice, one mail', await look(), { orders: 1, waiting: 0, mails: 1 });

  const orders = ['order-3', 'order-4', 'order-5', 'order-6', 'order-7'];
  for (const orderId of orders) await other.call('take', { orderId });
  const last = await other.call<Relayed>('relay', {});
  expect('five orders of one customer, in which order told', last.orders, orders);
  expect('in all', await look(), { orders: 6, waiting: 0, mails: 6 });
}
