import { describe, expect, it } from 'vitest';
import { bytesOfStep, completed, isNote, noted, released, withdrawn, withSteps } from '../../../src/core/changes.ts';
import { COLUMNS, canExpire, FOREVER_MS, fromRow, isExpired, isLapsed, type StoredRecord, type StoredStep, toRow } from '../../../src/core/record.ts';

const RECORD: StoredRecord = {
  schema: 1,
  operation: 'o',
  scope: 's',
  state: 'running',
  owner: 'a',
  revision: 'r',
  token: 7,
  attempt: 1,
  leaseMs: 1_000,
  retentionMs: 10_000,
  createdAtMs: 1,
  writtenAtMs: 2,
};
const STEP: StoredStep = { outcome: { kind: 'value', value: [1] }, token: 7 } as StoredStep;
const FULL: StoredRecord = {
  ...RECORD,
  state: 'blocked',
  label: 'l',
  fingerprint: 'v1:a',
  holder: 'h',
  slot: 3,
  outcome: { kind: 'value', value: [1] },
  steps: { a: STEP },
  blockedWhy: 'failed',
  note: 'n',
  word: { did: 'resolve', by: 'b', why: 'w', atMs: 5 },
};
/** What is thrown. */
function refusal(row: Record<string, unknown>): unknown {
  try {
    return fromRow(row);
  } catch (error) {
    return error;
  }
}
const NO_RECORD = { code: 'STORE_MISCONFIGURED', message: expect.stringContaining('a row is not a record of rerunsafe') };

describe('a record as a row', () => {
  it.each([
    ['with all there is', FULL],
    ['with the least', RECORD],
  ])('I2 comes back as it was: %s', (_, record) => {
    expect(fromRow({ ...toRow(record) })).toEqual(record);
    expect(fromRow({ ...toRow(record), odata: 'x' }), 'what others have put beside it is left alone').toEqual(record);
  });

  it('I2 what every store keeps apart is apart, the rest is one text; no text where there is nothing', () => {
    const { body, ...columns } = toRow(FULL);
    expect(Object.keys(columns).every((name) => name in COLUMNS)).toBe(true);
    expect(Object.keys(JSON.parse(body as string)).sort()).toEqual(['blockedWhy', 'note', 'outcome', 'steps', 'word']);
    expect('body' in toRow(RECORD)).toBe(false);
  });

  it('I3 of a later version: refused, and left as it is', () => {
    expect(refusal({ ...toRow(RECORD), schema: 2 })).toMatchObject({
      code: 'RECORD_TOO_NEW',
      message: expect.stringContaining('schema 2; this version knows 1'),
      facts: { schema: 2 },
    });
  });

  it.each<[string, unknown]>([
    ['schema', 0],
    ['schema', '1'],
    ['state', 'done'],
    ['body', '{'],
    ...Object.keys(toRow(RECORD)).map((name) => [name, undefined] as [string, unknown]),
    ...Object.entries(toRow(FULL)).map(([name, value]) => [name, typeof value === 'string' ? 5 : 'five'] as [string, unknown]),
  ])('I3 one whose %s is %j is none of ours', (name, value) => {
    const expected =
      name === 'body' && value === '{'
        ? { code: 'STORE_MISCONFIGURED', message: expect.stringMatching(/the body of a record is not JSON/) }
        : NO_RECORD;
    expect(refusal({ ...toRow(FULL), [name]: value })).toMatchObject(expected);
  });

  it('I3 the column that is wrong is named, and what it is instead', () => {
    expect(refusal({ ...toRow(RECORD), token: 'x' })).toMatchObject({ message: expect.stringContaining('(column token is string)') });
  });
});

