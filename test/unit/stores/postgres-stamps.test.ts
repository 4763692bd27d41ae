import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { runInTransaction } from '../../../src/stores/postgres/index.ts';
import { postgresAvailable } from '../../support/postgres.ts';
import { all, postgresStage } from './postgres-subject.ts';

const WORK_MS = 1_000;

describe.runIf(await postgresAvailable())('the stamp of a record that is written at the end of a transaction', () => {
  const stage = postgresStage();

  it('I3 is the time of the write, not of the transaction: its retention counts from its end', async () => {
    const store = await stage.fresh();
    await runInTransaction({ pool: stage.pool, operation: 'test/long', key: 'k' }, () => pause(WORK_MS, 'done'));
    const [written] = await all(store);
    expect(written?.record.state).toBe('completed');
    expect((written?.record.writtenAtMs ?? 0) - (written?.record.createdAtMs ?? 0)).toBeGreaterThanOrEqual(WORK_MS - 100);
  });
});
