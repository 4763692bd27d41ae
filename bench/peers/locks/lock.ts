/**
 * Named locks beside each other: taken and given back.
 *
 * @module
 */
import { inLanes, interleaved } from '../../measure/interleaved.ts';
import { metered } from '../../measure/metered.ts';
import { told } from '../../measure/spread.ts';
import type { Figure, Options } from '../../section.ts';
import type { CellResult } from '../cells.ts';
import type { Cost, Meter } from '../meter.ts';

export interface Locks {
  readonly name: string;
  /** One look; gives it back. undefined: somebody else has it. */
  acquire(name: string): Promise<(() => Promise<unknown>) | undefined>;
}

export interface LockContender {
  readonly locks: Locks;
  /** The same, whose requests are counted. */
  readonly counted: Locks;
  readonly meter: Meter;
  /** Waits for its turn where it is taken, so that a refusal cannot be measured. */
  readonly waits?: true;
}

export type LockCase = 'a new name' | 'a name used before' | 'held by another';

export interface LockCell {
  readonly what: LockCase;
  readonly lanes: number;
}

export const LOCK_CELLS: readonly LockCell[] = [
  { what: 'a new name', lanes: 1 },
  { what: 'a name used before', lanes: 1 },
  { what: 'held by another', lanes: 1 },
  { what: 'a name used before', lanes: 32 },
];

export interface LockService {
  readonly name: string;
  /** Ours first. */
  readonly contenders: readonly LockContender[];
  readonly rounds: number;
  readonly times: number;
}

export const LOCK_COLUMNS = ['taken and given back', 'at once', 'by', 'µs', 'rerunsafe ÷ it', 'CPU, µs', 'requests'];

/** Longer than any comparison. */
export const LOCK_MS = 900_000;
/** For each lane. Many more than there are lanes: no two take one at the same time. */
const NAMES = 8;

export async function measureLocks(
  { name: service, contenders: all, ...usual }: LockService,
  { what, lanes }: LockCell,
  { share }: Options,
): Promise<CellResult> {
  const contenders = what === 'held by another' ? all.filter(({ waits }) => waits === undefined) : all;
  if (contenders.length < 2) return { rows: [], figures: [], costs: {} };
  const rounds = Math.max(2, Math.round(usual.rounds * share));
  const times = lanes === 1 ? Math.max(2, Math.round(usual.times * Math.min(1, share * 4))) : lanes * (share < 0.25 ? 1 : 2);
  const cell = `${what} ${lanes}`;
  const ready = await Promise.all(contenders.map(({ locks }) => readyFor(locks, { what, lanes }, cell)));
  const countedReady = await Promise.all(contenders.map(({ counted }) => readyFor(counted, { what, lanes: 1 }, `counted ${cell}`)));
  const costs: Record<string, Cost> = {};
  for (const [at, { locks, meter }] of contenders.entries()) costs[locks.name] = await meter(async () => countedReady[at]?.('0 0'));

  const subjects = contenders.map(({ locks }, at) => [locks.name, inLanes(lanes, async (key) => ready[at]?.(key))] as const);
  const meter = metered(Object.fromEntries(subjects));
  const compared = await interleaved(meter.subjects, { rounds, times });
  const [ours, ...others] = contenders.map(({ locks }) => locks.name) as [string, ...string[]];
  const row = (name: string): string[] => [
    what,
    String(lanes),
    name,
    compared.us[name]?.median.toFixed(0) ?? '',
    name === ours ? '' : told(compared.ratio(ours, name)),
    meter.cpuUs(name).median.toFixed(0),
    String(costs[name]?.requests),
  ];
  const figure = (other: string): Figure => {
    const { median: value, low, high } = compared.ratio(ours, other);
    return { name: `lock, ${what} ÷ ${other}, ${service}, ${lanes === 1 ? 'one at a time' : `${lanes} at once`}`, value, low, high, unit: '×' };
  };
  return { rows: [ours, ...others].map(row), figures: others.map(figure), costs };
}

async function readyFor(locks: Locks, { what, lanes }: LockCell, cell: string): Promise<(key: string) => Promise<unknown>> {
  const there = async (name: string): Promise<unknown> => {
    const release = await locks.acquire(name);
    if (release === undefined) throw new Error(`${locks.name}: ${name} is held`);
    return release();
  };
  if (what === 'a new name') return (key) => there(`${cell} ${key}`);
  let n = 0;
  if (what === 'a name used before') {
    const names = lanes * NAMES;
    for (let at = 0; at < names; at++) await there(`${cell} ${at}`);
    return () => there(`${cell} ${n++ % names}`);
  }
  await locks.acquire(cell);
  return async () => {
    if ((await locks.acquire(cell)) !== undefined) throw new Error(`${locks.name}: ${cell} was not held`);
  };
}
