import { javaAvailable, startDynamoDbLocal } from '../support/dynamodb.ts';
import { turnsSuite } from './turns.ts';

if (await javaAvailable()) {
  turnsSuite({
    provider: 'DynamoDB Local',
    async start() {
      const emulator = await startDynamoDbLocal();
      return { place: { kind: 'dynamodb', endpoint: emulator.endpoint, tableName: 'turns' }, stop: () => emulator.stop() };
    },
    inCi: 'short',
    leaseMs: 1_000,
    lapseMs: 100,
    pollMs: 60,
    lateEvery: 10,
    adds: true,
    kills: [3, 10],
    stops: [3, 10],
    strikes: [1, 6],
  });
}
