import { type AttributeValue, type DynamoDBClient, PutItemCommand } from '@aws-sdk/client-dynamodb';
import { dynamodbStore } from 'rerunsafe/dynamodb';
import type { Row } from '../../floor/place.ts';
import { dynamodbTemplate } from '../../floor/places/dynamodb.ts';
import type { Peer } from '../peer.ts';
import { type BareWrites, bare } from './bare.ts';

type Item = Record<string, AttributeValue>;

export async function bareOnDynamodb(client: DynamoDBClient, TableName: string): Promise<Peer> {
  const { running, completed } = await dynamodbTemplate(dynamodbStore({ client, tableName: TableName }), client, TableName);
  const { body: _, ...released } = completed;
  const itemOf = (template: Item, { id, owner, revision }: Row, more: Item): Item => ({
    ...template,
    id: { S: id },
    owner: { S: owner },
    revision: { S: revision },
    ...more,
  });
  const number = (value: number): AttributeValue => ({ N: String(value) });
  const writes: BareWrites = {
    async claim(row, leaseMs) {
      const nowMs = Date.now();
      const more = { writtenAtMs: number(nowMs), leaseMs: number(leaseMs), leaseEndsAtMs: number(nowMs + leaseMs) };
      try {
        await client.send(
          new PutItemCommand({
            TableName,
            Item: itemOf(running, row, more),
            ConditionExpression: 'attribute_not_exists(#id) OR (#state = :running AND #leaseEndsAtMs < :now)',
            ExpressionAttributeNames: { '#id': 'id', '#state': 'state', '#leaseEndsAtMs': 'leaseEndsAtMs' },
            ExpressionAttributeValues: { ':running': { S: 'running' }, ':now': number(nowMs) },
            ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
          }),
        );
        return undefined;
      } catch (error) {
        if ((error as Error).name !== 'ConditionalCheckFailedException') throw error;
        const standing = (error as { Item?: Item }).Item;
        return { state: standing?.state?.S, body: standing?.body?.S };
      }
    },
    async end(row, over, state, body) {
      const more: Item = { state: { S: state }, writtenAtMs: number(Date.now()), ...(body === undefined ? {} : { body: { S: body } }) };
      await client.send(
        new PutItemCommand({
          TableName,
          Item: itemOf(released, row, more),
          ConditionExpression: '#revision = :version',
          ExpressionAttributeNames: { '#revision': 'revision' },
          ExpressionAttributeValues: { ':version': { S: over } },
        }),
      );
    },
  };
  return bare(writes);
}
