/**
 * Which tests are asked about which files. All are quick, say the same each time, and need no emulator.
 *
 * @module
 */
import { basename } from 'node:path';

/** Each with the tests of those before it, for what they let live. `own`: written about this very file. `slow`: seconds for each mutant. */
export const ROUNDS = ['own', 'quick', 'slow'] as const;
export type Round = (typeof ROUNDS)[number];

export interface Tests extends Readonly<Record<Round, readonly string[]>> {
  /** Of the vitest runner. `forks` where a test changes what belongs to the process: its folder, its signals. */
  readonly pool: 'threads' | 'forks';
}

const unit = (...names: readonly string[]): string[] => names.map((name) => `test/unit/core/${name}.test.ts`);

/** By the name of the file under src/core. */
const OWN_OF_CORE: Readonly<Record<string, readonly string[]>> = {
  acquisition: unit('acquisition', 'lease'),
  attempt: [
    ...unit('attempt', 'own-moves', 'commit-beside-steps', 'faults', 'last-look', 'renewal', 'outcomes', 'commit', 'steps', 'zombie'),
    ...unit('steps-under-way', 'retention', 'own-block', 'steps-room', 'parts'),
  ],
  beside: unit('beside-read', 'parts', 'parts-kept', 'commit-beside-steps', 'end-of-run', 'asked-beside-steps'),
  bounded: unit('bounded'),
  changes: unit('rows', 'steps-room'),
  claim: unit('claim', 'claim-late', 'faults', 'outcomes', 'run-once', 'local-replay'),
  codec: unit('codec'),
  'commit-through': unit('commit-through'),
  decide: unit('decide', 'decide-person'),
  'error-outcome': unit('error-outcome'),
  errors: unit('errors'),
  events: unit('events-heard', 'lease-events'),
  fence: unit('fence'),
  fingerprint: unit('key', 'values', 'fingerprint-entries'),
  guard: unit('guard-said', 'options'),
  'in-transaction': unit('in-transaction'),
  key: unit('key', 'values'),
  'known-forms': unit('known-forms'),
  lease: unit('lease', 'lease-asked', 'lease-events'),
  lifetime: unit('lifetime'),
  'live-lease': unit('live-lease', 'live-lease-told', 'lease', 'lease-events', 'lease-released'),
  'live-run': [
    ...unit('live-run-said', 'commit-beside-steps', 'commit', 'steps', 'steps-under-way', 'step-changes', 'steps-not-kept', 'value-forms'),
    ...unit('asked-beside-steps', 'loses-on-failover', 'asked-said', 'end-of-run', 'seal'),
  ],
  'load-package': unit('load-package'),
  'local-replay': unit('local-kept', 'local-replay', 'local-replay-forget'),
  'not-kept': unit('not-kept-where', 'not-kept'),
  options: unit('options', 'lease-asked'),
  outbox: unit('outbox', 'outbox-said'),
  owned: [
    ...unit(
      'end-of-run',
      'end-of-run-kept',
      'asked-said',
      'parts',
      'steps',
      'outcomes',
      'block-verdict',
      'asked-beside-steps',
      'cancelled-at-claim',
      'slow-subscribers',
      'commit',
    ),
    ...unit('faults', 'commit-beside-steps', 'steps-room', 'steps-under-way', 'value-forms', 'seal', 'run-once'),
  ],
  pack: unit('pack', 'parts-kept'),
  person: unit('person', 'person-words', 'person-kept', 'person-races', 'local-replay-forget', 'sweep-races'),
  parts: unit('parts-kept', 'parts', 'purge'),
  purge: unit('purge'),
  record: unit('record-body', 'rows'),
  renewal: unit('renewal-times', 'bounded', 'renewal'),
  replay: unit('replay-of', 'seal', 'value-forms'),
  retention: unit('options', 'retention'),
  seal: unit('seal-said', 'seal'),
  step: unit('step-said', 'steps', 'steps-room'),
  'step-writes': unit('step-turns', 'steps-room'),
  'store-leases': unit('decide-acquire', 'store-leases', 'lease'),
  'run-once': [
    ...unit('run-once-said', 'beside-read', 'run-once', 'parts', 'cancelled-at-claim', 'slow-subscribers', 'value-forms', 'local-replay'),
    ...unit('outcomes', 'input'),
  ],
  sweep: unit('sweep-shown', 'sweep', 'sweep-races'),
  system: unit('bounded', 'real-system'),
  'time-limit': unit('time-limit', 'time-limit-listeners'),
  together: unit('together-left', 'together'),
  'value-forms': unit('value-forms-said', 'value-forms'),
  waits: unit('waits-shared', 'bounded'),
};

const CORE: Tests = {
  own: [],
  quick: ['test/unit/core/**/*.test.ts', 'test/unit/{testing,decorators}/**/*.test.ts', 'test/simulation/*.test.ts'],
  slow: [
    'test/unit/http/**/*.test.ts',
    'test/conformance/memory*.test.ts',
    'test/conformance/{controls,lease-controls}.test.ts',
    'test/promises/memory.test.ts',
    'test/promises/race-memory.test.ts',
  ],
  pool: 'threads',
};

const FILE_LEASES: Tests = {
  own: [
    'test/unit/leases/file-{pure,asked,kept,looked,holds,target,handed,locked,opened,acquired,operated,directory,guarded,fenced,provider}.test.ts',
  ],
  quick: ['test/unit/leases/file*.test.ts'],
  slow: ['test/conformance/file-leases.test.ts'],
  pool: 'forks',
};

const BLOB_LEASES: Tests = { own: ['test/unit/leases/azure-blob-{pure,answers,asked}.test.ts'], quick: [], slow: [], pool: 'threads' };

const SQLITE: Tests = {
  own: ['test/unit/stores/sqlite-judged.test.ts'],
  quick: ['test/unit/stores/sqlite*.test.ts'],
  slow: ['test/conformance/sqlite.test.ts', 'test/promises/sqlite.test.ts'],
  pool: 'forks',
};

/** Of stores over a network only what needs no server. */
const without = (name: string): Tests => ({ own: [`test/unit/stores/${name}.test.ts`], quick: [], slow: [], pool: 'threads' });

const BY_FOLDER: Readonly<Record<string, Tests>> = {
  'src/core/': CORE,
  'src/leases/file/': FILE_LEASES,
  'src/leases/azure-blob/': BLOB_LEASES,
  'src/stores/sqlite/': SQLITE,
  'src/stores/azure-tables/': without('azure-tables-{judged,decisions}'),
  'src/stores/dynamodb/': without('dynamodb-{judged,decisions}'),
  'src/stores/redis/': without('redis-{judged,time}'),
};

/** What is mutated when no files are named. Of the blob leases and the stores only what decides without asking a service. */
export const MUTATED: readonly string[] = [
  'src/core/*.ts',
  'src/leases/file/*.ts',
  'src/leases/azure-blob/{map-error,metadata,options,blob-name}.ts',
  'src/stores/{azure-tables,dynamodb,redis,sqlite}/map-error.ts',
];

export function testsOf(file: string): Tests {
  const found = Object.entries(BY_FOLDER).find(([folder]) => file.startsWith(folder));
  if (found === undefined) throw new Error(`No tests are named for ${file}: see test/mutation/tests.ts`);
  const [, tests] = found;
  return tests === CORE ? { ...CORE, own: OWN_OF_CORE[basename(file, '.ts')] ?? [] } : tests;
}

export const testsUpTo = (file: string, round: Round): string[] => ROUNDS.slice(0, ROUNDS.indexOf(round) + 1).flatMap((each) => testsOf(file)[each]);
