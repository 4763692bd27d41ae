import { javaAvailable, startDynamoDbLocal } from '../support/dynamodb.ts';
import { crashSuite } from './suite.ts';

if (await javaAvailable()) {
  crashSuite('DynamoDB Local', async () => {
    const emulator = await startDynamoDbLocal();
    return { place: { kind: 'dynamodb', endpoint: emulator.endpoint, tableName: 'crash' }, stop: () => emulator.stop() };
  });
}
