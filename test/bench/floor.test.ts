import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { OPERATION, type Place } from '../../bench/floor/place.ts';
import { memoryPlace } from '../../bench/floor/places/memory.ts';
import { postgresPlace } from '../../bench/floor/places/postgres.ts';
import { nodeRedisPlace } from '../../bench/floor/places/redis.ts';
import { sqlitePlace } from '../../bench/floor/places/sqlite.ts';
import { measureFloor } from '../../bench/floor/section.ts';
import { runOnce, type StoredRecord } from '../../src/index.ts';
import { postgresAvailable } from '../support/postgres.ts';
import { redisAvailable } from '../support/redis.ts';

const PLACES: Readonly<Record<string, () => Promise<Place>>> = {
  memory: memoryPlace,
  sqlite: sqlitePlace,
  ...(redisAvailable() ? { redis: nodeRedisPlace } : {}),
  ...((await postgresAvailable()) ? { postgres: postgresPlace } : {}),
};

describe('the floor: a wrapped no-op beside the same writes without us', () => {
  it.each(Object.keys(PLACES))('what is written by hand on %s is what we write, to the column', async (name) => {
    const place = await (PLACES[name] as () => Promise<Place>)();
    try {
      const { store } = place;
      const { create, complete } = await place.writes();
      let id = '';
      await runOnce({ store, operation: OPERATION, key: 'ours' }, ({ fence }) => {
        id = fence?.id ?? '';
      });
      const row = { id: 'by hand'.padEnd(46, '_'), owner: randomUUID(), revision: randomUUID() };
      const { version = '' } = await create(row);
      expect((await store.read(row.id))?.record.state).toBe('running');
      expect(await create({ ...row, revision: randomUUID() })).toMatchObject({ standing: expect.anything() });
      await complete({ ...row, revision: randomUUID() }, version);
      const [ours, byHand] = [await store.read(id), await store.read(row.id)].map((stored) => timeless(stored?.record as StoredRecord));
      expect(byHand).toEqual(ours);
    } finally {
      await place.stop();
    }
  });

  it('I11 says for each store how far above the floor it is, and what the goal was', async () => {
    const { tables, figures } = await measureFloor({ share: 0.01 }, ['sqlite', 'memory']);
    expect(tables).toHaveLength(1);
    expect(tables[0]?.rows.map(([store, what]) => `${store}: ${what}`)).toEqual([
      'SQLite: first run',
      'SQLite: replay',
      'memory: first run',
      'memory: replay',
    ]);
    expect(figures.map(({ name, goal }) => [name, goal])).toEqual([
      ['wrapped no-op ÷ the same two bare writes, SQLite', 1.05],
      ['replay of a no-op ÷ the bare write that is refused, SQLite', undefined],
      ['wrapped no-op ÷ the same two bare writes, memory', 1.05],
      ['replay of a no-op ÷ the bare write that is refused, memory', undefined],
    ]);
    for (const { value } of figures) expect(value).toBeGreaterThan(0);
  });
});

/** Without what is another one for each run. */
const timeless = ({ owner: _, revision: __, token: ___, label: ____, createdAtMs: _____, writtenAtMs: ______, ...record }: StoredRecord) => record;
