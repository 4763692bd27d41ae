import { beforeAll, describe, expect, it } from 'vitest';
import { measureWaiting, shown, type Waited, type WaitingPlan } from '../../bench/waiting/section.ts';
import { redisAvailable } from '../support/redis.ts';

const WAITERS = 40;
const plan: WaitingPlan = { kinds: ['redis'], waiters: WAITERS, workMs: 300, rounds: 1, spreads: [0, 2] };

describe.runIf(redisAvailable())('duplicates that wait, by the benchmark', () => {
  let all: readonly Waited[];
  beforeAll(async () => {
    all = await measureWaiting(plan);
  });

  it('I1 I2 none of them ran the work', () => {
    expect(all.map(({ processes, ran }) => ({ processes, ran }))).toEqual([
      { processes: 0, ran: 0 },
      { processes: 2, ran: 0 },
    ]);
  });

  it('I11 a refused claim for each, and one poll for all of a process: not one for each', () => {
    for (const { requests } of all) {
      const [sent = 0] = requests;
      expect(sent).toBeGreaterThan(WAITERS);
      expect(sent).toBeLessThan(2 * WAITERS);
    }
  });

  it('what it shows has a row for each, and figures by name', () => {
    const { tables, figures } = shown(all, plan);
    expect(tables[0]?.rows.map(([store, processes]) => [store, processes])).toEqual([
      ['Redis', '1'],
      ['Redis', '2'],
    ]);
    expect(figures.map(({ unit }) => unit)).toEqual(['requests', 'ms', 'requests', 'ms']);
  });
});
