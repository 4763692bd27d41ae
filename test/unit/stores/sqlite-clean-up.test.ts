import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { RecordStore } from '../../../src/core/ports.ts';
import { virtualClock } from '../../../src/testing/index.ts';
import { completed, freshId, put, sample } from '../../../src/testing/record-store/subject.ts';
import { all, sqliteStage } from './sqlite-subject.ts';

const HOUR_MS = 3_600_000;

describe('sqliteStore, clean-up', () => {
  const stage = sqliteStage();

  const many = async (store: RecordStore, count: number, operation: string): Promise<string[]> => {
    const ids = Array.from({ length: count }, freshId);
    for (const id of ids) await put(store, id, completed({ operation, retentionMs: HOUR_MS }));
    return ids.sort();
  };

  it('lists more than a page, each once, while rows come, change and go', async () => {
    const store = await stage.fresh();
    const operation = `list/${randomUUID()}`;
    const ids = await many(store, 600, operation);
    const removed = ids[599] as string;
    const seen: string[] = [];
    for await (const { id, version } of store.list({ operation })) {
      if (seen.length === 0) {
        const last = await store.read(removed);
        await store.delete(removed, last?.version ?? '');
      }
      if (seen.length % 100 === 0) await store.replace(id, completed({ operation }), version);
      seen.push(id);
    }
    expect(seen).toEqual(ids.slice(0, -1));
  });

  it('lists nothing that has changed its state since it was found', async () => {
    const store = await stage.fresh();
    const operation = `list/${randomUUID()}`;
    const [first, second, third] = await many(store, 3, operation);
    const seen: string[] = [];
    for await (const { id } of store.list({ operation, state: 'completed' })) {
      seen.push(id);
      const standing = await store.read(second as string);
      if (standing?.record.state === 'completed') await store.replace(second as string, sample({ operation }), standing.version);
    }
    expect(seen).toEqual([first, third]);
  });

  it('purges page after page: what is due of each in one commit, no more than asked for, and what was written again stays', async () => {
    const clock = virtualClock();
    const store = await stage.fresh({ clock });
    const operation = `purge/${randomUUID()}`;
    const ids = await many(store, 600, operation);
    await clock.advance(2 * HOUR_MS);
    const renewed = ids[300] as string;
    const standing = await store.read(renewed);
    await store.replace(renewed, sample({ operation }), standing?.version ?? '');
    expect(await store.purge({ operation, limit: 10 })).toEqual({ removed: 10 });
    expect(await store.purge({ operation })).toEqual({ removed: 589 });
    expect((await all(store, { operation })).map(({ id }) => id)).toEqual([renewed]);
  });

  it('a page of one operation is found by an index, and without sorting', async () => {
    await stage.fresh();
    const plan = stage
      .connection()
      .prepare('EXPLAIN QUERY PLAN SELECT id, state FROM rerunsafe WHERE operation = ? AND id > ? ORDER BY id LIMIT ?')
      .all('a', '', 9);
    expect(plan.map(({ detail }) => detail)).toEqual([expect.stringMatching(/USING INDEX rerunsafe_operation \(operation=\? AND id>\?\)/)]);
  });
});
