import { randomUUID } from 'node:crypto';
import { type AttributeValue, type DynamoDBClient, GetItemCommand, PutItemCommand } from '@aws-sdk/client-dynamodb';
import { dynamodbStore } from 'rerunsafe/dynamodb';
import { startDynamoDbLocal } from '../../../test/support/dynamodb.ts';
import { type Place, type Row, type Template, templateOf, type Writes } from '../place.ts';

type Item = Record<string, AttributeValue>;

export async function dynamodbPlace(): Promise<Place> {
  const emulator = await startDynamoDbLocal();
  const client = emulator.client();
  const tableName = `rerunsafe-${randomUUID()}`;
  const store = dynamodbStore({ client, tableName });
  await store.setUp();
  return {
    name: 'DynamoDB Local',
    store,
    writes: async () => dynamodbWrites(client, tableName, await dynamodbTemplate(store, client, tableName)),
    stop: () => emulator.stop(),
  };
}

export const dynamodbTemplate = (store: Place['store'], client: DynamoDBClient, tableName: string): Promise<Template<Item>> =>
  templateOf(store, async (id) => {
    const { Item } = await client.send(new GetItemCommand({ TableName: tableName, Key: { id: { S: id } }, ConsistentRead: true }));
    return Item ?? {};
  });

export function dynamodbWrites(client: DynamoDBClient, TableName: string, { running, completed }: Template<Item>): Writes {
  const itemOf = (template: Item, { id, owner, revision }: Row): Item => ({
    ...template,
    id: { S: id },
    owner: { S: owner },
    revision: { S: revision },
    writtenAtMs: { N: String(Date.now()) },
  });
  return {
    async create(row) {
      try {
        await client.send(
          new PutItemCommand({
            TableName,
            Item: itemOf(running, row),
            ConditionExpression: 'attribute_not_exists(#key)',
            ExpressionAttributeNames: { '#key': 'id' },
            ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
          }),
        );
        return { version: row.revision };
      } catch (error) {
        if ((error as Error).name !== 'ConditionalCheckFailedException') throw error;
        return { standing: (error as { Item?: Item }).Item };
      }
    },
    async complete(row, over) {
      await client.send(
        new PutItemCommand({
          TableName,
          Item: itemOf(completed, row),
          ConditionExpression: '#revision = :version',
          ExpressionAttributeNames: { '#revision': 'revision' },
          ExpressionAttributeValues: { ':version': { S: over } },
          ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
        }),
      );
    },
  };
}
