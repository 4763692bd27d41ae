import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CELLS, type Cell, type CellResult } from '../../bench/peers/cells.ts';
import { type DynamodbService, dynamodbService } from '../../bench/peers/dynamodb.ts';
import { LOCK_CELLS } from '../../bench/peers/locks/lock.ts';
import { redisLocks } from '../../bench/peers/locks/on-redis.ts';
import { type RedisService, redisService } from '../../bench/peers/redis.ts';
import { capacityFigure, measureAllLocks, measureCalls } from '../../bench/peers/section.ts';
import { javaAvailable } from '../support/dynamodb.ts';
import { redisAvailable } from '../support/redis.ts';

const ONE_LOOK = { share: 0.01 };
const ONE_BY_ONE = CELLS.filter(({ bytes, lanes }) => bytes === 100 && lanes === 1);
const LARGE = CELLS.filter(({ bytes }) => bytes === 40_000);

/** Requests of one call, by what it is put through and by whom. */
const requests = (cells: readonly Cell[], results: readonly CellResult[]) =>
  Object.fromEntries(
    cells.map(({ what }, at) => [what, Object.fromEntries(Object.entries(results[at]?.costs ?? {}).map(([by, cost]) => [by, cost.requests]))]),
  );

describe.runIf(await javaAvailable())('peers on DynamoDB', () => {
  let service: DynamodbService;
  beforeAll(async () => {
    service = (await dynamodbService()) as DynamodbService;
  });
  afterAll(() => service?.emulator.stop());

  it('I11 ours asks the service as often as by hand, but for one request at a takeover', async () => {
    const { results, table } = await measureCalls(service, ONE_LOOK, ONE_BY_ONE);
    expect(requests(ONE_BY_ONE, results)).toEqual({
      'first run': { rerunsafe: 2, Powertools: 2, 'bare SDK calls': 2 },
      replay: { rerunsafe: 1, Powertools: 1, 'bare SDK calls': 1 },
      conflict: { rerunsafe: 1, Powertools: 1, 'bare SDK calls': 1 },
      takeover: { rerunsafe: 3, Powertools: 2, 'bare SDK calls': 2 },
      failure: { rerunsafe: 2, Powertools: 2, 'bare SDK calls': 2 },
    });
    expect(table.rows).toHaveLength(15);
    expect(results.flatMap(({ figures }) => figures.filter(({ goal }) => goal !== undefined).map(({ name, goal }) => [name, goal]))).toEqual([
      ["first run ÷ Powertools', DynamoDB Local, 100 B, one at a time", 0.88],
      ["replay ÷ Powertools', DynamoDB Local, 100 B, one at a time", 0.88],
      ["conflict ÷ Powertools', DynamoDB Local, one at a time", 0.88],
      ["takeover ÷ Powertools', DynamoDB Local, 100 B, one at a time", 1],
    ]);
  });

  it('I11 a replay of 40 KB consumes 1 write unit and 5 read units, that of Powertools 40 write units', async () => {
    const { results } = await measureCalls(service, ONE_LOOK, LARGE);
    const replay = results[LARGE.findIndex(({ what }) => what === 'replay')] as CellResult;
    expect(replay.costs.rerunsafe).toEqual({ requests: 2, readUnits: 5, writeUnits: 1 });
    expect(replay.costs.Powertools).toEqual({ requests: 1, readUnits: 0, writeUnits: 40 });
    expect(capacityFigure([replay])).toMatchObject([{ value: 6 / 40, goal: 0.4 }]);
  });
});

describe.runIf(redisAvailable())('peers on Redis', () => {
  let service: RedisService;
  beforeAll(async () => {
    service = (await redisService()) as RedisService;
  });
  afterAll(() => service?.stop());

  it('I11 ours asks the server as often as by hand, but for one request at a takeover', async () => {
    const { results } = await measureCalls(service, ONE_LOOK, ONE_BY_ONE);
    expect(requests(ONE_BY_ONE, results)).toEqual({
      'first run': { rerunsafe: 2, Powertools: 2, 'node-idempotency': 2, 'bare SDK calls': 2 },
      replay: { rerunsafe: 1, Powertools: 2, 'node-idempotency': 2, 'bare SDK calls': 1 },
      conflict: { rerunsafe: 1, Powertools: 2, 'node-idempotency': 2, 'bare SDK calls': 1 },
      takeover: { rerunsafe: 3, Powertools: 5, 'node-idempotency': 2, 'bare SDK calls': 2 },
      failure: { rerunsafe: 2, Powertools: 2, 'node-idempotency': 2, 'bare SDK calls': 2 },
    });
  });

  it('I11 a lease is two requests to take and one to give back, or one where it is held', async () => {
    const locks = await redisLocks(service);
    try {
      const cells = LOCK_CELLS.filter(({ lanes }) => lanes === 1);
      const { results } = await measureAllLocks(locks, ONE_LOOK, '', cells);
      expect(results.map(({ costs }) => costs.rerunsafe?.requests)).toEqual([3, 3, 1]);
    } finally {
      locks.stop();
    }
  });
});
