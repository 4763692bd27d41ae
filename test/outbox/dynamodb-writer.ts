/**
 * Messages in a transaction of their own, as `commitWith` writes them beside a record.
 *
 * @module
 */
import { type DynamoDBClient, TransactWriteItemsCommand } from '@aws-sdk/client-dynamodb';
import type { PendingMessage } from '../../src/core/outbox.ts';
import { cancellationOf } from '../../src/stores/dynamodb/map-error.ts';
import { outboxWrite } from '../../src/stores/dynamodb/outbox-items.ts';

export const dynamodbWriter =
  (client: DynamoDBClient, tableName: string, nowMs: () => number = Date.now) =>
  async (messages: readonly PendingMessage[]): Promise<void> => {
    for (let write = outboxWrite(messages, { tableName, nowMs }); ; ) {
      try {
        await client.send(new TransactWriteItemsCommand({ TransactItems: [...write.items] }));
        return;
      } catch (error) {
        const again = write.again(cancellationOf(error) ?? []);
        if (again === undefined) throw error;
        write = again;
      }
    }
  };
