/**
 * Peers on the same emulator, the same server: calls guarded by a key, and named locks; and bare SDK calls that do the same writes.
 *
 * @module
 */
import type { Figure, Measured, Options, Section, Table } from '../section.ts';
import { CELLS, type Cell, type CellResult, COLUMNS, measureCell, type Service } from './cells.ts';
import { dynamodbService } from './dynamodb.ts';
import { LOCK_CELLS, LOCK_COLUMNS, type LockCell, type LockService, measureLocks } from './locks/lock.ts';
import { redisService } from './redis.ts';

const CALLS_NOTE = [
  'Each as its documentation sets it up, by a client of its own with the same settings. CPU: of this process. Requests: counted, for one call.',
  'bare SDK calls: the rows that rerunsafe writes, by hand; the end of the lease is one column more, so that one condition can decide whether it is over.',
];
const UNITS_NOTE = [
  'W and R: write and read units. The answer to a refused write does not say what it consumed: as documented, 1 W for each KB of the item that stands there,',
  'computed from the item that came back. Results over 8 KB lie beside the record of rerunsafe: one request more.',
];
const REDIS_NOTE = [
  'A takeover is a first run for node-idempotency: its keys go away by themselves. Its failures are kept as answers, those of the others free the key.',
];
const LOCKS_NOTE =
  'rerunsafe keeps the row of a released lease, and its token goes on growing; redlock and redis-semaphore remove theirs and have no token.';
const LOCK_CLIENT_NOTE = [
  'dynamodb-lock-client, fail open: its leases end, and have a token; after a release it waits 1 ms before it takes a lock. Fail closed: they end by a release',
  'alone, and have none. By version 2 of the SDK, with connections kept alive.',
].join('\n');

interface Part {
  readonly table: Table;
  readonly results: readonly CellResult[];
}

const figuresOf = (parts: readonly Part[]): Figure[] => parts.flatMap(({ results }) => results.flatMap(({ figures }) => figures));

export async function measureCalls(service: Service, options: Options, cells: readonly Cell[] = CELLS, notes: readonly string[] = []): Promise<Part> {
  const results: CellResult[] = [];
  for (const cell of cells) results.push(await measureCell(service, cell, options));
  const rows = results.flatMap((result) => result.rows);
  return { table: { title: `Calls guarded by a key, ${service.name}`, columns: COLUMNS, rows, note: [...CALLS_NOTE, ...notes].join('\n') }, results };
}

export async function measureAllLocks(service: LockService, options: Options, note: string, cells: readonly LockCell[] = LOCK_CELLS): Promise<Part> {
  const results: CellResult[] = [];
  for (const cell of cells) results.push(await measureLocks(service, cell, options));
  const rows = results.flatMap((result) => result.rows);
  return { table: { title: `Named locks, ${service.name}`, columns: LOCK_COLUMNS, rows, note }, results };
}

/** Of a replay of 40 KB, all units alike, although a read unit costs a fifth of a write unit. */
export function capacityFigure(results: readonly CellResult[]): Figure[] {
  const units = (costs: CellResult['costs'], name: string): number => (costs[name]?.writeUnits ?? Number.NaN) + (costs[name]?.readUnits ?? 0);
  return results.map(({ costs }) => ({
    name: 'replay of a 40 KB result, consumed capacity ÷ Powertools, DynamoDB Local',
    value: units(costs, 'rerunsafe') / units(costs, 'Powertools'),
    unit: '×',
    goal: 0.4,
  }));
}

const isLargeReplay = ({ what, bytes }: Cell): boolean => what === 'replay' && bytes === 40_000;

async function onDynamodb(options: Options): Promise<Measured> {
  const service = await dynamodbService();
  if (service === undefined) return { tables: [], figures: [] };
  try {
    const calls = await measureCalls(service, options, CELLS, UNITS_NOTE);
    const { dynamodbLocks } = await import('./locks/on-dynamodb.ts');
    const locks = await dynamodbLocks(service);
    const parts = [calls, ...(locks === undefined ? [] : [await measureAllLocks(locks, options, LOCK_CLIENT_NOTE)])];
    const large = calls.results.filter((_, at) => isLargeReplay(CELLS[at] as Cell));
    return { tables: parts.map(({ table }) => table), figures: [...figuresOf(parts), ...capacityFigure(large)] };
  } finally {
    await service.emulator.stop();
  }
}

async function onRedis(options: Options): Promise<Measured> {
  const service = await redisService();
  if (service === undefined) return { tables: [], figures: [] };
  try {
    const calls = await measureCalls(service, options, CELLS, REDIS_NOTE);
    const { redisLocks } = await import('./locks/on-redis.ts');
    const locks = await redisLocks(service);
    try {
      const parts = [calls, await measureAllLocks(locks, options, LOCKS_NOTE)];
      return { tables: parts.map(({ table }) => table), figures: figuresOf(parts) };
    } finally {
      locks.stop();
    }
  } finally {
    await service.stop();
  }
}

export const section: Section = {
  name: 'peers',
  async measure(options) {
    const parts = [await onDynamodb(options), await onRedis(options)];
    return { tables: parts.flatMap(({ tables }) => tables), figures: parts.flatMap(({ figures }) => figures) };
  },
};
