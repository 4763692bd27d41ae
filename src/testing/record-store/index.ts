import { type Describe, type It, register } from '../suite.ts';
import { ageing } from './ageing.ts';
import { cleaning } from './cleaning.ts';
import { conditions } from './conditions.ts';
import { fidelity } from './fidelity.ts';
import { partCases } from './parts.ts';
import { races } from './races.ts';
import { several } from './several.ts';
import type { RaceSizes, RecordStoreSubject } from './subject.ts';

export interface RecordStoreConformanceOptions {
  /** Heads the tests: the store, and what it runs on. */
  readonly name: string;
  readonly describe: Describe;
  readonly it: It;
  /**
   * Called for each case. Several cases may share one table: ids and operations are fresh in each.
   * `advance` moves the store's clock by so many ms; without it, cases about age wait for a few seconds of real time, and those about
   * purging check only that everything young is spared.
   */
  readonly createStore: () => Promise<RecordStoreSubject>;
  /** How hard to race. The defaults finish within seconds on an emulator. */
  readonly concurrency?: RaceSizes;
}

/**
 * Decides whether a `RecordStore` keeps its contract. A store that passes carries every promise of the core; one that fails will, some day,
 * run something twice. Works with the `describe` and `it` of any runner.
 *
 * @example
 * import { describe, it } from 'vitest';
 * recordStoreConformance({ name: 'my store', describe, it, createStore: async () => ({ store: myStore() }) });
 */
export function recordStoreConformance({ name, describe, it, createStore, concurrency = {} }: RecordStoreConformanceOptions): void {
  const groups = {
    'conditional writes': conditions,
    'what comes back': fidelity,
    age: ageing,
    'listing and purging': cleaning,
    'large outcomes': partCases,
    'several at once': several,
    races: races(concurrency),
  };
  register({ describe, it }, `record store: ${name}`, groups, createStore);
}
