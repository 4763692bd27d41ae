import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { RecordStore } from '../../../src/core/ports.ts';
import { FOREVER_MS } from '../../../src/core/record.ts';
import { completed, freshId, put, sample, written } from '../../../src/testing/record-store/subject.ts';
import { postgresAvailable } from '../../support/postgres.ts';
import { all, postgresStage } from './postgres-subject.ts';

const HOUR_MS = 3_600_000;

describe.runIf(await postgresAvailable())('postgresStore, clean-up', () => {
  const stage = postgresStage();

  const many = async (store: RecordStore, count: number, operation: string): Promise<string[]> => {
    const ids = Array.from({ length: count }, freshId);
    for (let at = 0; at < count; at += 50) {
      await Promise.all(ids.slice(at, at + 50).map((id) => put(store, id, completed({ operation, retentionMs: HOUR_MS }))));
    }
    return ids.sort();
  };
  /** The server's clock is nobody's to move: the rows are made older. */
  const age = (ms: number): Promise<unknown> => stage.pool.query('UPDATE rerunsafe SET written_at_ms = written_at_ms - $1', [ms]);

  it('lists more than a page, each once, while rows come, change and go', async () => {
    const store = await stage.fresh();
    const operation = `list/${randomUUID()}`;
    const ids = await many(store, 1_100, operation);
    const removed = ids[1_099] as string;
    const seen: string[] = [];
    for await (const { id, version } of store.list({ operation })) {
      if (seen.length === 0) await store.delete(removed, (await store.read(removed))?.version ?? '');
      if (seen.length % 100 === 0) await store.replace(id, completed({ operation }), version);
      seen.push(id);
    }
    expect(seen).toEqual(ids.slice(0, -1));
  });

  it('lists by state and age, and holds no more than a few bodies at a time', async () => {
    const store = await stage.fresh();
    const value = 'x'.repeat(1_500_000);
    for (let n = 0; n < 8; n++) await put(store, freshId(), completed({ operation: 'large', outcome: { kind: 'value', value } }));
    await put(store, freshId(), sample({ operation: 'large' }));
    expect(await all(store, { operation: 'large', state: 'completed' })).toHaveLength(8);
    expect(await all(store, { operation: 'large', state: 'running' })).toHaveLength(1);
    expect(await all(store, { operation: 'large', olderThanMs: HOUR_MS })).toEqual([]);
    await age(2 * HOUR_MS);
    expect(await all(store, { olderThanMs: HOUR_MS })).toHaveLength(9);
    const answers: number[] = [];
    const client = await stage.client();
    const counted = stage.another({
      client: {
        async query(text, values) {
          const answer = await client.query(text, values);
          answers.push(answer.rows.reduce((bytes, row) => bytes + String(row.body ?? '').length, 0));
          return answer;
        },
      },
    });
    expect(await all(counted, { operation: 'large' })).toHaveLength(9);
    expect(Math.max(...answers)).toBeLessThan(5_000_000);
    expect(answers.length).toBeGreaterThan(3);
  });

  it('purges what is due, page after page, no more than asked for, and spares the young, the running, the blocked and the forever', async () => {
    const store = await stage.fresh();
    const operation = `purge/${randomUUID()}`;
    await many(store, 1_100, operation);
    const spared = [
      completed({ operation, retentionMs: 100 * HOUR_MS }),
      sample({ operation, leaseMs: 1_000 }),
      sample({ operation, state: 'blocked', blockedWhy: 'unknown' }),
      completed({ operation, retentionMs: FOREVER_MS }),
    ];
    const kept = spared.map(() => freshId());
    for (const [at, id] of kept.entries()) await put(store, id, spared[at] as (typeof spared)[number]);
    expect(await store.purge({ operation })).toEqual({ removed: 0 });
    await age(2 * HOUR_MS);
    const young = freshId();
    await put(store, young, completed({ operation, retentionMs: 1 }));
    expect(await store.purge({ operation: 'another' })).toEqual({ removed: 0 });
    expect(await store.purge({ operation, limit: 10 })).toEqual({ removed: 10 });
    expect(await store.purge({ operation })).toEqual({ removed: 1_090 });
    expect((await all(store, { operation })).map(({ id }) => id)).toEqual([...kept, young].sort());
    expect(await store.purge({ lapsedOlderThanMs: HOUR_MS })).toEqual({ removed: 1 });
  });

  it('a purge waits for nobody: what somebody has locked or written again stays, and what comes later finds it', async () => {
    const store = await stage.fresh();
    const operation = `purge/${randomUUID()}`;
    const ids = await many(store, 50, operation);
    await age(2 * HOUR_MS);
    const locked = ids[10] as string;
    const stranger = await stage.client();
    await stranger.query('BEGIN');
    await stranger.query('UPDATE rerunsafe SET holder = NULL WHERE id = $1', [locked]);
    const since = performance.now();
    expect(await store.purge({ operation })).toEqual({ removed: 49 });
    expect(performance.now() - since).toBeLessThan(2_500);
    await stranger.query('COMMIT');
    expect(await store.purge({ operation })).toEqual({ removed: 1 });
  });

  it('purges beside writers, who lose nothing: each record is removed as it was judged, or stands as it was written', async () => {
    const store = await stage.fresh();
    const operation = `beside/${randomUUID()}`;
    const ids = await many(store, 400, operation);
    await age(2 * HOUR_MS);
    let renewed = 0;
    const slowestMs: number[] = [];
    const writer = async (from: number): Promise<void> => {
      for (let at = from; at < ids.length; at += 4) {
        const id = ids[at] as string;
        const since = performance.now();
        const standing = await store.read(id);
        const result =
          standing === undefined
            ? await store.create(id, completed({ operation }))
            : await store.replace(id, completed({ operation }), standing.version);
        if (!result.ok) written(await store.create(id, completed({ operation })));
        renewed += 1;
        slowestMs.push(performance.now() - since);
      }
    };
    const purging = (async () => {
      let removed = 0;
      while (renewed < ids.length) removed += (await store.purge({ operation, limit: 25 })).removed;
      return removed;
    })();
    await Promise.all([0, 1, 2, 3].map(writer));
    const removed = await purging;
    expect((await all(store, { operation })).map(({ id }) => id)).toEqual(ids);
    expect(removed).toBeGreaterThan(0);
    console.log(`purge beside 4 writers: ${removed} of ${ids.length} removed, the slowest write took ${Math.round(Math.max(...slowestMs))} ms`);
  });

  it('a record of a later version of this package is told to people, and stops no clean-up', async () => {
    const store = await stage.fresh();
    const operation = `later/${randomUUID()}`;
    const [first] = await many(store, 3, operation);
    await age(2 * HOUR_MS);
    await stage.pool.query('UPDATE rerunsafe SET schema = 2 WHERE id = $1', [first]);
    expect(await store.purge({ operation })).toEqual({ removed: 2 });
    await expect(all(store, { operation })).rejects.toMatchObject({ code: 'RECORD_TOO_NEW' });
  });
});
