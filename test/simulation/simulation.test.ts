import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { simulateLeases } from './leases.ts';
import { simulateRecords } from './records.ts';
import { Tally } from './tally.ts';

/** `SEED=123 vitest run test/simulation` repeats one seed; `SEEDS=300000 FROM=1000000` runs so many from there. */
const { SEED, SEEDS = '12000', FROM = '1' } = process.env;
const FIRST = Number(SEED ?? FROM);
const COUNT = SEED === undefined ? Number(SEEDS) : 1;
const ENOUGH_TO_SEE_ALL = 5_000;
const LIMIT_MS = 120_000 + COUNT * 10;
const MOST_SHOWN = 5;

const FAULTS = ['lost-answer', 'lost-request', 'retried-lost-answer', 'unavailable', 'hang', 'hang-applied', 'delay', 'late-copy'].map(
  (fault) => `fault ${fault}`,
);
const HAPPENINGS = [
  ...FAULTS,
  'crashed',
  'frozen',
  'stalled',
  'takeover',
  'renewed',
  'claim over released',
  'cancelled',
  'WRITE_UNKNOWN',
  'STORE_UNAVAILABLE',
];
const IN_RECORDS = [
  'adopted',
  'asked',
  'blocked',
  'claim over completed',
  'committed',
  'completed',
  'declared unknown',
  'failed',
  'in-flight',
  'LEASE_LOST',
  'own completed',
  'own released',
  'record blocked',
  'replayed',
  'RESULT_NOT_STORED',
  'saved: false',
  'step kept',
  'threw',
  'vanished',
];
const IN_LEASES = [
  'acquired',
  'held',
  'slot-done',
  'slot-passed',
  'broken',
  'lost while held',
  'renewed by hand',
  'told released',
  'told lost',
  'told unknown',
];

const unhandled: string[] = [];
const onUnhandled = (reason: unknown): void => void unhandled.push(String(reason));

async function runSeeds(simulate: (seed: number, tally: Tally) => Promise<string[]>, expected: readonly string[]): Promise<void> {
  const tally = new Tally();
  const broken: string[] = [];
  for (let seed = FIRST; seed < FIRST + COUNT && broken.length < MOST_SHOWN; seed++) {
    unhandled.length = 0;
    const wrong = await simulate(seed, tally);
    wrong.push(...unhandled.map((reason) => `I12 unhandled rejection: ${reason}`));
    if (wrong.length > 0) broken.push(`SEED=${seed}\n  ${wrong.join('\n  ')}`);
  }
  expect(broken.join('\n')).toBe('');
  // A simulation that no longer reaches a state proves nothing about it.
  if (COUNT >= ENOUGH_TO_SEE_ALL) expect(tally.missing([...HAPPENINGS, ...expected])).toEqual([]);
}

describe('under random faults, pauses and crashes', () => {
  beforeAll(() => {
    process.on('unhandledRejection', onUnhandled);
    // Thousands of steps are left alone on purpose, and each is warned of.
    vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
  });
  afterAll(() => {
    process.off('unhandledRejection', onUnhandled);
    vi.restoreAllMocks();
  });

  it('I1 I2 I3 I4 I5 I6 I7 I8 I10 I12 a key has one outcome, whatever happens to its callers', () => runSeeds(simulateRecords, IN_RECORDS), LIMIT_MS);

  it(
    'I4 I5 I6 I7 I8 I10 I12 a named lease has one holder, whatever happens to those who want it',
    () => runSeeds(simulateLeases, IN_LEASES),
    LIMIT_MS,
  );
});
