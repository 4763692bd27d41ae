/**
 * The sample app as it is built, in sandboxes, with DynamoDB Local and the stand-in payment provider.
 *
 * @module
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { CreateTableCommand, type DynamoDBClient, PutItemCommand, ScanCommand } from '@aws-sdk/client-dynamodb';
import { ROOT } from '../../scripts/run.ts';
import { type PaymentProvider, startPaymentProvider } from '../../scripts/support/payment-provider.ts';
import type { RecordStore } from '../../src/core/ports.ts';
import { dynamodbStore } from '../../src/stores/dynamodb/index.ts';
import { startDynamoDbLocal } from '../support/dynamodb.ts';
import { type Sandbox, Sandboxes } from '../support/lambda-runtime/sandbox.ts';
import { startFaultProxy } from '../support/proxy.ts';

const [RECORDS, APP] = ['rerunsafe', 'app'];
const REFUSED = {
  status: 400,
  headers: { 'content-type': 'application/x-amz-json-1.0' },
  body: JSON.stringify({ __type: 'com.amazon.coral.validate#ValidationException', message: 'this item is refused' }),
};

export interface SampleStage {
  readonly provider: PaymentProvider;
  readonly store: RecordStore;
  /** Two sandboxes of one function; they end with the work. */
  with<R>(name: string, work: (first: Sandbox, second: Sandbox) => Promise<R>): Promise<R>;
  /** The app's items that mention it, as text: a second write would change their time or their count. */
  items(mention: string): Promise<string[]>;
  /** How many transactions were asked for. DynamoDB counts no view twice within ten minutes; whether it was asked to is seen here. */
  transactions(): number;
  order(orderId: string): Promise<void>;
  /** Until it is mended, the app's table refuses each write that mentions it. */
  break(mention: string): { mend(): void };
  close(): Promise<void>;
}

export async function openSample(): Promise<SampleStage> {
  const folder = await mkdtemp(join(tmpdir(), 'rerunsafe-sample-'));
  const provider = await startPaymentProvider(join(folder, 'charges'));
  const emulator = await startDynamoDbLocal();
  const proxy = await startFaultProxy({ targetPort: Number(new URL(emulator.endpoint).port) });
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
  const broken = new Set<string>();
  const isRefused = (text: string): boolean => text.includes(`"TableName":"${APP}"`) && [...broken].some((mention) => text.includes(mention));
  proxy.inject({ match: ({ body }) => isRefused(body.toString()), times: Number.POSITIVE_INFINITY, action: REFUSED });
  const env = { AWS_ENDPOINT_URL_DYNAMODB: proxy.url, RERUNSAFE_TABLE: RECORDS, APP_TABLE: APP, PAYMENTS_URL: provider.url };
  const sandboxes = new Sandboxes({ env, timeoutMs: 20_000 });

  return {
    provider,
    store,
    async with(name, work) {
      const settings = { handler: pathToFileURL(join(ROOT, `functions/dist/aws/${name}.js`)) };
      const [first, second] = [sandboxes.start(settings), sandboxes.start(settings)];
      try {
        await Promise.all([first.warm(), second.warm()]);
        return await work(first, second);
      } finally {
        await Promise.all([first.close(), second.close()]);
      }
    },
    items: (mention) => itemsOf(client, mention),
    transactions: () => proxy.count(({ target }) => target?.endsWith('.TransactWriteItems') === true),
    async order(orderId) {
      const Item = { id: { S: `order/${orderId}` }, orderId: { S: orderId }, customer: { S: 'A "B" C' }, amount: { N: '4200' } };
      await client.send(new PutItemCommand({ TableName: APP, Item }));
    },
    break(mention) {
      broken.add(mention);
      return { mend: () => void broken.delete(mention) };
    },
    async close() {
      await sandboxes.close();
      await proxy.stop();
      await emulator.stop();
      await provider.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function itemsOf(client: DynamoDBClient, mention: string): Promise<string[]> {
  const { Items = [] } = await client.send(new ScanCommand({ TableName: APP, ConsistentRead: true }));
  const texts = Items.map((item) => JSON.stringify(Object.entries(item).sort(([a], [b]) => (a < b ? -1 : 1))));
  return texts.filter((text) => text.includes(mention)).sort();
}
