import { beforeEach, describe, expect, it } from 'vitest';
import { fencedClaim, upsert } from '../../src/stores/postgres/index.ts';
import type { Queryable } from '../../src/stores/postgres/query.ts';
import { inTransaction } from '../../src/stores/postgres/transaction.ts';
import { postgresAvailable } from '../support/postgres.ts';
import { fencedStage } from './postgres-stage.ts';

describe.runIf(await postgresAvailable())('a row that is fenced on entry on PostgreSQL', () => {
  const stage = fencedStage();
  let table: string;
  const key = { day: '2026-03-01', shop: 7 };
  const claim = (token: number, tx: Queryable = stage.pool) => fencedClaim<{ total: number }>(tx, { table, key, fence: { id: 'nightly', token } });
  beforeEach(async () => {
    table = await stage.table('report', 'day date, shop int, total int, fence bigint, PRIMARY KEY (day, shop)');
    await stage.pool.query(`INSERT INTO ${table} VALUES ($1, $2, 1, NULL), ($1, 8, 1, 99)`, [key.day, key.shop]);
  });

  it('S6 I4 takes the row for its token, hands it out as it stands, and refuses a lower token with both', async () => {
    expect(await claim(20)).toMatchObject({ shop: 7, total: 1, fence: '20' });
    expect(await claim(20)).toMatchObject({ fence: '20' });
    expect(await claim(21)).toMatchObject({ fence: '21' });
    await expect(claim(20)).rejects.toMatchObject({ code: 'STALE_TOKEN', retryable: false, facts: { id: 'nightly', token: 20, storedToken: 21 } });
    expect(await stage.rows(`SELECT shop, total, fence FROM ${table} ORDER BY shop`)).toEqual([
      { shop: 7, total: 1, fence: '21' },
      { shop: 8, total: 1, fence: '99' },
    ]);
  });

  it('S6 what the predecessor has not committed yet is waited for, and handed out', async () => {
    await claim(20);
    const client = await stage.pool.connect();
    await client.query('BEGIN');
    await upsert(client, { table, key: ['day', 'shop'], rows: [{ ...key, total: 2 }], fence: { token: 20 } });
    const next = claim(21);
    await stage.waits();
    await client.query('COMMIT');
    client.release();
    expect(await next).toMatchObject({ total: 2, fence: '21' });
  });

  it('S6 I4 of many that claim at once the highest token stays, and only lower ones are refused', async () => {
    const tokens = Array.from({ length: 20 }, (_, n) => n + 1).sort(() => Math.random() - 0.5);
    const ended = await Promise.allSettled(tokens.map((token) => claim(token)));
    expect(ended[tokens.indexOf(20)]?.status).toBe('fulfilled');
    for (const end of ended) if (end.status === 'rejected') expect(end.reason).toMatchObject({ code: 'STALE_TOKEN' });
    expect(await stage.rows(`SELECT fence FROM ${table} WHERE shop = 7`)).toEqual([{ fence: '20' }]);
  });

  it('there is nothing to claim where there is no row, and one row is claimed, not several', async () => {
    expect(await fencedClaim(stage.pool, { table, key: { ...key, shop: 9 }, fence: { token: 1 } })).toBeUndefined();
    const several = inTransaction(stage.pool, {}, (tx) => fencedClaim(tx, { table, key: { day: key.day }, fence: { token: 100 } }));
    await expect(several).rejects.toMatchObject({ code: 'INVALID_OPTIONS', message: expect.stringContaining('there are 2') });
    expect(await stage.rows(`SELECT fence FROM ${table} ORDER BY shop`)).toEqual([{ fence: null }, { fence: '99' }]);
  });

  it('a row that comes between the two looks is found by the next', async () => {
    let looks = 0;
    const between: Queryable = {
      async query(text, values) {
        const answer = await stage.pool.query(text, values);
        looks += 1;
        if (looks === 1) await stage.pool.query(`INSERT INTO ${table} VALUES ('2026-03-01', 10, 5, NULL)`);
        return answer;
      },
    };
    expect(await fencedClaim(between, { table, key: { ...key, shop: 10 }, fence: { token: 3 } })).toMatchObject({ total: 5, fence: '3' });
  });
});
