import { beforeAll, describe, expect, it } from 'vitest';
import { RESULT_BYTES } from '../../bench/cost/assumptions.ts';
import { measureDynamodb } from '../../bench/cost/dynamodb.ts';
import { entityBytes, itemBytes } from '../../bench/cost/item-size.ts';
import { measurePostgres } from '../../bench/cost/postgres.ts';
import { type Costs, shown } from '../../bench/cost/section.ts';
import { measureTables } from '../../bench/cost/tables.ts';
import { javaAvailable } from '../support/dynamodb.ts';
import { postgresAvailable } from '../support/postgres.ts';

describe('the size of a row, as services count it', () => {
  it('of an item: names, text, digits in pairs, bytes', () => {
    expect(itemBytes({ id: { S: 'äb' } })).toBe(2 + 3);
    expect(itemBytes({ n: { N: '1200' } })).toBe(1 + 2);
    expect(itemBytes({ n: { N: '1234567890123' } })).toBe(1 + 8);
    expect(itemBytes({ part: { B: new Uint8Array(10) } })).toBe(4 + 10);
  });

  it('of an entity: two bytes for each character, and eight for each property', () => {
    expect(entityBytes({ partitionKey: 'ab', rowKey: 'cde', etag: 'x', timestamp: 'y' })).toBe(4 + 10);
    expect(entityBytes({ partitionKey: 'ab', rowKey: 'cde', s: 'xyz', body0: Buffer.alloc(7) })).toBe(4 + 10 + (8 + 2 + 10) + (8 + 10 + 11));
  });
});

describe.runIf((await javaAvailable()) && (await postgresAvailable()))('what a billion runs cost, by the benchmark', () => {
  let costs: Costs;
  beforeAll(async () => {
    const [dynamodb, tables, postgres] = await Promise.all([measureDynamodb(RESULT_BYTES), measureTables(RESULT_BYTES), measurePostgres([100], 20)]);
    costs = { dynamodb, tables, postgres };
  });

  it('I11 DynamoDB: a first run is two writes of one unit, and a large result is paid for once', () => {
    expect(costs.dynamodb.map(({ first }) => first)).toEqual([
      { requests: 2, writes: 2, reads: 0 },
      { requests: 2, writes: 6, reads: 0 },
      { requests: 3, writes: 42, reads: 0 },
    ]);
    expect(costs.dynamodb.map(({ replay }) => replay)).toEqual([
      { requests: 1, writes: 1, reads: 0 },
      { requests: 1, writes: 5, reads: 0 },
      { requests: 2, writes: 1, reads: 5 },
    ]);
  });

  it('I11 Table Storage: two transactions for a first run, two for a replay, whatever the size', () => {
    expect(costs.tables.map(({ first, replay }) => [first, replay])).toEqual([
      [2, 2],
      [2, 2],
      [2, 2],
    ]);
    expect(costs.tables[0]?.keptBytes).toBeLessThan(1_200);
  });

  it('I11 PostgreSQL: two statements for a first run, one for a replay', () => {
    const [run] = costs.postgres;
    expect(run).toMatchObject({ first: 2, replay: 1 });
    // The row twice, and its two index entries.
    expect(run?.walBytes).toBeGreaterThan(600);
    expect(run?.walBytes).toBeLessThan(3_000);
  });

  it('what it shows: a bill for each, and the limits', () => {
    const { tables, figures } = shown(costs);
    expect(figures.map(({ unit, value }) => [unit, value > 0])).toEqual(Array.from({ length: 7 }, () => ['$', true]));
    expect(tables.at(-1)?.rows.map(([store]) => store)).toEqual(['DynamoDB', 'DynamoDB', 'DynamoDB', 'Table Storage', 'Table Storage']);
  });
});
