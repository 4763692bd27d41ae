import { type DynamoDBClient, ScanCommand, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import { describe } from 'vitest';
import { dynamodbOutbox } from '../../src/stores/dynamodb/index.ts';
import { javaAvailable, startDynamoDbLocal } from '../support/dynamodb.ts';
import { dynamodbWriter } from './dynamodb-writer.ts';
import { placeSuite } from './place-suite.ts';

describe.runIf(await javaAvailable())('on DynamoDB Local', () => {
  placeSuite('DynamoDB', async () => {
    const emulator = await startDynamoDbLocal();
    const client: DynamoDBClient = emulator.client();
    const tableName = 'outbox';
    return {
      outbox: dynamodbOutbox({ client, tableName }),
      write: dynamodbWriter(client, tableName),
      async timePasses() {
        const { Items = [] } = await client.send(new ScanCommand({ TableName: tableName, ConsistentRead: true }));
        for (const { pk, sk, dueAtMs } of Items) {
          if (pk === undefined || sk === undefined || dueAtMs === undefined) continue;
          const zero = { UpdateExpression: 'SET dueAtMs = :zero', ExpressionAttributeValues: { ':zero': { N: '0' } } };
          await client.send(new UpdateItemCommand({ TableName: tableName, Key: { pk, sk }, ...zero }));
        }
      },
      stop: () => emulator.stop(),
    };
  });
});
