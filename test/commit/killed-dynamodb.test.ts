import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { tryRunOnce } from '../../src/index.ts';
import { javaAvailable } from '../support/dynamodb.ts';
import { byLength } from '../support/long.ts';
import { until } from '../support/promises-case.ts';
import { endAll, idOf, isFree, startWorker } from './kill-stage.ts';
import { type KillPlace, OPERATION } from './kill-task.ts';
import { dynamodbPlace } from './places.ts';

const KILLS = byLength(4, 5, 40);

describe.runIf(await javaAvailable())('a process that is killed while it commits to DynamoDB Local', () => {
  let place: Awaited<ReturnType<typeof dynamodbPlace>>;
  let reached: KillPlace;
  beforeAll(async () => {
    place = await dynamodbPlace();
    const { tableName, TableName, wire } = place;
    reached = { kind: 'dynamodb', endpoint: wire.proxy.url, tableName, TableName };
  });
  afterEach(async () => {
    await endAll();
    place.wire.proxy.clear();
  });
  afterAll(() => place?.stop());

  const state = async (row: string) => (await place.store.read(idOf(row)))?.record.state;
  const again = (row: string) =>
    tryRunOnce<unknown>({ store: place.store, operation: OPERATION, key: row }, (run) => place.commit(run, 'again', row));

  it('I1 before the transaction has left: neither row nor record, and the next attempt writes both', async () => {
    const row = `row-${randomUUID()}`;
    const { fired } = place.wire.proxy.inject({ match: place.wire.isTransaction, times: 1_000, action: 'drop-request' });
    const worker = startWorker(reached, { mode: 'commit', keys: [row] });
    await fired;
    await worker.kill();
    place.wire.proxy.clear();
    expect([await state(row), await place.times(row)]).toEqual(['running', 0]);
    await isFree(place.store, row);
    expect(await again(row)).toMatchObject({ value: 'again', attempt: 2 });
    expect(await place.times(row)).toBe(1);
  });

  it('I3 while it is under way: it lands after the death, with row and record, and the next call gets its value', async () => {
    const row = `row-${randomUUID()}`;
    const { fired } = place.wire.proxy.inject({ match: place.wire.isTransaction, action: { delayMs: 250, at: 'request' } });
    const worker = startWorker(reached, { mode: 'commit', keys: [row] });
    await fired;
    await worker.kill();
    await until('it has landed', async () => (await place.times(row)) === 1);
    expect(await state(row)).toBe('completed');
    expect(await again(row)).toMatchObject({ value: row, replayed: true });
    expect(await place.times(row)).toBe(1);
  });

  it('I4 likewise, but after a takeover: it changes nothing', async () => {
    const row = `row-${randomUUID()}`;
    const late = place.wire.proxy.inject({ match: place.wire.isTransaction, action: { delayMs: 9_000, at: 'request' } });
    const worker = startWorker(reached, { mode: 'commit', keys: [row] });
    const logged = await late.fired;
    await worker.kill();
    await isFree(place.store, row);
    expect(await again(row)).toMatchObject({ value: 'again', attempt: 2 });
    await until('the late copy has arrived', () => logged.status !== undefined);
    expect([logged.status, await place.times(row)]).toEqual([400, 1]);
    expect(await again(row)).toMatchObject({ value: 'again', replayed: true });
  });

  it.each(['the answer has come', 'the answer is on its way'])('I3 when %s: both stand, and the next call gets the value', async (when) => {
    const row = `row-${randomUUID()}`;
    const { fired } =
      when === 'the answer has come' ? { fired: Promise.resolve() } : place.wire.proxy.inject({ match: place.wire.isTransaction, action: 'stall' });
    const worker = startWorker(reached, { mode: 'commit', keys: [row], stays: true });
    await fired;
    if (when === 'the answer has come') await worker.said('committed');
    await worker.kill();
    expect([await state(row), await place.times(row)]).toEqual(['completed', 1]);
    expect(await again(row)).toMatchObject({ value: row, replayed: true });
  });

  it(
    `I1 I3 at random, ${KILLS} times: each of 40 rows stands once, with its record`,
    async () => {
      const keys = Array.from({ length: 40 }, (_, n) => `row-${n}-${randomUUID()}`);
      for (let kill = 0; kill < KILLS; kill++) {
        const worker = startWorker(reached, { mode: 'commit', keys });
        await worker.said('ready');
        await pause(100 + Math.random() * 300);
        await worker.kill();
      }
      expect(await startWorker(reached, { mode: 'commit', keys }).ended()).toBe(0);
      expect(await Promise.all(keys.map((row) => place.times(row)))).toEqual(keys.map(() => 1));
      expect(await Promise.all(keys.map(state))).toEqual(keys.map(() => 'completed'));
    },
    KILLS * 10_000 + 30_000,
  );
});
