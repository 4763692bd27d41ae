/**
 * What a piece of work does, as its event says.
 *
 * @module
 */
import { currentRun, type Lease, type Run } from 'rerunsafe';
import { fencedPut, fencedUpdate } from 'rerunsafe/dynamodb';
import { APP_TABLE, dynamodb, seen, tell } from './stage.ts';

export type Task =
  /** Has its effect and returns. */
  | 'charge'
  | 'throw'
  /** Has its effect when the test lets go. */
  | 'hold'
  /** Never ends, and looks at nothing. */
  | 'hang'
  /** The same, but stops when the signal says so. */
  | 'heed'
  | 'exit'
  /** Writes a fenced item, then holds; when it goes on it looks at what it still may do. */
  | 'fenced'
  /** Returns at once, and goes on when the test lets go. */
  | 'leave'
  /** Holds, and says by which lights it sees itself. */
  | 'look';

export interface Order {
  readonly id: string;
  readonly task: Task;
}

type Held = Run | Lease;

/** Its effect is an entry `charged` in the ledger. What it returns differs from attempt to attempt. */
export async function work({ id, task }: Order, held: Held): Promise<object> {
  const mine = 'attempt' in held ? { attempt: held.attempt } : { token: held.token };
  await tell(id, 'begun', { ...mine, remainingMs: held.remainingMs(), pid: process.pid });
  if (task === 'throw') throw new Error('declined');
  if (task === 'exit') process.exit(1);
  if (task === 'hang') await tell(id, 'hangs', {}, { hold: true });
  if (task === 'heed') await heed(id, held);
  if (task === 'hold' || task === 'look') await tell(id, 'holds', {}, { hold: true });
  if (task === 'fenced') await fenced(id, held);
  if (task === 'leave') void leave(id, held);
  if (task !== 'fenced' && task !== 'leave') await tell(id, 'charged', mine);
  return task === 'look' ? look(held) : { ...mine, by: process.pid };
}

const look = (held: Held): object => ({
  isCurrent: currentRun() === held,
  key: 'key' in held ? held.key : held.name,
  remainingMs: held.remainingMs(),
  aborted: held.signal.aborted,
});

async function heed(id: string, { signal }: Held): Promise<void> {
  try {
    await tell(id, 'heeds', {}, { hold: true, signal });
  } catch (error) {
    await tell(id, 'stopped', { reason: (error as Error).name, atMs: Date.now() });
    throw error;
  }
}

const itemOf = (id: string) => ({ id: { S: `item/${id}` } });

async function fenced(id: string, held: Held): Promise<void> {
  const { fence } = held;
  if (fence === undefined) throw new Error('no fence');
  const client = await dynamodb();
  const item = { TableName: APP_TABLE, Key: itemOf(id) };
  await fencedUpdate(client, fence, item);
  await tell(id, 'fenced', {}, { hold: true });
  // First the clocks: no timer has fired yet that would have said so.
  const may = await found(id, held);
  const put = await seen(() => fencedPut(client, fence, { TableName: APP_TABLE, Item: { ...itemOf(id), by: { N: String(process.pid) } } }));
  const update = await seen(() =>
    fencedUpdate(client, fence, {
      ...item,
      UpdateExpression: 'SET n = :n',
      ExpressionAttributeValues: { ':n': { N: String(process.pid) } },
    }),
  );
  await tell(id, 'found', { ...may, put, update });
}

/** Work that nobody awaits. */
async function leave(id: string, held: Held): Promise<void> {
  await tell(id, 'left', {}, { hold: true });
  await tell(id, 'found', { ...(await found(id, held)), current: currentRun()?.attempt });
}

/** What a holder may still do. */
async function found(id: string, held: Held): Promise<object> {
  const assertHeld = await seen(() => held.assertHeld());
  const more =
    'step' in held
      ? { step: await seen(() => held.step('late', () => tell(id, 'late step'))) }
      : // One that still holds would leave its slot open.
        { renew: await seen(() => held.renew()), ...(assertHeld === 'done' ? {} : { release: await held.release() }) };
  return { assertHeld, aborted: held.signal.aborted, ...more };
}
