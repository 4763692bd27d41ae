/**
 * DynamoDB Local with the tables of the functions, a ledger, and sandboxes that reach both.
 *
 * @module
 */
import { setTimeout as pause } from 'node:timers/promises';
import { CreateTableCommand, GetItemCommand } from '@aws-sdk/client-dynamodb';
import { keyParts, recordId } from '../../src/core/key.ts';
import type { RecordStore } from '../../src/core/ports.ts';
import type { StoredRecord } from '../../src/core/record.ts';
import { dynamodbStore } from '../../src/stores/dynamodb/index.ts';
import { httpApiEvent, scheduledEvent, sqsEvent } from '../support/aws-events.ts';
import { startDynamoDbLocal } from '../support/dynamodb.ts';
import type { Invoked } from '../support/lambda-runtime/environment.ts';
import { type Sandbox, Sandboxes } from '../support/lambda-runtime/sandbox.ts';
import type { FunctionSettings } from '../support/lambda-runtime/settings.ts';
import type { Order } from './handlers/work.ts';
import { type Ledger, startLedger } from './ledger.ts';

const RECORDS = 'rerunsafe';
const APP = 'app';
/** Of an invocation that is not to be cut off, however busy the machine is. */
const LIMIT_MS = 20_000;
/** Longer than any lease here and the store's uncertainty. */
const FREE_LIMIT_MS = 20_000;

export type FunctionName = 'order' | 'http' | 'queue' | 'nightly';

const HANDLERS: Readonly<Record<FunctionName, URL>> = {
  order: new URL('handlers/order.ts', import.meta.url),
  http: new URL('handlers/http.ts', import.meta.url),
  queue: new URL('handlers/queue.ts', import.meta.url),
  nightly: new URL('handlers/nightly.ts', import.meta.url),
};

/** The order as this function is sent it. */
export function eventOf(name: FunctionName, order: Order): unknown {
  if (name === 'order') return order;
  if (name === 'http') return httpApiEvent({ headers: { 'idempotency-key': order.id }, body: JSON.stringify(order) });
  return name === 'queue' ? sqsEvent({ body: order }) : { ...scheduledEvent(), order };
}

export interface Stage {
  readonly ledger: Ledger;
  /** Of DynamoDB Local. */
  readonly endpoint: string;
  /** The records, as this process sees them. */
  readonly store: RecordStore;
  /** `options`: of the wrapper, beside those that the handler has. */
  sandbox(name: FunctionName, options?: object, settings?: Partial<FunctionSettings>): Sandbox;
  /** The record of a single event. */
  record(id: string): Promise<StoredRecord>;
  /** The item that a fenced write has made. */
  item(id: string): Promise<Readonly<Record<string, { readonly N?: string }>> | undefined>;
  close(): Promise<void>;
}

export async function openStage(): Promise<Stage> {
  const ledger = await startLedger();
  const emulator = await startDynamoDbLocal();
  const client = emulator.client();
  const store = dynamodbStore({ client, tableName: RECORDS });
  await store.setUp();
  await client.send(
    new CreateTableCommand({
      TableName: APP,
      BillingMode: 'PAY_PER_REQUEST',
      AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'S' }],
      KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }],
    }),
  );
  const env = { AWS_ENDPOINT_URL_DYNAMODB: emulator.endpoint, RERUNSAFE_TABLE: RECORDS, APP_TABLE: APP, LEDGER_URL: ledger.url };
  const sandboxes = new Sandboxes({ env });
  return {
    ledger,
    endpoint: emulator.endpoint,
    store,
    sandbox: (name, options = {}, settings = {}) =>
      sandboxes.start({ handler: HANDLERS[name], timeoutMs: LIMIT_MS, ...settings, env: { OPTIONS: JSON.stringify(options), ...settings.env } }),
    async record(id) {
      const stored = await store.read(recordId('lambda/order', [], keyParts(id)));
      if (stored === undefined) throw new Error(`there is no record of ${id}`);
      return stored.record;
    },
    async item(id) {
      const { Item } = await client.send(new GetItemCommand({ TableName: APP, Key: { id: { S: `item/${id}` } }, ConsistentRead: true }));
      return Item as Awaited<ReturnType<Stage['item']>>;
    },
    async close() {
      await sandboxes.close();
      await emulator.stop();
      await ledger.close();
    },
  };
}

/** What came back as JSON; fails for anything else. */
export function payloadOf<T>(invoked: Invoked): T {
  if (invoked.kind === 'response') return invoked.payload as T;
  throw new Error(`not an answer: ${JSON.stringify(invoked)}`);
}

export const isInFlight = (invoked: Invoked): boolean => invoked.kind === 'error' && /may still be going on/.test(invoked.errorMessage);

/** Invokes again and again while the answer is a refusal, as a caller does that tries again. */
export async function untilTaken(sandbox: Sandbox, event: unknown, isRefusal: (invoked: Invoked) => boolean): Promise<Invoked> {
  for (const endsAtMs = performance.now() + FREE_LIMIT_MS; performance.now() < endsAtMs; await pause(100)) {
    const invoked = await sandbox.invoke(event);
    if (!isRefusal(invoked)) return invoked;
  }
  throw new Error('it was never taken');
}
