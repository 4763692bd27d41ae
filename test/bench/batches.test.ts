import { describe, expect, it } from 'vitest';
import { MESSAGES, section } from '../../bench/batches/section.ts';
import { javaAvailable } from '../support/dynamodb.ts';
import { postgresAvailable } from '../support/postgres.ts';
import { redisAvailable } from '../support/redis.ts';

describe('a batch in one invocation', () => {
  it(`I11 ${MESSAGES} messages are two statements on PostgreSQL, and all of them are done on each store`, { timeout: 60_000 }, async () => {
    const { tables, figures } = await section.measure({ share: 0.01 });
    const expected = [
      ...((await postgresAvailable()) ? ['PostgreSQL'] : []),
      'SQLite',
      ...(redisAvailable() ? ['Redis'] : []),
      ...((await javaAvailable()) ? ['DynamoDB Local'] : []),
      'Table Storage',
    ];
    expect(tables[0]?.rows.map(([name]) => name)).toEqual(expected);
    expect(tables[0]?.rows.find(([name]) => name === 'PostgreSQL')?.at(-1)).toBe('2');
    expect(figures.map(({ value }) => value > 0)).toEqual(expected.map(() => true));
  });
});
