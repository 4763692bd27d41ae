import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { forget } from '../../../src/cli/commands/forget.ts';
import { list } from '../../../src/cli/commands/list.ts';
import { purge } from '../../../src/cli/commands/purge.ts';
import { recordId } from '../../../src/core/key.ts';
import type { Listed, RecordStore } from '../../../src/core/ports.ts';
import { begin, commandStage, end, idOf, type Printed, placeOf, printed, run, runs, succeed } from './stage.ts';

describe('list', () => {
  const stage = commandStage();
  const keys = (json: Printed): unknown[] => json.json().map(({ key }) => key);
  const listed = async (more: Partial<Parameters<typeof list>[0]> = {}): Promise<Printed> => {
    const json = printed({ json: true });
    expect(await list({ place: stage.place, out: json.out, ...more })).toBe(0);
    return json;
  };

  it('shows the newest first, filters by state, operation, beginning of the key and age, and leaves leases and what has expired out', async () => {
    await succeed(stage.store, 'expired', 1, { retentionMs: 61_000 });
    stage.pass(120_000);
    await end(stage.store, 'app/failed', 'release', 'exit code 3');
    stage.pass(1_000);
    await begin(stage.store, 'app/lapsed');
    stage.pass(90_000);
    await begin(stage.store, 'app/running');
    stage.pass(1_000);
    await end(stage.store, 'blocked', 'block');
    stage.pass(1_000);
    await runs(stage.store, 'done', async () => 1, { operation: 'billing/charge' });
    await stage.place.leases.acquire('nightly', { owner: 'o', leaseMs: 1_000, label: 'ann' });
    expect(keys(await listed())).toEqual(['done', 'blocked', 'app/running', 'app/lapsed', 'app/failed']);
    expect((await listed()).json().map(({ state }) => state)).toEqual(['completed', 'blocked', 'running', 'lapsed', 'released']);
    for (const [state, key] of [
      ['completed', 'done'],
      ['blocked', 'blocked'],
      ['running', 'app/running'],
      ['lapsed', 'app/lapsed'],
      ['released', 'app/failed'],
    ] as const) {
      expect(keys(await listed({ state }))).toEqual([key]);
    }
    expect(keys(await listed({ operation: 'billing/charge' }))).toEqual(['done']);
    expect(keys(await listed({ prefix: 'app/' }))).toEqual(['app/running', 'app/lapsed', 'app/failed']);
    expect(keys(await listed({ olderThanMs: 60_000 }))).toEqual(['app/lapsed', 'app/failed']);
    expect(keys(await listed({ limit: 2 }))).toEqual(['done', 'blocked']);
    expect((await listed({ leases: true })).json()).toMatchObject([{ kind: 'lease', name: 'nightly', state: 'held', holder: 'ann', lastSlot: null }]);
  });

  it('is a table that fits the terminal, and says that there is more; without a terminal tabs, a head and nothing cut off', async () => {
    const long = `release/${'very-'.repeat(30)}long`;
    stage.pass(1_000);
    await succeed(stage.store, long);
    for (const columns of [60, 80, 200]) {
      const words = printed({ columns });
      await list({ place: stage.place, limit: 3, out: words.out });
      const lines = words.lines();
      expect(lines).toHaveLength(5);
      // biome-ignore lint/suspicious/noControlCharactersInRegex: colours take no place
      expect(Math.max(...lines.map((line) => line.replace(/\x1b\[\d+m/g, '').length))).toBeLessThanOrEqual(columns);
      expect(lines[1]).toContain('…');
      expect(lines[1]).toContain('\x1b[32mcompleted\x1b[39m');
      expect(lines[4]).toBe('3 of 6 records, the newest (--limit 3)');
    }
    const plain = printed();
    await list({ place: stage.place, limit: 2, out: plain.out });
    const [head, first, ...others] = plain.lines().map((line) => line.split('\t'));
    expect(head).toEqual(['state', 'key', 'operation', 'attempt', 'written', 'holder', 'id']);
    expect(first).toEqual(['completed', long, 'script', '1', expect.stringMatching(/^2026-.*Z$/), `process ${process.pid}`, idOf(long)]);
    expect(others).toHaveLength(1);
    const leases = printed();
    await list({ place: stage.place, leases: true, out: leases.out });
    expect(leases.lines()[0]?.split('\t')).toEqual(['state', 'name', 'holder', 'left', 'token', 'last slot']);
    const none = printed({ columns: 80 });
    await list({ place: stage.place, prefix: 'nobody', out: none.out });
    expect(none.lines().at(-1)).toBe('no records');
  });

  it('lists 10,000 records with large outcomes in little memory, and gives the newest of them', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const base = (await stage.store.read(idOf('blocked'))) as NonNullable<Awaited<ReturnType<RecordStore['read']>>>;
    let most = 0;
    // Made as they are asked for: 1 GB, if somebody kept them.
    async function* many(): AsyncGenerator<Listed> {
      for (let n = 0; n < 10_000; n++) {
        if (n % 2_000 === 1_999) {
          collect();
          const { heapUsed, external } = process.memoryUsage();
          most = Math.max(most, heapUsed + external);
        }
        const at = (n * 7_919) % 10_000;
        const outcome = { kind: 'value', value: { json: Buffer.alloc(50_000, n).toString('latin1') } } as const;
        yield { ...base, id: recordId('script', [], [`${at}`]), record: { ...base.record, label: `key ${at}`, writtenAtMs: at, outcome } };
      }
    }
    collect();
    const { heapUsed, external } = process.memoryUsage();
    const json = printed({ json: true });
    await list({ place: placeOf({ ...stage.store, list: many }), limit: 5, out: json.out });
    expect(keys(json)).toEqual([9_999, 9_998, 9_997, 9_996, 9_995].map((n) => `key ${n}`));
    expect(most).toBeGreaterThan(0);
    expect(most - heapUsed - external).toBeLessThan(30_000_000);
  });

  it('purge removes what is no longer remembered, lapsed runs only when asked to, blocked ones and leases never; and says so', async () => {
    await forget({ place: stage.place, what: run('done', 'billing/charge'), out: printed().out });
    stage.pass(100 * 86_400_000);
    const words = printed();
    expect(await purge({ place: stage.place, out: words.out })).toBe(0);
    expect(words.text()).toMatch(/^4 removed: what was remembered .* older than 1h\.\n$/);
    expect(keys(await listed())).toEqual(['blocked', 'app/running', 'app/lapsed']);
    const lapsed = printed();
    await purge({ place: stage.place, lapsedOlderThanMs: 86_400_000, limit: 1, out: lapsed.out });
    expect(lapsed.text()).toMatch(/^1 removed.*There may be more\.\n.*more than 1d before, with no outcome\. Nobody knows what they did/);
    const json = printed({ json: true });
    await purge({ place: stage.place, lapsedOlderThanMs: 86_400_000, out: json.out });
    expect(json.json()).toEqual([{ removed: 1 }]);
    expect(keys(await listed())).toEqual(['blocked']);
    expect((await listed({ leases: true })).json()).toMatchObject([{ name: 'nightly', state: 'free' }]);
  });
});
