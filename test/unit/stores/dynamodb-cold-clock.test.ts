import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import type { RecordStore } from '../../../src/core/ports.ts';
import { dynamodbStore } from '../../../src/stores/dynamodb/index.ts';
import { type Emulator, startDynalite } from '../../support/dynamodb.ts';
import { type FaultProxy, startFaultProxy } from '../../support/proxy.ts';
import { conflict, freshId, freshStore, record, written } from './dynamodb-subject.ts';

const HOUR_MS = 3_600_000;

/** A process is as good as cold with each new store: no answer has told it the time. */
describe('the first write of a process whose clock is wrong', () => {
  let emulator: Emulator;
  let proxy: FaultProxy;
  let others: RecordStore;
  let tableName: string;
  beforeAll(async () => {
    emulator = await startDynalite();
    proxy = await startFaultProxy({ targetPort: Number(new URL(emulator.endpoint).port) });
    ({ store: others, tableName } = await freshStore(emulator));
    await others.read(freshId());
  });
  afterEach(() => vi.restoreAllMocks());
  afterAll(async () => {
    await proxy?.stop();
    await emulator?.stop();
  });

  const realNow = Date.now.bind(Date);
  async function whereClockIsOffBy<T>(ms: number, work: (cold: RecordStore) => Promise<T>): Promise<T> {
    vi.spyOn(Date, 'now').mockImplementation(() => realNow() + ms);
    try {
      return await work(dynamodbStore({ client: emulator.client({ endpoint: proxy.url }), tableName }));
    } finally {
      vi.restoreAllMocks();
    }
  }

  it.each([-5 * HOUR_MS, 5 * HOUR_MS, -60_000])('I6 I10 off by %i ms: the record is as old as it is to those whose clock is right', async (offMs) => {
    const id = freshId();
    const mine = record({ leaseMs: 60_000 });
    written(await whereClockIsOffBy(offMs, (cold) => cold.create(id, mine)));
    const standing = (await others.read(id))?.record;
    expect(standing?.revision).toBe(mine.revision);
    expect(Math.abs(realNow() - (standing?.writtenAtMs ?? 0))).toBeLessThan(3_000);
  });

  it('I11 that costs one request more, and none where the clock is right within the margin', async () => {
    const requests: number[] = [];
    for (const offMs of [0, 1_000, HOUR_MS]) {
      proxy.clear();
      await whereClockIsOffBy(offMs, (cold) => cold.create(freshId(), record()));
      requests.push(proxy.count());
    }
    expect(requests).toEqual([1, 1, 2]);
  });

  it('I8 the record stands, and setting its stamp right fails: in doubt, never "nothing was changed"', async () => {
    const client = emulator.client();
    let puts = 0;
    client.middlewareStack.add(
      (next, { commandName }) =>
        (args) => {
          if (commandName === 'PutItemCommand' && ++puts > 1) throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
          return next(args);
        },
      { step: 'initialize', name: 'refused' },
    );
    vi.spyOn(Date, 'now').mockImplementation(() => realNow() - HOUR_MS);
    const cold = dynamodbStore({ client, tableName });
    await expect(cold.create(freshId(), record())).rejects.toMatchObject({ code: 'WRITE_UNKNOWN' });
  });

  it('I6 I7 the answer to the first write is lost, and its second try meets itself: the stamp is set right all the same', async () => {
    const id = freshId();
    const mine = record({ leaseMs: 60_000 });
    proxy.clear();
    proxy.inject({ match: ({ headers }) => String(headers['x-amz-target']).endsWith('PutItem'), times: 1, action: 'drop-answer' });
    const met = await whereClockIsOffBy(-HOUR_MS, (cold) => cold.create(id, mine));
    expect(conflict(met).current?.record.revision).toBe(mine.revision);
    expect(Math.abs(realNow() - ((await others.read(id))?.record.writtenAtMs ?? 0))).toBeLessThan(3_000);
  });

  it('I4 whoever takes it before the stamp is right keeps it: the first is told so', async () => {
    const id = freshId();
    const theirs = record({ owner: 'them', token: 2_000_000_000_000 });
    const taking = { before: 0 };
    const client = emulator.client();
    client.middlewareStack.add(
      (next, { commandName }) =>
        async (args) => {
          if (commandName === 'PutItemCommand' && ++taking.before === 2) {
            vi.restoreAllMocks();
            const seen = await others.read(id);
            written(await others.replace(id, theirs, seen?.version ?? ''));
          }
          return next(args);
        },
      { step: 'initialize', name: 'theft' },
    );
    vi.spyOn(Date, 'now').mockImplementation(() => realNow() - HOUR_MS);
    const cold = dynamodbStore({ client, tableName });
    expect(conflict(await cold.create(id, record())).current?.record.owner).toBe('them');
    expect(taking.before).toBe(2);
  });
});
