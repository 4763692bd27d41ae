import { describe, expect, it } from 'vitest';
import type { RecordStore, Stored } from '../../../src/core/ports.ts';
import { freshId, put, sample, written } from '../../../src/testing/record-store/subject.ts';
import { postgresAvailable } from '../../support/postgres.ts';
import { postgresStage, somebodyWaits } from './postgres-subject.ts';

const LEVELS = ['read committed', 'repeatable read', 'serializable'] as const;

/** A statement that had to wait for a row saw the table as it was before: what it then says of the row must not be that. */
describe.runIf(await postgresAvailable())('postgresStore, while another transaction holds the row', () => {
  const stage = postgresStage();

  const insertBy = (id: string, revision: string): [string, unknown[]] => [
    `INSERT INTO rerunsafe (id, schema, operation, scope, state, owner, revision, token, attempt, lease_ms, retention_ms, written_at_ms, created_at_ms)
     VALUES ($1, 1, 'o', '', 'running', 'another', $2, 7, 1, 1000, 1000, 1, 1)`,
    [id, revision],
  ];
  const standing = async (store: RecordStore, id: string): Promise<Stored> => (await store.read(id)) as Stored;

  for (const level of LEVELS) {
    const at = { options: `-c default_transaction_isolation=${level.replaceAll(' ', '\\ ')}` };

    it(`I1 a create that waited for a stranger's insert is told what was committed, under ${level}`, async () => {
      const store = await stage.fresh({}, at);
      const id = freshId();
      const stranger = await stage.client();
      await stranger.query('BEGIN');
      await stranger.query(...insertBy(id, 'theirs'));
      const creating = store.create(id, sample());
      await somebodyWaits(stage.pool);
      await stranger.query('COMMIT');
      expect(await creating).toMatchObject({ ok: false, current: { version: 'theirs', record: { owner: 'another' } } });
    });

    it(`a create that waited for an insert that is rolled back is the first, under ${level}`, async () => {
      const store = await stage.fresh({}, at);
      const id = freshId();
      const stranger = await stage.client();
      await stranger.query('BEGIN');
      await stranger.query(...insertBy(id, 'theirs'));
      const record = sample();
      const creating = store.create(id, record);
      await somebodyWaits(stage.pool);
      await stranger.query('ROLLBACK');
      expect(await creating).toMatchObject({ ok: true, version: record.revision });
    });

    it(`I4 a replace that waited is told the newer record, never the one it asked for, under ${level}`, async () => {
      const store = await stage.fresh({}, at);
      const id = freshId();
      const { version } = await put(store, id, sample());
      const stranger = await stage.client();
      await stranger.query('BEGIN');
      await stranger.query("UPDATE rerunsafe SET revision = 'newer' WHERE id = $1", [id]);
      const replacing = store.replace(id, sample(), version);
      await somebodyWaits(stage.pool);
      await stranger.query('COMMIT');
      expect(await replacing).toMatchObject({ ok: false, current: { version: 'newer' } });
    });

    it(`a delete that waited for another's delete is told that the row is gone, under ${level}`, async () => {
      const store = await stage.fresh({}, at);
      const id = freshId();
      const { version } = await put(store, id, sample());
      const stranger = await stage.client();
      await stranger.query('BEGIN');
      await stranger.query('DELETE FROM rerunsafe WHERE id = $1', [id]);
      const deleting = store.delete(id, version);
      await somebodyWaits(stage.pool);
      await stranger.query('COMMIT');
      expect(await deleting).toEqual({ ok: false, reason: 'conflict', current: undefined });
    });

    it(`a replace that waited for a row that was only locked writes it, under ${level}`, async () => {
      const store = await stage.fresh({}, at);
      const id = freshId();
      const { version } = await put(store, id, sample());
      const stranger = await stage.client();
      await stranger.query('BEGIN');
      await stranger.query('SELECT FROM rerunsafe WHERE id = $1 FOR UPDATE', [id]);
      const next = sample();
      const replacing = store.replace(id, next, version);
      await somebodyWaits(stage.pool);
      await stranger.query('ROLLBACK');
      written(await replacing);
      expect((await standing(store, id)).version).toBe(next.revision);
    });
  }

  it('the wait for a row has an end: STORE_UNAVAILABLE that says who is in the way, and nothing is written later', async () => {
    const store = await stage.fresh({ lockTimeoutMs: 150 });
    const id = freshId();
    const { version } = await put(store, id, sample());
    const stranger = await stage.client();
    await stranger.query('BEGIN');
    await stranger.query('SELECT FROM rerunsafe WHERE id = $1 FOR UPDATE', [id]);
    const since = performance.now();
    await expect(store.replace(id, sample(), version)).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringContaining('lockTimeoutMs'),
    });
    expect(performance.now() - since).toBeGreaterThan(140);
    expect(performance.now() - since).toBeLessThan(3_000);
    await expect(store.delete(id, version)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    await stranger.query('ROLLBACK');
    expect((await standing(store, id)).version).toBe(version);
  });

  it('a create waits no longer than that either, and looking waits for nobody', async () => {
    const store = await stage.fresh({ lockTimeoutMs: 150 });
    const id = freshId();
    const stranger = await stage.client();
    await stranger.query('BEGIN');
    await stranger.query(...insertBy(id, 'theirs'));
    await expect(store.create(id, sample())).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    expect(await store.read(id)).toBeUndefined();
    await stranger.query('COMMIT');
    // A row that is only locked is refused at once: a replay waits for no fenced transaction.
    await stranger.query('BEGIN');
    await stranger.query('SELECT FROM rerunsafe WHERE id = $1 FOR UPDATE', [id]);
    expect(await store.create(id, sample())).toMatchObject({ ok: false, current: { version: 'theirs' } });
    await stranger.query('ROLLBACK');
  });

  it('a write that nobody waits for any more ends by the lock limit on the server, and leaves nothing behind', async () => {
    const store = await stage.fresh({ lockTimeoutMs: 300 }, { max: 1 });
    const id = freshId();
    const { version } = await put(store, id, sample());
    const stranger = await stage.client();
    await stranger.query('BEGIN');
    await stranger.query('SELECT FROM rerunsafe WHERE id = $1 FOR UPDATE', [id]);
    const leaving = new AbortController();
    const ghost = store.replace(id, sample(), version, { signal: leaving.signal });
    await somebodyWaits(stage.pool);
    leaving.abort(new Error('gone'));
    await expect(ghost).rejects.toMatchObject({ code: 'WRITE_UNKNOWN' });
    // The connection with it was thrown away: the pool of one goes on.
    expect((await standing(store, id)).version).toBe(version);
    for (let waiting = 1; waiting > 0; ) {
      const { rows } = await stage.pool.query(
        "SELECT count(*)::int AS waiting FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
      );
      waiting = rows[0].waiting;
    }
    await stranger.query('ROLLBACK');
    expect((await standing(store, id)).version).toBe(version);
  });

  it('the limit of the lock ends with the statement: what others do on the connection has the limit of the connection', async () => {
    const pool = stage.database.pool(1);
    const store = await stage.fresh({ pool, lockTimeoutMs: 150 });
    await put(store, freshId(), sample());
    expect((await pool.query('SHOW lock_timeout')).rows).toEqual([{ lock_timeout: '0' }]);
  });
});
