import { describe, expect, it } from 'vitest';
import { fromRow, type StoredRecord, toRow } from '../../../src/core/record.ts';

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
const refusal = (row: Record<string, unknown>): unknown => {
  try {
    return fromRow(row);
  } catch (error) {
    return error;
  }
};
const bodyOf = (more: Partial<StoredRecord>): unknown => {
  const { body } = toRow({ ...RECORD, ...more });
  return body === undefined ? undefined : JSON.parse(body);
};

describe('the body of a row', () => {
  it.each<[Partial<StoredRecord>]>([
    [{ outcome: { kind: 'not-stored', reason: 'too-large' } }],
    [{ steps: { a: { begun: 1 } } }],
    [{ steps: {} }],
    [{ blockedWhy: 'failed' }],
    [{ note: '' }],
    [{ word: { did: 'forget', atMs: 5 } }],
  ])('I2 has what there is, and nothing else: %j', (more) => {
    expect(bodyOf(more)).toStrictEqual(more);
    expect(fromRow(toRow({ ...RECORD, ...more }))).toStrictEqual({ ...RECORD, ...more });
  });

  it('is not there where there is nothing, also where nothing is what a later version left', () => {
    expect([bodyOf({}), bodyOf({ beyond: {} })]).toEqual([undefined, undefined]);
  });

  it('I3 what a later version put there is passed on as it is, and never over what is known here', () => {
    const beyond = { priority: { of: [7] }, tags: null };
    const text = JSON.stringify({ note: 'n', ...beyond });
    const read = fromRow({ ...toRow(RECORD), body: text });
    expect(read).toStrictEqual({ ...RECORD, note: 'n', beyond });
    expect(bodyOf(read)).toStrictEqual({ ...beyond, note: 'n' });
    expect(bodyOf({ beyond })).toStrictEqual(beyond);
    expect(bodyOf({ note: 'n', beyond: { note: 'forged' } })).toStrictEqual({ note: 'n' });
    expect(fromRow({ ...toRow(RECORD), body: JSON.stringify(beyond) })).toStrictEqual({ ...RECORD, beyond });
  });

  it.each([
    [7, 'a row is not a record of rerunsafe (column body is number).', false],
    ['{', 'the body of a record is not JSON.', true],
    ['7', 'the body of a record is not an object.', false],
    ['null', 'the body of a record is not an object.', false],
    ['"text"', 'the body of a record is not an object.', false],
  ])('I3 that is %j is refused in words', (body, said, hasCause) => {
    const error = refusal({ ...toRow(RECORD), body }) as Error;
    expect(error).toMatchObject({ code: 'STORE_MISCONFIGURED', message: `The store cannot be used as it is set up: ${said}` });
    expect(error.cause instanceof SyntaxError).toBe(hasCause);
  });
});

describe('a row that is none of ours', () => {
  it.each([
    [{ token: undefined }, 'a row is not a record of rerunsafe (column token is undefined).'],
    [{ label: 7 }, 'a row is not a record of rerunsafe (column label is number).'],
    [{ schema: 0 }, 'a row is not a record of rerunsafe.'],
    [{ state: 'of tomorrow' }, 'a row is not a record of rerunsafe.'],
  ])('I3 %j is refused in words', (more, said) => {
    expect(refusal({ ...toRow(RECORD), ...more })).toMatchObject({ message: `The store cannot be used as it is set up: ${said}` });
  });
});
