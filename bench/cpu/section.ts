/**
 * Our own work for a call, on the memory store: time, and what is made on the way.
 *
 * @module
 */
import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { memoryStore, runOnce } from 'rerunsafe';
import { inLanes, interleaved, type Subject } from '../measure/interleaved.ts';
import { told } from '../measure/spread.ts';
import type { Section } from '../section.ts';
import type { Counted } from './counted.ts';

const CALLS = 5_000;
const ROUNDS = 40;

export const section: Section = {
  name: 'cpu',
  async measure({ share }) {
    const times = Math.max(50, Math.round(CALLS * Math.min(1, share * 4)));
    const compared = await interleaved(subjects(), { rounds: Math.max(3, Math.round(ROUNDS * share)), times, warmUp: share < 1 ? 1 : 6 });
    const made = counted();
    const row = (name: string, { promises, timers, bytes }: Counted): string[] => [
      name,
      told(at(compared.us, name), 1),
      String(promises),
      String(timers),
      String(bytes),
    ];
    return {
      tables: [
        {
          title: 'Memory store, one call',
          columns: ['', 'µs, median (quartiles)', 'promises', 'timers', 'bytes on the heap'],
          rows: [
            row('first run', made.first),
            row('replay', made.replay),
            ['the two writes of a first run alone', told(at(compared.us, 'the two writes of a first run alone'), 1), '', '', ''],
            ['a Map, a random id and a timer', told(at(compared.us, 'a Map, a random id and a timer'), 1), '', '', ''],
          ],
          note: 'Promises, timers and bytes are counted and the same on each machine; the µs are of this one.',
        },
      ],
      figures: [
        { name: 'memory store, first run', value: rounded(at(compared.us, 'first run').median), unit: 'µs', goal: 12 },
        { name: 'memory store, replay', value: rounded(at(compared.us, 'replay').median), unit: 'µs', goal: 6 },
        { name: 'promises of a first run', value: made.first.promises, unit: 'requests' },
      ],
    };
  },
};

const rounded = (us: number): number => Math.round(us * 100) / 100;
const at = <V>(all: Readonly<Record<string, V>>, name: string): V => all[name] as V;

function subjects() {
  // A new one for each round: hundreds of thousands of records that nobody purges would be paid for with every collection of garbage.
  const over =
    (keyOf: (key: string) => string): Subject =>
    async (times, round) => {
      const store = memoryStore();
      await inLanes(1, (key) => runOnce({ store, operation: 'bench/cpu', key: keyOf(key) }, () => ({ ok: true })))(times, round);
    };
  const bare = memoryStore();
  const kept = new Map<string, string>();
  return {
    'first run': over((key) => key),
    replay: over(() => 'replay'),
    'the two writes of a first run alone': inLanes(1, async (key) => {
      const record = recordOf(key);
      const made = await bare.create(key, record);
      if (made.ok)
        await bare.replace(key, { ...record, state: 'completed', outcome: { kind: 'value', value: { json: { ok: true } } } }, made.version);
    }),
    'a Map, a random id and a timer': inLanes(1, async (key) => {
      const timer = setTimeout(() => {}, 60_000);
      kept.set(key, await Promise.resolve(randomUUID()));
      clearTimeout(timer);
    }),
  };
}

const recordOf = (label: string) => ({
  schema: 1,
  operation: 'bench/cpu',
  scope: '',
  state: 'running' as const,
  owner: randomUUID(),
  revision: randomUUID(),
  token: 1,
  attempt: 1,
  leaseMs: 60_000,
  retentionMs: 86_400_000,
  createdAtMs: Date.now(),
  label,
});

/** In a process of its own: what others left on the heap would be counted with it. */
export const counted = (): { readonly first: Counted; readonly replay: Counted } =>
  JSON.parse(
    execFileSync(process.execPath, ['--expose-gc', '--max-semi-space-size=128', join(import.meta.dirname, 'counted.ts')], { encoding: 'utf8' }),
  );
