/**
 * Counts the views of each page, from a Kinesis stream.
 *
 * @module
 */
import { idempotentEach, keys } from 'rerunsafe/aws-lambda';
import { APP_TABLE, dynamodb, patient, store } from './stores.ts';

export const handler = idempotentEach(
  // A view has no id of its own. Where a sandbox died the shard waits anyway: rather in here than by using up the retries of the stream.
  { store, operation: 'views/count', key: keys.kinesisSequenceNumber, ...patient },
  async ({ kinesis }, _context, run) => {
    const { TransactWriteItemsCommand } = await import('@aws-sdk/client-dynamodb');
    const { page } = JSON.parse(Buffer.from(kinesis.data, 'base64').toString()) as { readonly page: string };
    const Update = {
      TableName: APP_TABLE,
      Key: { id: { S: `views/${page}` } },
      UpdateExpression: 'ADD #count :one',
      ExpressionAttributeNames: { '#count': 'count' },
      ExpressionAttributeValues: { ':one': { N: '1' } },
    };
    // Counted, and then the sandbox dies: the next attempt counts again. DynamoDB knows the token for ten minutes and does not.
    const ClientRequestToken = run.keyFor('count').slice(0, 36);
    await (await dynamodb()).send(new TransactWriteItemsCommand({ TransactItems: [{ Update }], ClientRequestToken }), { abortSignal: run.signal });
  },
);
