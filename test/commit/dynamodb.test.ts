import { javaAvailable } from '../support/dynamodb.ts';
import { dynamodbPlace } from './places.ts';
import { commitSuite } from './suite.ts';

if (await javaAvailable()) {
  const put = (row: string) => ({ Put: { TableName: 'reports', Item: { id: { S: row } } } });
  commitSuite('DynamoDB Local', dynamodbPlace, {
    good: () => [],
    items: [
      ['a single item', put],
      ['no items', () => undefined],
      ['an item of no kind', () => [{}]],
      ['an item of two kinds', (row) => [{ ...put(row), Delete: {} }]],
      ['an item of a kind that is none', () => [{ Get: {} }]],
      ['100 items', (row) => Array.from({ length: 100 }, (_, n) => put(`${row}-${n}`))],
    ],
  });
}
