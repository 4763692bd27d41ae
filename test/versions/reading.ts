/**
 * All golden rows of a store in front of an earlier engine.
 *
 * @module
 */
import { expect } from 'vitest';
import type { RecordStore } from '../../src/core/ports.ts';
import { SCHEMA } from '../../src/core/record.ts';
import { EXPECTED } from '../golden/expected.ts';
import { readGolden } from '../golden/files.ts';
import type { Place, PlaceKind, RawRow, Server } from '../golden/places.ts';
import { idOf } from '../golden/scenarios.ts';
import { engineOf, type OLD } from './engines.ts';
import { readByOld, STEPS } from './read-by-old.ts';
import { meant } from './rows.ts';

export class Reading {
  readonly #old: (typeof OLD)[number];
  readonly #server: Server;
  readonly #golden: ReturnType<typeof readGolden>;

  constructor(old: (typeof OLD)[number], kind: PlaceKind, server: Server) {
    this.#old = old;
    this.#server = server;
    this.#golden = readGolden(SCHEMA, kind);
  }

  get names(): string[] {
    return Object.keys(EXPECTED).filter((name) => name in this.#golden.records);
  }

  /** What stands in `rows.ts`; and an outcome, or that it is blocked, is as it was. */
  async readsAsMeant(names = this.names): Promise<void> {
    const { place, store } = await this.laid(names);
    const before = await place.dump();
    const settled: string[] = [];
    for (const name of names) {
      expect(await readByOld(await engineOf(this.#old), store, name), name).toBe(meant(this.#old, name));
      if (!('runsAs' in (EXPECTED[name] as (typeof EXPECTED)[string]).gets)) settled.push(idOf(name));
    }
    const those = (rows: readonly RawRow[]): string[] =>
      rows.map((row) => JSON.stringify(row)).filter((row) => settled.some((id) => row.includes(id)));
    expect(those(await place.dump()).sort()).toEqual(those(before).sort());
  }

  /** And no step that is kept, or had begun, is lost or run. */
  async stepsAsMeant(): Promise<void> {
    const name = 'running-with-steps';
    for (const step of STEPS) {
      const { place, store } = await this.laid([name]);
      expect(await readByOld(await engineOf(this.#old), store, name, step), step).toBe(meant(this.#old, `step ${step}`));
      const after = (await place.store.read(idOf(name)))?.record;
      if (after?.state !== 'completed') expect(after?.steps, step).toEqual(this.#golden.records[name]?.steps);
    }
  }

  async laid(names: readonly string[], change: (row: RawRow) => RawRow = (row) => row): Promise<{ place: Place; store: RecordStore }> {
    const place = await this.#server.place();
    const rows = Object.entries(this.#golden.rows).filter(([of]) => names.includes(of.replace(/\+\d+$/, '')));
    for (const [, row] of rows) await place.put(change(row));
    const store = place.open?.(await engineOf(this.#old));
    if (store === undefined) throw new Error('no earlier version opens this place');
    return { place, store };
  }
}
