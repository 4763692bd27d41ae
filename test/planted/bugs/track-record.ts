/**
 * What the harness itself found in our own code, planted again by undoing the mend. docs/reliability.md has the whole list.
 *
 * @module
 */
import { inTests, onServer, type PlantedBug } from '../bug.ts';

export const TRACK_RECORD: readonly PlantedBug[] = [
  {
    name: 'whoever hears of a claim may take longer than its lease',
    why: 'ours, fixed in 359d1c8, found by the model: the work starts after its deadline',
    file: 'src/core/owned.ts',
    find: '      this.#attempt.lifetime.assertHeld();\n      if (this.#ask) {',
    replace: '      if (this.#ask) {',
    caughtBy: inTests('unit/core/slow-subscribers'),
  },
  {
    name: 'a claim is made over a step that only a later version can read',
    why: 'ours, fixed in 34e0a4a, found by rows as a later version may leave them: the step is taken for one that had begun',
    file: 'src/core/decide.ts',
    find: '  mustBeKnown(record);\n',
    replace: '',
    caughtBy: onServer('golden/golden', 'golden rows of sqlite.*of a form that this version does not know'),
  },
  {
    name: 'azure tables: a refused write that cannot be looked up did not happen',
    why: 'ours, fixed in 34e0a4a, found by the search for one order of all answers: the network had delivered it twice',
    file: 'src/stores/azure-tables/records.ts',
    find: "if (isRerunSafeError(error, 'STORE_UNAVAILABLE')) throw writeUnknown",
    replace: "if (isRerunSafeError(error, 'STORE_MISCONFIGURED')) throw writeUnknown",
    caughtBy: inTests('unit/stores/azure-tables', 'a refused write that cannot be looked up', 60),
  },
  {
    name: 'dynamodb: the first write of a process is stamped by its own clock alone',
    why: 'ours, fixed in 9c6ed54, found by processes killed under wrong clocks: hours off, a stranger takes the claim at once, or nobody for hours',
    file: 'src/stores/dynamodb/index.ts',
    find: 'if (Math.abs(wrongByMs) <= uncertaintyMs) return undefined;',
    replace: 'if (Math.abs(wrongByMs) >= 0) return undefined;',
    caughtBy: inTests('unit/stores/dynamodb-cold-clock'),
  },
];
