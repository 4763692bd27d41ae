import { CreateTableCommand, GetItemCommand, ScanCommand } from '@aws-sdk/client-dynamodb';
import { describe } from 'vitest';
import { runOnce } from '../../src/index.ts';
import { commitWith, dynamodbOutbox, dynamodbStore } from '../../src/stores/dynamodb/index.ts';
import { javaAvailable, startDynamoDbLocal } from '../support/dynamodb.ts';
import { type Effect, killsSuite, LONG } from './kills-suite.ts';
import { COUNTER, TABLES } from './relay-task.ts';

describe.runIf(await javaAvailable())('a relay that is killed', () => {
  killsSuite({
    name: 'DynamoDB',
    keys: LONG ? 20 : 12,
    messages: LONG ? 15 : 8,
    kills: LONG ? 10 : 3,
    stops: LONG ? 2 : 1,
    async start() {
      const emulator = await startDynamoDbLocal();
      const client = emulator.client();
      const outbox = dynamodbOutbox({ client, tableName: TABLES.outbox });
      const store = dynamodbStore({ client, tableName: TABLES.records, outboxTable: TABLES.outbox });
      await Promise.all([outbox.setUp(), store.setUp()]);
      await client.send(
        new CreateTableCommand({
          TableName: TABLES.effects,
          BillingMode: 'PAY_PER_REQUEST',
          AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'S' }],
          KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }],
        }),
      );
      const effects = async (): Promise<Effect[]> => {
        const { Items = [] } = await client.send(new ScanCommand({ TableName: TABLES.effects, ConsistentRead: true }));
        return Items.flatMap(({ id, applied }) =>
          (applied?.L ?? []).map(({ S = '' }) => {
            const [n, message = ''] = S.split(' ');
            return { key: id?.S ?? '', n: Number(n), message };
          }),
        );
      };
      return {
        task: { kind: 'dynamodb', endpoint: emulator.endpoint },
        async write(keys, n) {
          await runOnce({ store, operation: 'orders/take', key: [n, keys[0] ?? ''] }, async (run) => {
            for (const key of keys) run.outbox.add({ topic: 'test/numbered', key, payload: { n } });
            await commitWith(run, null, []);
          });
        },
        applied: async () => (await effects()).length,
        async deliveries() {
          const counter = { TableName: TABLES.effects, Key: { id: { S: COUNTER } }, ConsistentRead: true };
          return Number((await client.send(new GetItemCommand(counter))).Item?.deliveries?.N);
        },
        effects,
        left: () => outbox.waiting(),
        stop: () => emulator.stop(),
      };
    },
  });
});
