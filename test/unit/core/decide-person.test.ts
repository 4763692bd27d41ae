import { describe, expect, it } from 'vitest';
import { type BeginIntent, decide, type PersonIntent } from '../../../src/core/decide.ts';
import type { Stored } from '../../../src/core/ports.ts';
import type { Outcome, StoredRecord } from '../../../src/core/record.ts';

const LEASE = 1_000;
const RETENTION = 10_000;
const NOW = 5_000_000;
const facts = { nowMs: NOW, uncertaintyMs: 0 };
const byTheWork: Outcome = { kind: 'value', value: [1] };
const byAPerson: Outcome = { kind: 'value', value: [1], resolved: true };

function standing(over: Partial<StoredRecord>, ageMs = 0): Stored {
  const record: StoredRecord = {
    schema: 1,
    operation: 'o',
    scope: '',
    state: 'running',
    owner: 'other',
    revision: 'r',
    token: 7,
    attempt: 1,
    leaseMs: LEASE,
    retentionMs: RETENTION,
    createdAtMs: 1,
    writtenAtMs: 1,
    ...over,
  };
  return { record, version: 'v', ageMs };
}

const says = (kind: PersonIntent['kind'], force: boolean, stands: Stored | undefined): string => decide(stands, { kind, force }, facts).kind;

describe('decide: what a person says', () => {
  const table: [string, Stored | undefined, resolve: string, forced: string, forget: string, forcedToForget: string][] = [
    ['nothing there', undefined, 'absent', 'absent', 'absent', 'absent'],
    ['expired', standing({ state: 'completed', outcome: byTheWork }, RETENTION + 1), 'absent', 'absent', 'absent', 'absent'],
    ['running', standing({}), 'running', 'write', 'running', 'write'],
    ['lapsed', standing({}, LEASE + 1), 'write', 'write', 'write', 'write'],
    ['blocked', standing({ state: 'blocked' }), 'write', 'write', 'write', 'write'],
    ['released', standing({ state: 'released' }), 'not-needed', 'not-needed', 'write', 'write'],
    ['completed by the work', standing({ state: 'completed', outcome: byTheWork }), 'not-needed', 'not-needed', 'write', 'write'],
    ['completed by a person', standing({ state: 'completed', outcome: byAPerson }), 'not-needed', 'write', 'write', 'write'],
    ['completed with nothing', standing({ state: 'completed' }), 'not-needed', 'not-needed', 'write', 'write'],
  ];

  it.each(table)('I3 I6 I8 %s: an outcome of the work stands, a run that goes on is left alone without force', (_, stands, ...expected) => {
    const said = [says('resolve', false, stands), says('resolve', true, stands), says('forget', false, stands), says('forget', true, stands)];
    expect(said).toEqual(expected);
  });

  it('I8 a record that is blocked and does not say why is blocked as unknown', () => {
    const begin: BeginIntent = { kind: 'begin', owners: new Set(), fingerprint: undefined, onUnknown: 'retry', maxAttempts: 3 };
    expect(decide(standing({ state: 'blocked', attempt: 2 }), begin, facts)).toEqual({ kind: 'blocked', why: 'unknown', attempt: 2 });
    expect(decide(standing({ state: 'blocked', blockedWhy: 'failed' }), begin, facts)).toMatchObject({ why: 'failed' });
  });

  it('I5 the token is one more, or the time where that is later', () => {
    for (const token of [7, NOW - 1, NOW, NOW + 5]) {
      const said = decide(standing({ state: 'blocked', token }), { kind: 'forget', force: false }, facts);
      expect(said).toMatchObject({ kind: 'write', token: Math.max(token + 1, NOW) });
    }
  });
});

describe('decide: what goes with a decision', () => {
  const begin: BeginIntent = { kind: 'begin', owners: new Set(['me']), fingerprint: undefined, onUnknown: 'ask', maxAttempts: 3 };

  it('I6 over nothing, or what is expired, nobody is asked', () => {
    const fresh = { kind: 'claim', attempt: 1, token: NOW, steps: undefined, afterUnknown: false, ask: false };
    const expired = standing({ state: 'released' }, RETENTION + 1);
    expect(decide(undefined, begin, facts)).toStrictEqual({ ...fresh, over: undefined });
    expect(decide(expired, begin, facts)).toStrictEqual({ ...fresh, over: expired });
  });

  it('I2 the outcome that was kept; none of it where none is there', () => {
    const complete = { kind: 'complete', owner: 'me', fingerprint: undefined } as const;
    const none = { kind: 'not-stored', reason: 'not-serializable' };
    for (const outcome of [byTheWork, undefined]) {
      const stands = standing({ state: 'completed', attempt: 2, ...(outcome === undefined ? {} : { outcome }) });
      expect(decide(stands, begin, facts)).toStrictEqual({ kind: 'replay', outcome: outcome ?? none, attempt: 2 });
      expect(decide(stands, complete, facts)).toStrictEqual({ kind: 'adopt', outcome: outcome ?? none, attempt: 2 });
    }
  });

  it('I8 what we have given up ourselves is ours no more', () => {
    expect(decide(standing({ owner: 'me' }), begin, facts)).toMatchObject({ kind: 'ours' });
    expect(decide(standing({ owner: 'me', leaseMs: 0 }), begin, facts)).toMatchObject({ kind: 'claim', attempt: 2, afterUnknown: true, ask: true });
  });
});
