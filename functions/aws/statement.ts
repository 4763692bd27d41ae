/**
 * `POST` to a function URL with an `Idempotency-Key`: a statement of all orders as CSV, as a stream. Sent again it is the same statement, whatever
 * was ordered since.
 *
 * @module
 */
import { Readable } from 'node:stream';
import type { APIGatewayProxyEventV2WithIAMAuthorizer } from 'aws-lambda';
import { idempotentHttp } from 'rerunsafe/aws-lambda';
import { APP_TABLE, dynamodb, store } from './stores.ts';

export const handler = idempotentHttp(
  {
    store,
    operation: 'statements/make',
    // Who has signed the request.
    scope: (event: APIGatewayProxyEventV2WithIAMAuthorizer) => event.requestContext.authorizer.iam.userArn,
    // A longer one goes out as it comes and is not kept: asked for again it is refused, not made anew.
    streams: { recordUpTo: 200_000 },
  },
  async (_event, _context, run) => ({ statusCode: 200, headers: { 'content-type': 'text/csv' }, body: Readable.from(linesOf(run.signal)) }),
);

async function* linesOf(abortSignal: AbortSignal): AsyncGenerator<string> {
  const { paginateScan } = await import('@aws-sdk/client-dynamodb');
  const orders = { FilterExpression: 'begins_with(id, :order)', ExpressionAttributeValues: { ':order': { S: 'order/' } }, ConsistentRead: true };
  const pages = paginateScan({ client: await dynamodb() }, { TableName: APP_TABLE, ...orders }, { abortSignal });
  yield 'order,customer,amount\n';
  for await (const { Items = [] } of pages) {
    for (const { orderId, customer, amount } of Items) yield `${quoted(orderId?.S)},${quoted(customer?.S)},${amount?.N}\n`;
  }
}

const quoted = (text = ''): string => `"${text.replaceAll('"', '""')}"`;
