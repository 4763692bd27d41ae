import { tablePlace } from './places.ts';
import { commitSuite } from './suite.ts';

const create = (rowKey: string, partitionKey = 'customer-7') => ['create', { partitionKey, rowKey }];

commitSuite('Table Storage', tablePlace, {
  good: () => [],
  items: [
    ['a single action', create],
    ['no actions', () => undefined],
    ['an action in another partition', (row) => [create(row), create(row, 'customer-8')]],
    ['an action on a row of the store', (row) => [create(row), create('rerunsafe.r1_x')]],
    ['an action of a kind that is none', (row) => [create(row), ['insert', { partitionKey: 'customer-7', rowKey: row }]]],
    ['an action without an entity', (row) => [create(row), ['create']]],
    ['100 actions', (row) => Array.from({ length: 100 }, (_, n) => create(`${row}-${n}`))],
  ],
});
