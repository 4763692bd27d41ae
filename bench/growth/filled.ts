/**
 * What a call costs where little and where much is kept: tables side by side in one server, in turns.
 *
 * @module
 */
import { type RecordStore, runOnce } from 'rerunsafe';
import { type Counted, type Kind, open, type Place, type Server, TITLES } from '../measure/counted-stores.ts';
import { inLanes, interleaved } from '../measure/interleaved.ts';
import { type Spread, told } from '../measure/spread.ts';
import type { Figure, Table } from '../section.ts';
import { fill, OPERATION, VALUE } from './fill.ts';

export interface FilledPlan {
  /** From few to many. */
  readonly records: readonly number[];
  readonly rounds: number;
  readonly times: number;
  /** In the largest: every so many-th. */
  readonly expiredEach?: number;
}

export interface Filled {
  readonly server: Server;
  readonly plan: FilledPlan;
  readonly us: readonly Spread[];
  /** To the smallest. */
  readonly ratios: readonly Spread[];
  readonly fillMs: number;
}

const placeOf = ({ kind, at }: Server, n: number): Place => ({ kind, at, name: kind === 'redis' ? String(n) : `grown${n}` });
/** The place of the largest. */
export const largest = (server: Server, plan: FilledPlan): Place => placeOf(server, plan.records.length - 1);

/** A first run, and its replay. */
async function call(store: RecordStore, key: string): Promise<void> {
  await runOnce({ store, operation: OPERATION, key }, () => VALUE);
  await runOnce({ store, operation: OPERATION, key }, () => Promise.reject(new Error('it ran again')));
}

export async function measureFilled(server: Server, plan: FilledPlan): Promise<Filled> {
  const began = performance.now();
  for (const [n, records] of plan.records.entries()) {
    const isLargest = n === plan.records.length - 1;
    await fill(placeOf(server, n), { records, ...(isLargest && plan.expiredEach !== undefined ? { expiredEach: plan.expiredEach } : {}) });
  }
  const fillMs = performance.now() - began;
  const opened: Counted[] = [];
  try {
    for (const n of plan.records.keys()) opened.push(await open(placeOf(server, n)));
    const names = plan.records.map(String);
    const subjects = Object.fromEntries(names.map((name, n) => [name, inLanes(1, (key) => call((opened[n] as Counted).store, key))]));
    const compared = await interleaved(subjects, { rounds: plan.rounds, times: plan.times, warmUp: plan.rounds > 2 ? 3 : 1 });
    return {
      server,
      plan,
      us: names.map((name) => compared.us[name] as Spread),
      ratios: names.map((name) => compared.ratio(name, names[0] as string)),
      fillMs,
    };
  } finally {
    for (const { close } of opened) await close();
  }
}

/** `10^6`; what is no such power in full. */
export const counted = (records: number): string => {
  const power = Math.log10(records);
  return Number.isInteger(power) ? `10^${power}` : String(records);
};

export function filledTable(all: readonly Filled[]): Table {
  return {
    title: 'A first run and its replay, by what is kept already',
    columns: ['store', 'records', 'µs for both', '÷ at the fewest', 'filled in, s'],
    rows: all.flatMap(({ server, plan, us, ratios, fillMs }) =>
      plan.records.map((records, n) => [
        TITLES[server.kind],
        counted(records),
        told(us[n] as Spread, 0),
        told(ratios[n] as Spread, 3),
        n === 0 ? (fillMs / 1_000).toFixed(1) : '',
      ]),
    ),
    note: 'Tables side by side in one server (Redis: databases), filled with copies of one real record under ids of its kind, and measured in turns. The calls that are measured add less than a thousand records to each table. Emulators are filled through their own interface, which is why they hold less, and how they keep rows is not how the services do: no goal stands for them.',
  };
}

const GOAL = 1.1;
/** What an emulator does with many rows says nothing of the service. */
const EMULATED: ReadonlySet<Kind> = new Set(['dynamodb', 'azure-tables']);

export function filledFigures(all: readonly Filled[]): Figure[] {
  return all.map(({ server, plan, ratios }) => {
    const [few = 0] = plan.records;
    const many = plan.records.at(-1) ?? 0;
    const { median: value, low, high } = ratios.at(-1) as Spread;
    return {
      name: `cost per call at ${counted(many)} records ÷ at ${counted(few)}, ${TITLES[server.kind]}`,
      value,
      low,
      high,
      unit: '×',
      ...(EMULATED.has(server.kind) ? {} : { goal: GOAL }),
    };
  });
}
