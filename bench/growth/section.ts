/**
 * Whether it stays fast: with much in the store, during a clean-up, with many steps.
 *
 * @module
 */
import { type Kind, type Place, type Server, startServer } from '../measure/counted-stores.ts';
import type { Measured, Section } from '../section.ts';
import { type Filled, type FilledPlan, filledFigures, filledTable, largest, measureFilled } from './filled.ts';
import { measurePurge, type Purged, purgeFigures, purgeTable } from './purge.ts';
import { measureSteps, type Stepped, stepsTable } from './steps.ts';

export interface GrowthPlan {
  readonly kinds: readonly Kind[];
  readonly filled: (kind: Kind) => FilledPlan;
  /** How long first runs are measured before the clean-up. */
  readonly aloneMs: number;
  readonly stepRounds: number;
}

/** Where clean-up is ours to do, and a table large enough to feel it can be made. */
const PURGED: ReadonlySet<Kind> = new Set(['postgres', 'sqlite']);
const EXPIRED_EACH = 10;

export interface Grown {
  readonly filled: readonly Filled[];
  readonly purged: readonly Purged[];
  readonly stepped: readonly Stepped[];
}

async function measureOn(
  server: Server,
  { filled, aloneMs, stepRounds }: GrowthPlan,
): Promise<{ filled: Filled; purged: Purged[]; stepped: readonly Stepped[] }> {
  const isPurged = PURGED.has(server.kind);
  const plan = { ...filled(server.kind), ...(isPurged ? { expiredEach: EXPIRED_EACH } : {}) };
  const measured = await measureFilled(server, plan);
  const small: Place = { ...largest(server, plan), name: server.kind === 'redis' ? '0' : 'grown0' };
  const stepped = await measureSteps(small, stepRounds);
  const records = plan.records.at(-1) ?? 0;
  const purged = isPurged ? [await measurePurge(largest(server, plan), records, records / EXPIRED_EACH, aloneMs)] : [];
  return { filled: measured, purged, stepped };
}

export async function measureGrowth(plan: GrowthPlan): Promise<Grown> {
  const all = [];
  for (const kind of plan.kinds) {
    const server = await startServer(kind);
    try {
      all.push(await measureOn(server, plan));
    } finally {
      await server.stop();
    }
  }
  return { filled: all.map(({ filled }) => filled), purged: all.flatMap(({ purged }) => purged), stepped: all.flatMap(({ stepped }) => stepped) };
}

export const shown = ({ filled, purged, stepped }: Grown): Measured => ({
  tables: [filledTable(filled), purgeTable(purged), stepsTable(stepped)],
  figures: [...filledFigures(filled), ...purgeFigures(purged)],
});

const KINDS: readonly Kind[] = ['sqlite', 'postgres', 'redis', 'dynamodb', 'azure-tables'];
/** Emulators, filled through their own interface: a million would take them longer than all the rest. */
const SMALL: ReadonlySet<Kind> = new Set(['dynamodb', 'azure-tables']);

function recordsOf(kind: Kind, share: number): readonly number[] {
  if (SMALL.has(kind)) return share < 0.5 ? [100, 1_000] : [1_000, 10_000];
  if (share < 0.2) return [1_000, 10_000];
  return share < 0.5 ? [1_000, 10_000, 100_000] : [1_000, 100_000, 1_000_000];
}

const measure = async ({ share }: { readonly share: number }): Promise<Measured> =>
  shown(
    await measureGrowth({
      kinds: KINDS,
      filled: (kind) => ({ records: recordsOf(kind, share), rounds: Math.max(2, Math.round(40 * share)), times: share < 0.2 ? 5 : 20 }),
      aloneMs: 3_000 * Math.min(1, share),
      stepRounds: Math.max(1, Math.round(10 * share)),
    }),
  );

export const section: Section = { name: 'growth', measure };
