/**
 * What the harness itself found in our own code, planted again by undoing the mend. docs/reliability.md has the whole list.
 *
 * @module
 */
import { inTests, onServer, type PlantedBug } from '../bug.ts';

export const TRACK_RECORD: readonly PlantedBug[] = [
  {
    name: 'whoever hears of a claim may take longer than its lease',
    why: 'ours, fixed in c830391, found by the model: the work starts after its deadline',
    file: 'src/core/owned.ts',
    find: '      this.#attempt.lifetime.assertHeld();\n      if (this.#ask) {',
    replace: '      if (this.#ask) {',
    caughtBy: inTests('unit/core/slow-subscribers'),
  },
  {
    name: 'a turn lies between the look at the lease and the work of a step',
    why: 'ours, found by the first run of 20 million seeds: what is lost in that turn is not seen',
    file: 'src/core/step.ts',
    find: '  owner.lifetime.assertHeld();\n  let value: S;\n',
    replace: '  owner.lifetime.assertHeld();\n  await undefined;\n  let value: S;\n',
    caughtBy: inTests('simulation/found-steps', 'at most once'),
  },
  {
    name: 'a turn lies between the answer of onUnknown and the work',
    why: 'ours, found by looking for the same kind elsewhere',
    file: 'src/core/owned.ts',
    find: '        this.#attempt.lifetime.assertHeld();\n      }\n',
    replace: '        this.#attempt.lifetime.assertHeld();\n        await undefined;\n      }\n',
    caughtBy: inTests('simulation/found-steps', 'after onUnknown'),
  },
  {
    name: 'who begins to wait joins a look that is under way',
    why: 'ours, found by the second run of 20 million seeds: it is told what stood there before it came',
    file: 'src/core/waits.ts',
    find: '      forget();\n      return bounded(',
    replace: '      return bounded(',
    caughtBy: inTests('unit/core/waits-shared', 'who comes while a look is under way'),
  },
  {
    name: 'a claim is made over a step that only a later version can read',
    why: 'ours, fixed in c830391, found by rows as a later version may leave them: the step is taken for one that had begun',
    file: 'src/core/decide.ts',
    find: '  mustBeKnown(record);\n',
    replace: '',
    caughtBy: onServer('golden/golden', 'golden rows of sqlite.*of a form that this version does not know'),
  },
  {
    name: 'azure tables: a refused write that cannot be looked up did not happen',
    why: 'ours, fixed in c830391, found by the search for one order of all answers: the network had delivered it twice',
    file: 'src/stores/azure-tables/records.ts',
    find: "if (isRerunSafeError(error, 'STORE_UNAVAILABLE')) throw writeUnknown",
    replace: "if (isRerunSafeError(error, 'STORE_MISCONFIGURED')) throw writeUnknown",
    caughtBy: inTests('unit/stores/azure-tables', 'a refused write that cannot be looked up', 60),
  },
  {
    name: 'dynamodb: the first write of a process is stamped by its own clock alone',
    why: 'ours, fixed in c830391, found by processes killed under wrong clocks: hours off, a stranger takes the claim at once, or nobody for hours',
    file: 'src/stores/dynamodb/index.ts',
    find: 'if (Math.abs(wrongByMs) <= uncertaintyMs) return undefined;',
    replace: 'if (Math.abs(wrongByMs) >= 0) return undefined;',
    caughtBy: inTests('unit/stores/dynamodb-cold-clock'),
  },
];
