import { javaAvailable, startDynamoDbLocal } from '../support/dynamodb.ts';
import { killSuite } from './kills.ts';

if (await javaAvailable()) {
  killSuite('DynamoDB Local', async () => {
    const emulator = await startDynamoDbLocal();
    return { place: { kind: 'dynamodb', endpoint: emulator.endpoint, tableName: 'steps' }, stop: () => emulator.stop() };
  });
}
