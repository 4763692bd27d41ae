import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RecordStore } from '../../src/core/ports.ts';
import { SCHEMA, type StoredRecord } from '../../src/core/record.ts';
import { forgetRun, isRerunSafeError, type PermanentError, resolveRun, storeLeases, sweep } from '../../src/index.ts';
import { difference } from '../support/same.ts';
import { EXPECTED, PURGED, PURGED_WHERE_LAPSED } from './expected.ts';
import { type GoldenFile, readGolden } from './files.ts';
import { formsIn, formsOf } from './forms.ts';
import { type Lay, laterFieldTests, laterFormTests, laterShapeTests, withBody } from './later.ts';
import { type Place, type PlaceKind, placeKinds, type RawRow, type Server } from './places.ts';
import { idOf, JSON_VALUE, LARGE_VALUE, next, richValue, runOf, SCENARIOS, SLOT } from './scenarios.ts';
import { shapeOf } from './shape.ts';
import { writeAll } from './write.ts';

const SCHEMAS = readdirSync(import.meta.dirname)
  .map((name) => Number(/^v(\d+)$/.exec(name)?.[1]))
  .filter((schema) => schema > 0);
const kinds = await placeKinds();
const idsOf = (names: readonly string[]): string[] => names.map(idOf).sort();

/** They start side by side. */
const servers = new Map<PlaceKind, Promise<Server>>();
beforeAll(async () => {
  for (const kind of kinds) servers.set(kind, kind.start());
  await Promise.all(servers.values());
});
afterAll(async () => {
  for (const started of await Promise.allSettled(servers.values())) if (started.status === 'fulfilled') await started.value.stop();
});