describe('when a record is over', () => {
  const at = (state: StoredRecord['state'], over: Partial<StoredRecord> = {}): StoredRecord => ({ ...RECORD, state, ...over });

  it('I6 lapsed: running, and older than its lease and than clocks may be apart', () => {
    expect([isLapsed(at('running'), 1_100, 100), isLapsed(at('running'), 1_101, 100)]).toEqual([false, true]);
    expect([isLapsed(at('running', { leaseMs: 0 }), 0, 100), isLapsed(at('running', { leaseMs: 1 }), 0, 100)]).toEqual([true, false]);
    for (const state of ['completed', 'released', 'blocked'] as const) {
      expect(isLapsed(at(state), 9_000, 0), state).toBe(false);
      expect(isLapsed(at(state, { leaseMs: 0 }), 9_000, 0), state).toBe(false);
    }
  });

  it('I3 expired: completed or released, and older than its retention and than clocks may be apart', () => {
    for (const state of ['completed', 'released'] as const) {
      expect([isExpired(at(state), 10_100, 100), isExpired(at(state), 10_101, 100), canExpire(at(state))], state).toEqual([false, true, true]);
      const forever = at(state, { retentionMs: FOREVER_MS });
      expect([canExpire(forever), isExpired(forever, Number.POSITIVE_INFINITY, 0)], state).toEqual([false, false]);
    }
    for (const state of ['running', 'blocked'] as const)
      expect([canExpire(at(state)), isExpired(at(state), 99_999, 0)], state).toEqual([false, false]);
  });
});

describe("an owner's change, and nothing else", () => {
  const { writtenAtMs: _, ...standing } = FULL;
  const { fingerprint, steps, ...first } = { ...standing, attempt: 1 };

  it('I9 withdrawn: as if it had never been, but for the token; not after another attempt or a step', () => {
    expect(withdrawn({ ...first, fingerprint: 'v1:a' })).toEqual({ ...first, attempt: 0 });
    for (const kept of [{ ...first, fingerprint: 'v1:a', attempt: 2 }, standing]) expect(withdrawn(kept)).toBe(kept);
    expect([fingerprint, steps]).toBeDefined();
  });

  it('I4 released, completed, noted', () => {
    expect(released(standing, 5)).toEqual({ ...standing, state: 'released', retentionMs: 5 });
    const { steps: __, ...rest } = standing;
    expect(completed(standing, { kind: 'not-stored', reason: 'too-large' }, 6)).toEqual({
      ...rest,
      state: 'completed',
      retentionMs: 6,
      outcome: { kind: 'not-stored', reason: 'too-large' },
    });
    expect(noted(standing, undefined)).toBe(standing);
    expect(noted(standing, 'more')).toEqual({ ...standing, note: 'more' });
  });

  it('I4 steps are put beside those that stand there, changed, or taken back; also one named __proto__', () => {
    const other: StoredStep = { begun: 5 };
    expect(withSteps(first, new Map([['b', other]])).steps).toEqual({ b: other });
    expect(withSteps(standing, new Map([['b', other]])).steps).toEqual({ a: STEP, b: other });
    expect(withSteps(standing, new Map([['a', other]])).steps).toEqual({ a: other });
    expect(withSteps(standing, new Map([['a', undefined]])).steps).toEqual({});
    expect(Object.keys(withSteps(standing, new Map([['__proto__', other]])).steps ?? {})).toEqual(['a', '__proto__']);
  });

  it('what only says that there is a step is a note', () => {
    expect(isNote({ begun: 5 })).toBe(true);
    expect(isNote({ ...STEP, outcome: { kind: 'not-stored', reason: 'too-large' } } as StoredStep)).toBe(true);
    expect(isNote(STEP)).toBe(false);
  });

  it('a step counts as many bytes as it takes in the body, and is measured once', () => {
    const step: StoredStep = { begun: 5 };
    expect(bytesOfStep('é', step)).toBe(Buffer.byteLength('"é":{"begun":5},'));
    (step as { begun: number }).begun = 5_000;
    expect(bytesOfStep('é', step)).toBe(Buffer.byteLength('"é":{"begun":5},'));
  });
});
