import { describe, expect, it } from 'vitest';
import { byLength } from '../support/long.ts';
import { databaseFolder } from '../support/sqlite-file.ts';
import { type Engine, engineOf, OLD } from './engines.ts';
import { staleWrites } from './judge.ts';
import { mixedInProcess, mixedProcesses, SEEDS, sizes } from './mixed.ts';
import { fencedWrites, type Place } from './place.ts';

/** The later one is on the servers, too. */
const BESIDE_TODAY = byLength<readonly (typeof OLD)[number][]>(OLD.slice(0, 1), OLD.slice(0, 1), OLD);

async function onFile(first: Engine, run: (place: Place) => Promise<void>): Promise<void> {
  const { path, remove } = await databaseFolder();
  try {
    const store = first.sqliteStore({ path });
    await store.setUp?.();
    await store.close?.();
    await run({ kind: 'sqlite', path });
    const writes = fencedWrites(path);
    expect(writes.length).toBeGreaterThan(0);
    expect(staleWrites(writes)).toEqual([]);
  } finally {
    await remove();
  }
}

describe.each(SEEDS)('one SQLite file, seed %d', (seed) => {
  it.each(BESIDE_TODAY)(
    'I1 I2 I3 I4 I5 processes of %s and of today, killed and stalled: one outcome a key, tokens that grow, no stale write',
    async (old) => {
      await onFile(await engineOf(old), (place) => mixedProcesses(place, old, sizes(seed)));
    },
    150_000,
  );

  it('I1 I2 I3 I4 I5 three versions in one process, stalled past their leases: one outcome a key, tokens that grow, no stale write', async () => {
    await onFile(await engineOf('today'), (place) => mixedInProcess(place, [...OLD, 'today'], seed));
  }, 150_000);
});