describe.each(kinds.flatMap((kind) => SCHEMAS.map((schema) => [kind.name, schema, kind] as const)))(
  'golden rows of %s, schema %d',
  (_, schema, kind) => {
    let server: Server;
    let golden: GoldenFile;
    beforeAll(async () => {
      server = (await servers.get(kind)) as Server;
      golden = readGolden(schema, kind);
    });

    /** A table with these rows; `as`: what is done to each before. The store sees them as old as they are. */
    const laid = async (as: (row: RawRow) => RawRow = (row) => row, place?: Place): Promise<Place> => {
      const there = place ?? (await server.place());
      for (const row of Object.values(golden.rows)) await there.put(as(row));
      return { ...there, store: there.later ?? there.store };
    };
    const names = (): string[] => Object.keys(golden.records);
    const runNames = (): string[] => names().filter((name) => name in EXPECTED);
    const listed = async (store: RecordStore): Promise<string[]> => {
      const ids: string[] = [];
      for await (const { id } of store.list({})) ids.push(id);
      return ids.sort();
    };

    it('there is one for every scenario that this store can have', async () => {
      const { store } = await server.place();
      const all = SCENARIOS.filter(({ needsParts }) => !needsParts || store.limits.parts !== undefined);
      expect(names().sort()).toEqual(all.map(({ name }) => name).sort());
      expect(runNames().length).toBe(names().filter((name) => !name.startsWith('lease')).length);
    });

    it.runIf(schema === SCHEMA)('I1 every form that the types of a record have has a row: states, reasons, outcomes, steps, fields', async () => {
      const { store } = await laid();
      const found = new Set<string>();
      for (const name of names()) for (const form of formsIn((await store.read(idOf(name)))?.record as StoredRecord)) found.add(form);
      expect([...found].sort()).toEqual(formsOf(store.limits.parts !== undefined).sort());
    });

    it('each is read as the version that wrote it has read it', async () => {
      const { store } = await laid();
      for (const [name, record] of Object.entries(golden.records)) {
        const found = await store.read(idOf(name));
        // Table Storage stamps a row when it is put there.
        const { writtenAtMs: _, ...rest } = found?.record ?? ({} as StoredRecord);
        const { writtenAtMs: __, ...meant } = record;
        expect(rest, name).toEqual(meant);
        const { state, outcome } = EXPECTED[name] ?? { state: rest.state };
        expect({ state: rest.state, outcome: rest.outcome?.kind }, name).toEqual({ state, outcome });
      }
    });

    it('all of them are listed, and no part of one', async () => {
      const { store } = await laid();
      expect(await listed(store)).toEqual(idsOf(names()));
    });

    it('the next caller replays it, is told, or takes it over with its steps', async () => {
      const { store } = await laid();
      for (const name of runNames()) await theNext(store, name);
    });

    it('leases keep their slots and their tokens', async () => {
      const { store } = await laid();
      const leases = storeLeases(store);
      const request = { owner: 'another', leaseMs: 60_000 };
      expect(await leases.read('golden/lease-held')).toMatchObject({ held: false, label: 'host 1' });
      expect(await leases.acquire('golden/lease-with-slot', { ...request, slot: SLOT })).toEqual({ kind: 'slot-done' });
      expect(await leases.acquire('golden/lease-with-slot', { ...request, slot: SLOT - 1 })).toEqual({ kind: 'slot-passed', lastSlot: SLOT });
      const got = await leases.acquire('golden/lease-held', request);
      expect(got.kind === 'acquired' && got.token).toBeGreaterThan(golden.records['lease-held']?.token ?? Number.NaN);
    });

    it('a person resolves what is blocked or lapsed, and forgets what is done', async () => {
      const { store } = await laid();
      for (const name of ['blocked-unknown', 'blocked-attempts', 'blocked-with-word', 'running', 'running-with-sealed-steps']) {
        expect(await resolveRun(runOf(store, name), { done: 'by hand' }), name).toEqual({ kind: 'written' });
        expect(await next(store, name, () => 'again'), name).toMatchObject({ value: 'by hand', replayed: true, resolved: true });
      }
      const corrected = { ...runOf(store, 'resolved-done'), force: true };
      expect(await resolveRun(corrected, 'not-done')).toEqual({ kind: 'written' });
      expect(await next(store, 'resolved-done', () => 'again')).toMatchObject({ value: 'again', replayed: false });
      expect(await forgetRun(runOf(store, 'completed'))).toEqual({ kind: 'written' });
      expect(await next(store, 'completed', () => 'again')).toMatchObject({ value: 'again', replayed: false });
    });

    it('a sweep shows what lapsed and what is blocked', async () => {
      const { store } = await laid();
      const { lapsed, blocked, failures } = await sweep({ store }, () => undefined);
      expect({ lapsed, blocked, failures }).toEqual({
        lapsed: PURGED_WHERE_LAPSED.length,
        blocked: names().filter((name) => name.startsWith('blocked')).length,
        failures: [],
      });
    });

    it('a clean-up removes what has expired, and what lapsed where that is asked for', async () => {
      const { store } = await laid();
      expect(await store.purge({})).toEqual({ removed: PURGED.length });
      const left = names().filter((name) => !PURGED.includes(name));
      expect(await listed(store)).toEqual(idsOf(left));
      expect(await store.purge({ lapsedOlderThanMs: 1 })).toEqual({ removed: PURGED_WHERE_LAPSED.length });
      expect(await listed(store)).toEqual(idsOf(left.filter((name) => !PURGED_WHERE_LAPSED.includes(name))));
      for (const name of left.filter((of) => of.startsWith('completed'))) await theNext(store, name);
    });

    it('with a column that this version does not know it is read, and written over', async () => {
      const place = await server.place();
      await place.addColumn?.('odd');
      const { store } = await laid((row) => (isRecord(row) ? { ...row, odd: kind.odd } : row), place);
      expect(await listed(store)).toEqual(idsOf(names()));
      for (const name of runNames()) await theNext(store, name);
    });

    it('of a later schema it is RECORD_TOO_NEW for everybody, and left as it is', async () => {
      const place = await laid((row) => (isRecord(row) ? withSchema(row, kind.column('schema'), SCHEMA + 1) : row));
      const { store } = place;
      const before = await place.dump();
      const tooNew = expect.objectContaining({ code: 'RECORD_TOO_NEW', facts: { schema: SCHEMA + 1 } });
      for (const name of ['running', 'completed', 'blocked-unknown', 'expired']) {
        const work = (): never => expect.unreachable('the work must not run');
        const tries = [
          () => store.read(idOf(name)),
          () => next(store, name, work),
          () => next(store, name, work, { onInFlight: { waitMs: 100 } }),
          () => resolveRun(runOf(store, name), { done: 1 }),
          () => forgetRun({ ...runOf(store, name), force: true }),
          () => listed(store),
          () => sweep({ store }, () => 'not-done'),
        ];
        for (const attempt of tries) await expect(attempt(), name).rejects.toEqual(tooNew);
      }
      await expect(storeLeases(store).acquire('golden/lease-held', { owner: 'another', leaseMs: 60_000 })).rejects.toEqual(tooNew);
      expect(await store.purge({})).toEqual({ removed: 0 });
      expect(await store.purge({ lapsedOlderThanMs: 1 })).toEqual({ removed: 0 });
      expect(sorted(await place.dump())).toEqual(sorted(before));
      // Others are listed by their operation, and removed.
      await place.put(golden.rows.expired as RawRow);
      const others: string[] = [];
      for await (const { id } of store.list({ operation: 'golden/expired' })) others.push(id);
      expect(others).toEqual([idOf('expired')]);
      expect(await store.purge({})).toEqual({ removed: 1 });
    });

    const lay: Lay = async (name, change) => {
      const there = await server.place();
      await there.put(withBody(golden.rows[name] as RawRow, change));
      return { ...there, store: there.later ?? there.store };
    };
    laterFieldTests(lay);
    if (kind.name === 'sqlite') laterFormTests(lay);
    if (kind.name === 'sqlite' || kind.name === 'dynamodb') laterShapeTests(lay);

    it.runIf(schema === SCHEMA)('today’s code writes rows of that very form (if it is to be another: node test/golden/write.ts)', async () => {
      const { rows } = await writeAll(await server.place());
      const shapes = (of: Readonly<Record<string, RawRow>>) => Object.fromEntries(Object.entries(of).map(([name, row]) => [name, shapeOf(row)]));
      expect(shapes(rows)).toEqual(shapes(golden.rows));
    });
  },
);

