import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { writeRecord } from '../../../src/core/together.ts';
import { runOnce } from '../../../src/index.ts';
import { completed, freshId } from '../../../src/testing/record-store/subject.ts';
import { sqliteStage } from './sqlite-subject.ts';

const operation = 'orders/place';

describe('sqliteStore, several writes of one turn', () => {
  const stage = sqliteStage();

  for (const together of [false, true]) {
    const how = together ? 'beside another' : 'alone';
    it(`I8 a claim that could not be sent within its lease blocks nobody: ${how}`, async () => {
      const store = await stage.fresh();
      const other = stage.connection();
      other.exec('BEGIN IMMEDIATE');
      const short = (): Promise<unknown> =>
        runOnce({ store, operation, key: 'short', leaseMs: 300, onUnknown: 'block' }, () => 'ran').catch((error) => error.code);
      const first = short();
      const beside = together ? runOnce({ store, operation, key: 'long' }, () => 'ran') : undefined;
      expect(await first).toBe('WRITE_UNKNOWN');
      other.exec('ROLLBACK');
      await beside;
      await pause(400);
      expect(await short()).toBe('ran');
    });

    it(`I10 I12 a caller that left while its claim waited for the lock leaves no claim behind: ${how}`, async () => {
      const store = await stage.fresh();
      const other = stage.connection();
      other.exec('BEGIN IMMEDIATE');
      const leaving = new AbortController();
      const left = runOnce({ store, operation, key: 'left', signal: leaving.signal }, () => 'ran').catch((error) => error);
      const beside = together ? runOnce({ store, operation, key: 'stays' }, () => 'ran') : undefined;
      await pause(50);
      leaving.abort('no more');
      expect(await left).toBe('no more');
      other.exec('ROLLBACK');
      await beside;
      await pause(50);
      expect(await runOnce({ store, operation, key: 'left' }, () => 'ran').catch((error) => error.code)).toBe('ran');
    });

    it(`a replay does not queue for the write lock: ${how}`, async () => {
      const store = await stage.fresh({ busyTimeoutMs: 300 });
      await runOnce({ store, operation, key: 'done' }, () => 'done');
      stage.connection().exec('BEGIN IMMEDIATE');
      const replay = runOnce({ store, operation, key: 'done' }, () => 'again').catch((error) => error.code);
      if (together) runOnce({ store, operation, key: 'new' }, () => 'ran').catch(() => {});
      expect(await replay).toBe('done');
    });
  }

  it('a row that a trigger refuses is refused alone', async () => {
    const store = await stage.fresh();
    stage.connection().exec("CREATE TRIGGER no BEFORE INSERT ON rerunsafe WHEN NEW.label = 'bad' BEGIN SELECT RAISE(ABORT, 'no'); END");
    const all = await Promise.allSettled(['good', 'bad'].map((key) => runOnce({ store, operation, key }, () => key)));
    expect(all.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
  });

  it('no more than a MiB is written in one turn of the event loop, so that timers that renew and end leases go on: the rest goes by itself', async () => {
    const store = await stage.fresh();
    const write = (bytes: number) => ({ id: freshId(), record: completed({ outcome: { kind: 'value', value: 'x'.repeat(bytes) } }) });
    const sizes = [400_000, 4_194_304, 400_000, 400_000, 100_000];
    const answers = await Promise.all(store.batch.writeAll(sizes.map(write)));
    expect(answers.map((answer) => answer?.ok)).toEqual([true, undefined, true, undefined, true]);
    const all = await Promise.all(sizes.map((bytes) => writeRecord(store, write(bytes), {})));
    expect(all.map(({ ok }) => ok)).toEqual(sizes.map(() => true));
  });
});
