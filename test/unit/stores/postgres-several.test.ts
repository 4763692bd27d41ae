import { describe, expect, it } from 'vitest';
import { isRerunSafeError } from '../../../src/core/errors.ts';
import type { BatchStore, RecordWrite } from '../../../src/core/ports.ts';
import { writeRecord } from '../../../src/core/together.ts';
import { runOnce } from '../../../src/index.ts';
import { completed, freshId, put, sample } from '../../../src/testing/record-store/subject.ts';
import { postgresAvailable } from '../../support/postgres.ts';
import { postgresStage, somebodyWaits } from './postgres-subject.ts';

/** As core asks: together, and by itself what is told so. */
const told = (store: BatchStore, writes: readonly RecordWrite[]): Promise<string[]> =>
  Promise.all(
    writes.map(async (write) => {
      try {
        const answer = await writeRecord(store, write, {});
        return answer.ok ? 'written' : answer.reason === 'conflict' ? `conflict ${answer.current?.version}` : 'too-large';
      } catch (error) {
        return isRerunSafeError(error) ? error.code : String(error);
      }
    }),
  );

const operation = 'orders/place';

describe.runIf(await postgresAvailable())('postgresStore, several writes in one request', () => {
  const stage = postgresStage();

  it('I10 a row that another transaction holds keeps only its own write waiting, and no longer than lockTimeoutMs', async () => {
    const store = await stage.fresh({ lockTimeoutMs: 600 });
    const [held, ...free] = Array.from({ length: 20 }, freshId) as [string, ...string[]];
    const { version } = await put(store, held, sample());
    const stranger = await stage.client();
    await stranger.query('BEGIN');
    await stranger.query('SELECT 1 FROM rerunsafe WHERE id = $1 FOR UPDATE', [held]);
    const others = await Promise.all(free.map(async (id) => ({ id, version: (await put(store, id, sample())).version })));
    const writes = [{ id: held, version }, ...others].map(({ id, version: over }) => ({ id, record: sample({ state: 'released' }), version: over }));
    expect(await told(store, writes)).toEqual(['STORE_UNAVAILABLE', ...free.map(() => 'written')]);
    await stranger.query('ROLLBACK');
    expect(await told(store, writes.slice(0, 2))).toEqual(['written', expect.stringMatching(/^conflict /)]);
  });

  it('I1 an insert that was waited for and committed is told to the one that it concerns', async () => {
    const store = await stage.fresh();
    const [theirs, ours] = [freshId(), freshId()];
    const stranger = await stage.client();
    await stranger.query('BEGIN');
    await stranger.query(
      `INSERT INTO rerunsafe (id, schema, operation, scope, state, owner, revision, token, attempt, lease_ms, retention_ms, written_at_ms, created_at_ms)
       VALUES ($1, 1, 'o', '', 'running', 'another', 'theirs', 7, 1, 1000, 1000, 1, 1)`,
      [theirs],
    );
    const asked = told(
      store,
      [theirs, ours].map((id) => ({ id, record: sample() })),
    );
    await somebodyWaits(stage.pool);
    await stranger.query('COMMIT');
    expect(await asked).toEqual(['conflict theirs', 'written']);
  });

  it('a row that only a later version can read is a failure of its own caller', async () => {
    const store = await stage.fresh();
    const [tomorrow, ours] = [freshId(), freshId()];
    await put(store, tomorrow, sample());
    await stage.pool.query('UPDATE rerunsafe SET schema = 99 WHERE id = $1', [tomorrow]);
    expect(
      await told(
        store,
        [tomorrow, ours].map((id) => ({ id, record: sample() })),
      ),
    ).toEqual(['RECORD_TOO_NEW', 'written']);
  });

  it('a table that is not there is told to all of them', async () => {
    const store = stage.another({ tableName: 'nowhere' });
    const writes = [freshId(), freshId()].map((id) => ({ id, record: sample() }));
    expect(await told(store, writes)).toEqual(['STORE_MISCONFIGURED', 'STORE_MISCONFIGURED']);
  });

  it('I10 a row that somebody holds does not keep the others waiting (docs/performance.md, Batches)', async () => {
    const store = await stage.fresh();
    const keys = ['held', 'free'];
    const failed = (key: string): Promise<void> => runOnce({ store, operation, key }, () => Promise.reject(new Error('not yet'))).catch(() => {});
    await Promise.all(keys.map(failed));
    const stranger = await stage.client();
    await stranger.query('BEGIN');
    await stranger.query("SELECT 1 FROM rerunsafe WHERE label = 'held' FOR UPDATE");
    const since = performance.now();
    const [held, free] = keys.map((key) => runOnce({ store, operation, key }, () => key).catch((error) => error.code));
    expect(await free).toBe('free');
    const tookMs = performance.now() - since;
    expect(await held).toBe('STORE_UNAVAILABLE');
    expect(tookMs).toBeLessThan(1_000);
  });

  it('maxRecordBytes holds for several too', async () => {
    const store = await stage.fresh({ maxRecordBytes: 10_000 });
    const write = () => ({ id: freshId(), record: completed({ outcome: { kind: 'value', value: 'x'.repeat(20_000) } }) });
    const { id, record } = write();
    expect(await store.create(id, record)).toEqual({ ok: false, reason: 'too-large' });
    expect(await told(store, [write(), write()])).toEqual(['too-large', 'too-large']);
  });

  it('a row that a trigger refuses is refused alone', async () => {
    const store = await stage.fresh();
    await stage.pool.query(`CREATE FUNCTION no() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN IF NEW.label = 'bad' THEN RAISE EXCEPTION 'no'; END IF; RETURN NEW; END $$;
      CREATE TRIGGER no BEFORE INSERT ON rerunsafe FOR EACH ROW EXECUTE FUNCTION no()`);
    const all = await Promise.allSettled(['good', 'bad'].map((key) => runOnce({ store, operation, key }, () => key)));
    expect(all.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
  });

  it('a statement_timeout that is shorter than the wait for a held row ends that write alone', async () => {
    const store = await stage.fresh();
    const [held, free] = await Promise.all(
      [1, 2].map(async () => {
        const id = freshId();
        return { id, version: (await put(store, id, sample())).version, record: sample() };
      }),
    );
    if (held === undefined || free === undefined) throw new Error('two');
    const stranger = await stage.client();
    await stranger.query('BEGIN');
    await stranger.query('SELECT 1 FROM rerunsafe WHERE id = $1 FOR UPDATE', [held.id]);
    await (await stage.client()).query(`ALTER DATABASE ${stage.database.name} SET statement_timeout = 80`);
    const hasty = stage.another();
    expect(await told(hasty, [held, free])).toEqual(['STORE_UNAVAILABLE', 'written']);
  });
});