it('there are golden rows of every schema up to this one, for every store', () => {
  expect(SCHEMAS.sort()).toEqual(Array.from({ length: SCHEMA }, (_, n) => n + 1));
  const files = readdirSync(join(import.meta.dirname, `v${SCHEMA}`));
  expect(files.sort()).toEqual(
    ['azure-tables', 'command-line', 'dynamodb', 'lock-files', 'postgres', 'redis', 'sqlite'].map((name) => `${name}.json`),
  );
});

const isRecord = (row: RawRow): boolean => 'revision' in row || 'fields' in row;
const sorted = (rows: readonly RawRow[]): RawRow[] => [...rows].sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));

/** In whatever type the column has. */
function withSchema(row: RawRow, column: string, schema: number): RawRow {
  const as = (value: unknown): unknown => {
    if (typeof value === 'number') return schema;
    if (typeof value === 'string') return String(schema);
    return Object.fromEntries(Object.entries(value as object).map(([name, inner]) => [name, /^\d+$/.test(String(inner)) ? as(inner) : inner]));
  };
  if ('fields' in row) return { ...row, fields: { ...(row.fields as object), [column]: String(schema) } };
  return { ...row, [column]: as(row[column]) };
}

async function theNext(store: RecordStore, name: string): Promise<void> {
  const { gets } = EXPECTED[name] as (typeof EXPECTED)[string];
  const steps: Record<string, unknown> = {};
  const result = await next(store, name, async (run) => {
    if (!('runsAs' in gets)) return expect.unreachable(`${name}: the work must not run`);
    if (gets.steps === undefined) return run.attempt;
    const kept = (step: string) => () => expect.unreachable(`${name}: the step ${step} must not run`);
    steps.charge = await run.step('charge', kept('charge'), gets.steps === 'all' ? { input: { total: 12.5 } } : {});
    if (gets.steps === 'charge') return run.attempt;
    steps.rich = await run.step('rich', kept('rich'), { key: 'a' });
    steps.large = await run.step('large', kept('large'));
    steps.lost = await run.step('lost', kept('lost')).catch((error: unknown) => isRerunSafeError(error, 'RESULT_NOT_STORED'));
    steps.ship = await run.step('ship', kept('ship'), { mode: 'atMostOnce', input: 'parcel', onInterrupted: () => ({ done: 'asked' }) });
    return run.attempt;
  }).catch((error: unknown) => ({ kind: 'threw' as const, error }));
  if ('replays' in gets) {
    expect(result, name).toMatchObject({ kind: 'completed', replayed: true, attempt: 1, ...(gets.resolved && { resolved: true }) });
    expect(result.kind === 'completed' && difference(result.value, gets.replays()), name).toBeUndefined();
  } else if ('fails' in gets) {
    expect(result, name).toMatchObject({
      kind: 'failed',
      replayed: true,
      error: { message: 'card was declined', code: gets.code ?? 'card_declined' },
    });
    expect(result.kind === 'failed' && difference((result.error as PermanentError).data, gets.fails()), name).toBeUndefined();
  } else if ('told' in gets) {
    expect(result, name).toMatchObject({ kind: 'threw', error: { code: gets.told, facts: { reason: gets.reason } } });
  } else if ('blocked' in gets) {
    expect(result, name).toMatchObject({ kind: 'blocked', why: gets.blocked });
  } else {
    expect(result, name).toMatchObject({ kind: 'completed', value: gets.runsAs, replayed: false, attempt: gets.runsAs });
    const all = { charge: JSON_VALUE, rich: richValue(), large: LARGE_VALUE, lost: true, ship: 'asked' };
    const meant = gets.steps === 'all' ? all : gets.steps === 'charge' ? { charge: JSON_VALUE } : {};
    expect(difference(steps, meant), name).toBeUndefined();
  }
}
