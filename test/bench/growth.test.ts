import { beforeAll, describe, expect, it } from 'vitest';
import { type Grown, measureGrowth, shown } from '../../bench/growth/section.ts';
import type { Kind } from '../../bench/measure/counted-stores.ts';
import { postgresAvailable } from '../support/postgres.ts';
import { redisAvailable } from '../support/redis.ts';

const KINDS: readonly Kind[] = [
  'sqlite',
  ...((await postgresAvailable()) ? ['postgres' as const] : []),
  ...(redisAvailable() ? ['redis' as const] : []),
];

describe('growth, by the benchmark', () => {
  let grown: Grown;
  beforeAll(async () => {
    grown = await measureGrowth({ kinds: KINDS, filled: () => ({ records: [100, 1_000], rounds: 1, times: 2 }), aloneMs: 20, stepRounds: 1 });
  });

  it('I11 a step is one write, and steps that end together are one write: whatever the store', () => {
    const requests = KINDS.map((kind) => grown.stepped.filter(({ place }) => place.kind === kind));
    for (const all of requests) {
      expect(all.map(({ steps, atOnce, requests: [sent] }) => [steps, atOnce ? 'at once' : 'in turn', sent])).toEqual([
        [1, 'in turn', 3],
        [10, 'in turn', 12],
        [10, 'at once', 3],
        [50, 'in turn', 52],
        [50, 'at once', 3],
      ]);
    }
  });

  it('a clean-up removes exactly what has expired, with calls going on', () => {
    const purged = grown.purged.map(({ place, removed, records, meanwhile }) => [place.kind, removed, records, meanwhile.calls > 0]);
    expect(purged).toEqual(KINDS.filter((kind) => kind !== 'redis').map((kind) => [kind, 100, 1_000, true]));
  });

  it('what it shows has a row for each store and size, and a goal for each', () => {
    const { tables, figures } = shown(grown);
    expect(tables[0]?.rows.map(([, records]) => records)).toEqual(KINDS.flatMap(() => ['10^2', '10^3']));
    expect(figures.filter(({ goal }) => goal === 1.1)).toHaveLength(KINDS.length);
    expect(figures.every(({ value }) => value > 0)).toBe(true);
  });
});
