/**
 * Peers beside each other: what each is put through, in turns, and what a call asks of the service.
 *
 * @module
 */
import { setTimeout as pause } from 'node:timers/promises';
import { incompressible } from '../../test/support/incompressible.ts';
import { inLanes, interleaved } from '../measure/interleaved.ts';
import { metered } from '../measure/metered.ts';
import { told } from '../measure/spread.ts';
import type { Figure, Options } from '../section.ts';
import type { Cost, Meter } from './meter.ts';
import { BARE, type Case, type Peer, readyFor } from './peer.ts';

export interface Contender {
  readonly peer: Peer;
  /** The same over a client of its own, whose requests are counted. */
  readonly counted: Peer;
  readonly meter: Meter;
}

export interface Cell {
  readonly what: Case;
  readonly bytes: number;
  readonly lanes: number;
}

const ONE_BY_ONE: readonly Cell[] = (['first run', 'replay', 'conflict', 'takeover', 'failure'] as const).map((what) => ({
  what,
  bytes: 100,
  lanes: 1,
}));

export const CELLS: readonly Cell[] = [
  ...ONE_BY_ONE,
  ...(['first run', 'replay'] as const).flatMap((what) => [4_000, 40_000].map((bytes) => ({ what, bytes, lanes: 1 }))),
  ...(['first run', 'replay', 'conflict'] as const).map((what) => ({ what, bytes: 100, lanes: 32 })),
];

export interface Service {
  readonly name: string;
  /** Ours first: all others are what it is compared with. */
  readonly contenders: readonly Contender[];
  /** Of what is left behind. */
  readonly leaseMs: number;
  /** After so long what was left behind has lapsed for all of them, ms. */
  readonly lapseMs: number;
  readonly rounds: number;
  /** Calls of each in each round, one at a time. */
  readonly times: number;
  /** By the name of a peer, and of what it is put through. */
  readonly goals?: Readonly<Record<string, Readonly<Partial<Record<Case, number>>>>>;
}

export interface CellResult {
  readonly rows: readonly (readonly string[])[];
  readonly figures: readonly Figure[];
  readonly costs: Readonly<Record<string, Cost>>;
}

export const COLUMNS = ['case', 'result', 'at once', 'by', 'µs', 'rerunsafe ÷ it', 'CPU, µs', 'requests'];

const WARM_UP = 4;

export async function measureCell(service: Service, cell: Cell, { share }: Options): Promise<CellResult> {
  const { contenders, lapseMs } = service;
  const { what, bytes, lanes } = cell;
  const rounds = Math.max(2, Math.round(service.rounds * share));
  const times = lanes === 1 ? Math.max(2, Math.round(service.times * Math.min(1, share * 4))) : lanes * (share < 0.25 ? 1 : 2);
  const warmUp = Math.max(1, Math.round(WARM_UP * Math.min(1, share * 4)));
  const keys = Array.from({ length: rounds + warmUp }, (_, round) => Array.from({ length: times }, (_, n) => `${round - warmUp} ${n}`)).flat();
  const given = { cell: `${what} ${bytes} ${lanes}`, value: receiptOf(bytes), keys, leaseMs: service.leaseMs };
  const ready = await Promise.all(contenders.map(({ peer }) => readyFor(peer, what, given)));
  const countedReady = await Promise.all(
    contenders.map(({ counted }) => readyFor(counted, what, { ...given, cell: `counted ${given.cell}`, keys: ['0 0'] })),
  );
  if (what === 'takeover') await pause(lapseMs);

  const costs: Record<string, Cost> = {};
  for (const [at, { peer, meter }] of contenders.entries()) costs[peer.name] = await meter(async () => countedReady[at]?.call('0 0'));

  const subjects = contenders.map(({ peer }, at) => [peer.name, inLanes(lanes, async (key) => ready[at]?.call(key))] as const);
  const meter = metered(Object.fromEntries(subjects));
  const compared = await interleaved(meter.subjects, { rounds, times, warmUp });

  const [ours, ...others] = contenders.map(({ peer }) => peer.name) as [string, ...string[]];
  const row = (name: string): string[] => [
    what,
    hasResult(cell) ? sizeOf(cell) : '',
    String(lanes),
    name,
    compared.us[name]?.median.toFixed(0) ?? '',
    name === ours ? '' : told(compared.ratio(ours, name)),
    meter.cpuUs(name).median.toFixed(0),
    toldCost(costs[name] as Cost),
  ];
  const where = [service.name, ...(hasResult(cell) ? [sizeOf(cell)] : []), lanes === 1 ? 'one at a time' : `${lanes} at once`].join(', ');
  const goalTo = (other: string): number | undefined => (bytes === 100 && lanes === 1 ? service.goals?.[other]?.[what] : undefined);
  const figure = (subject: string, other: string, goal?: number): Figure => {
    const { median: value, low, high } = compared.ratio(subject, other);
    const by = subject === ours ? what : `${what} by ${subject}`;
    return { name: `${by} ÷ ${POSSESSIVE[other] ?? other}, ${where}`, value, low, high, unit: '×', ...(goal === undefined ? {} : { goal }) };
  };
  // What can be reached at all with the rows that we write.
  const floors = others.filter((other) => goalTo(other) !== undefined).map((other) => figure(BARE, other));
  const figures = [...others.map((other) => figure(ours, other, goalTo(other))), ...floors];
  return { rows: [ours, ...others].map(row), figures, costs };
}

/** What work returns: JSON of about so many bytes, that compressing makes no smaller. */
const receiptOf = (bytes: number): object => ({ status: 'charged', receipt: incompressible(bytes - 35) });

const hasResult = ({ what }: Cell): boolean => what !== 'conflict' && what !== 'failure';

const sizeOf = ({ bytes }: Cell): string => (bytes < 1_000 ? `${bytes} B` : `${bytes / 1_000} KB`);

const POSSESSIVE: Readonly<Record<string, string>> = { Powertools: "Powertools'", 'node-idempotency': "node-idempotency's" };

const toldCost = ({ requests, readUnits, writeUnits }: Cost): string =>
  writeUnits === undefined ? String(requests) : `${requests} (${writeUnits} W + ${readUnits ?? 0} R)`;
