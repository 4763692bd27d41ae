/**
 * A wrapped no-op beside the same two writes without us, store by store: what stands between the user and what must be written.
 *
 * @module
 */
import { randomUUID } from 'node:crypto';
import { runOnce } from 'rerunsafe';
import { javaAvailable } from '../../test/support/dynamodb.ts';
import { postgresAvailable } from '../../test/support/postgres.ts';
import { redisAvailable } from '../../test/support/redis.ts';
import { inLanes, interleaved, type Plan } from '../measure/interleaved.ts';
import { metered } from '../measure/metered.ts';
import { told } from '../measure/spread.ts';
import type { Figure, Measured, Options, Section } from '../section.ts';
import { OPERATION, type Place, type Writes } from './place.ts';

interface Entry {
  readonly open: () => Promise<Place>;
  readonly available?: () => boolean | Promise<boolean>;
  readonly rounds: number;
  readonly times: number;
}

const ENTRIES: Readonly<Record<string, Entry>> = {
  dynamodb: { open: async () => (await import('./places/dynamodb.ts')).dynamodbPlace(), available: javaAvailable, rounds: 60, times: 20 },
  'azure-tables': { open: async () => (await import('./places/azure-tables.ts')).azureTablesPlace(), rounds: 40, times: 12 },
  postgres: { open: async () => (await import('./places/postgres.ts')).postgresPlace(), available: postgresAvailable, rounds: 60, times: 25 },
  redis: { open: async () => (await import('./places/redis.ts')).nodeRedisPlace(), available: redisAvailable, rounds: 80, times: 60 },
  ioredis: { open: async () => (await import('./places/redis.ts')).ioredisPlace(), available: redisAvailable, rounds: 80, times: 60 },
  sqlite: { open: async () => (await import('./places/sqlite.ts')).sqlitePlace(), rounds: 60, times: 25 },
  memory: { open: async () => (await import('./places/memory.ts')).memoryPlace(), rounds: 80, times: 400 },
};

const COLUMNS = ['store', 'what', 'wrapped, µs', 'bare, µs', 'wrapped ÷ bare', 'CPU wrapped, µs', 'CPU bare, µs'];
const NOTE = [
  'One at a time. Bare: the same columns and values on the same conditions, by the same client and pool; on PostgreSQL and SQLite as plain INSERT … ON CONFLICT',
  'DO NOTHING and UPDATE, on Redis as two scripts of three lines. A bare replay is the create that is refused, and a read where the service does not hand out',
  'what stands there. PostgreSQL with preparedStatements: true, which the bare statements have not. CPU: of this process, all its threads; emulators and servers run beside it. The memory store has no SDK: bare are its own two calls.',
].join('\n');
const GOAL = 1.05;

/** `names`: of the entries. */
export async function measureFloor({ share }: Options, names: readonly string[]): Promise<Measured> {
  const rows: string[][] = [];
  const figures: Figure[] = [];
  for (const name of names) {
    const { open, available, rounds, times } = ENTRIES[name] as Entry;
    if (available !== undefined && !(await available())) continue;
    const place = await open();
    try {
      const writes = await place.writes();
      const used = Math.max(2, Math.round(rounds * share));
      // Long enough for all of it to be compiled, at a full share.
      const plan = { rounds: used, times: Math.max(2, Math.round(times * Math.min(1, share * 4))), warmUp: Math.ceil(used / 3) };
      for (const what of ['first run', 'replay'] as const) {
        const measured = await compared(place, writes, what, plan);
        rows.push(measured.row);
        figures.push(measured.figure);
      }
    } finally {
      await place.stop();
    }
  }
  return { tables: [{ title: 'A wrapped no-op, and the same writes without us', columns: COLUMNS, rows, note: NOTE }], figures };
}

async function compared(place: Place, writes: Writes, what: 'first run' | 'replay', plan: Plan) {
  const { store } = place;
  const fresh = (id: string) => ({ id, owner: randomUUID(), revision: randomUUID() });
  const wrapped = (key: string): Promise<unknown> => runOnce({ store, operation: OPERATION, key }, () => {});
  const bare = async (id: string): Promise<unknown> => {
    const row = fresh(id);
    const { version, standing } = await writes.create(row);
    if (version !== undefined) await writes.complete({ ...row, revision: randomUUID() }, version);
    return standing;
  };
  const known = bareId('known');
  await wrapped('known');
  await bare(known);
  const subjects =
    what === 'replay'
      ? { wrapped: inLanes(1, () => wrapped('known')), bare: inLanes(1, () => bare(known)) }
      : { wrapped: inLanes(1, wrapped), bare: inLanes(1, (key) => bare(bareId(key))) };
  const meter = metered(subjects);
  const compared = await interleaved(meter.subjects, plan);
  const ratio = compared.ratio('wrapped', 'bare');
  const us = (subject: 'wrapped' | 'bare'): string => compared.us[subject]?.median.toFixed(0) ?? '';
  const cpu = (subject: 'wrapped' | 'bare'): string => meter.cpuUs(subject).median.toFixed(0);
  const row = [place.name, what, us('wrapped'), us('bare'), told(ratio), cpu('wrapped'), cpu('bare')];
  const { median: value, low, high } = ratio;
  const figure: Figure =
    what === 'first run'
      ? { name: `wrapped no-op ÷ the same two bare writes, ${place.name}`, value, low, high, unit: '×', goal: GOAL }
      : { name: `replay of a no-op ÷ the bare write that is refused, ${place.name}`, value, low, high, unit: '×' };
  return { row, figure };
}

/** As long as ours, and no record's. */
const bareId = (key: string): string => `bare ${key}`.padEnd(46, '_').replaceAll(' ', '-');

export const section: Section = { name: 'floor', measure: (options) => measureFloor(options, Object.keys(ENTRIES)) };
