/**
 * Scene 7: the same on AWS, with a DynamoDB-compatible emulator.
 *
 * @module
 */
import { randomUUID } from 'node:crypto';
import { ScanCommand } from '@aws-sdk/client-dynamodb';
import { httpApiEvent, scheduledEvent, sqsEvent } from '../../test/support/aws-events.ts';
import type { Report } from '../support/report.ts';
import { AWS_TABLES, type Stage } from './stage.ts';

interface LambdaAnswer {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const isReplay = ({ headers }: LambdaAnswer): boolean =>
  Object.entries(headers).some(([name, value]) => name.toLowerCase() === 'idempotent-replayed' && value === 'true');

export async function onAws(report: Report, stage: Stage): Promise<void> {
  const { provider } = stage;
  const lambda = await stage.lambdaProcess();
  const invoke = <T>(name: string, event: unknown): Promise<T> => lambda.call<T>('invoke', { name, event });

  await report.scene('On AWS: the same payment three times', async (expect) => {
    const orderId = `order-${randomUUID().slice(0, 8)}`;
    const plain = httpApiEvent({
      path: '/payments',
      headers: { 'content-type': 'application/json', 'idempotency-key': `"${randomUUID()}"` },
      body: JSON.stringify({ orderId, amount: 4200, currency: 'EUR' }),
    });
    const event = { ...plain, requestContext: { ...plain.requestContext, authorizer: { jwt: { claims: { sub: 'customer-1' }, scopes: [] } } } };
    const answers: LambdaAnswer[] = [];
    for (let time = 0; time < 3; time++) answers.push(await invoke<LambdaAnswer>('payments', event));
    expect(
      'answers',
      answers.map(({ statusCode }) => statusCode),
      [201, 201, 201],
    );
    expect('marked Idempotent-Replayed', answers.map(isReplay), [false, true, true]);
    expect('different bodies, byte for byte', new Set(answers.map(({ body }) => body)).size, 1);
    expect('calls at the payment provider', provider.keysOf(orderId).length, 1);
    expect('charges in its file', provider.chargesOf(orderId).length, 1);
  });

  await report.scene('On AWS: an SQS batch with a message that was taken before', async (expect) => {
    const [one, two, three] = [1, 2, 3].map(() => ({ orderId: `order-${randomUUID().slice(0, 8)}`, customer: 'customer-1', amount: 4200 }));
    const failed = async (event: unknown) => (await invoke<{ batchItemFailures: object[] }>('orders', event)).batchItemFailures;
    expect('first batch, two orders: failures', await failed(sqsEvent({ body: one }, { body: two })), []);
    const before = await orderItems(stage);
    expect('order items', before.length, 2);
    expect('second, one back and one new: failures', await failed(sqsEvent({ body: one }, { body: three })), []);
    const after = await orderItems(stage);
    expect('order items', after.length, 3);
    expect(
      'those of the first batch are untouched',
      before.every((item) => after.includes(item)),
      true,
    );
  });

  await report.scene('On AWS: a scheduled event that is delivered twice', async (expect) => {
    const before = provider.statements();
    const event = scheduledEvent(new Date(new Date().setUTCHours(2, 0, 0, 0) - 86_400_000).toISOString().replace('.000', ''));
    await invoke('nightly', event);
    await invoke('nightly', event);
    expect('statements asked of the provider', provider.statements() - before, 1);
  });
}

/** Each order's item, as text: a second write would change its time. */
async function orderItems({ dynamodb }: Stage): Promise<string[]> {
  const { Items = [] } = await dynamodb.send(
    new ScanCommand({
      TableName: AWS_TABLES.app,
      ConsistentRead: true,
      FilterExpression: 'begins_with(id, :order)',
      ExpressionAttributeValues: { ':order': { S: 'order/' } },
    }),
  );
  return Items.map((item) => JSON.stringify(Object.entries(item).sort()));
}
