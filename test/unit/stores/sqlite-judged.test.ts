import { describe, expect, it } from 'vitest';
import { storeMisconfigured } from '../../../src/core/errors.ts';
import { isBusy, isConstraint, isGoingOn, isNoSavepoint, isNoTransaction, isTooLarge, toStoreError } from '../../../src/stores/sqlite/map-error.ts';

const sqlite = (errcode: unknown, message = 'said SQLite', code = 'ERR_SQLITE_ERROR') => Object.assign(new Error(message), { code, errcode });
const UNAVAILABLE = { code: 'STORE_UNAVAILABLE', message: expect.stringContaining('(SQLite write') };
const IN_PROGRESS = sqlite(5, 'cannot commit transaction - SQL statements in progress');

describe('what a failure of SQLite means', () => {
  it.each([
    ['locked by another', 5],
    ['locked by our own process', 6],
    ['out of memory', 7],
    ['interrupted', 9],
    ['a fault of the device', 10],
    ['a full disk', 13],
    ['a race of locks', 15],
    ['the same, with the reason in the higher bytes', 5 | (2 << 8)],
  ])('I8 %s passes by itself, and nothing has happened', (_, errcode) => {
    const cause = sqlite(errcode);
    expect(toStoreError(cause, 'write')).toMatchObject({ ...UNAVAILABLE, cause });
  });

  it.each([
    ['a mistake in a statement', sqlite(1), 'SQLite write: said SQLite.'],
    ['a read-only file', sqlite(8), 'SQLite write: said SQLite.'],
    ['a corrupt file', sqlite(11), 'SQLite write: said SQLite.'],
    ['no database', sqlite(26), 'SQLite write: said SQLite.'],
    ['no table', sqlite(1, 'no such table: runs'), 'SQLite write: no such table: runs. Make the table by calling setUp() once.'],
    ['no column', sqlite(1, 'no such column: token'), 'SQLite write: no such column: token. Make the table by calling setUp() once.'],
    [
      'no column, in other words',
      sqlite(1, 'table runs has no column named token'),
      'SQLite write: table runs has no column named token. Make the table by calling setUp() once.',
    ],
    ['words that are about something else', sqlite(8, 'no such table'), 'SQLite write: no such table.'],
    ['no failure of SQLite', sqlite(5, 'busy', 'ERR_OTHER'), 'SQLite write: busy.'],
    ['a number that is none', sqlite('5', 'busy'), 'SQLite write: busy.'],
    ['a text', 'just so', 'SQLite write: just so.'],
    ['nothing', undefined, 'SQLite write: undefined.'],
    ['null', null, 'SQLite write: null.'],
  ])('I8 %s wants a person', (_, error, message) => {
    expect(toStoreError(error, 'write')).toMatchObject({
      code: 'STORE_MISCONFIGURED',
      message: `The store cannot be used as it is set up: ${message}`,
    });
    expect(toStoreError(error, 'write').cause).toBe(error);
  });

  it('what is one of ours already stays as it is; an own statement that goes on is a mistake of the caller', () => {
    const own = storeMisconfigured('x');
    expect(toStoreError(own, 'write')).toBe(own);
    expect(toStoreError(IN_PROGRESS, 'commit')).toMatchObject({
      code: 'INVALID_OPTIONS',
      message: expect.stringMatching(/^SQLite commit: a statement that writes is still going on .* All of it is rolled back\.$/),
    });
  });

  it.each<[string, unknown, string[]]>([
    ['locked by another', sqlite(5), ['busy']],
    ['locked by our own process', sqlite(6), ['busy']],
    ['a race of locks', sqlite(15), ['busy']],
    ['a transaction that others have not ended', sqlite(1, 'cannot start a transaction within a transaction'), ['busy']],
    ['an own statement that goes on', IN_PROGRESS, ['going on']],
    ['the same words of another failure', sqlite(1, 'SQL statements in progress'), []],
    ['too large', sqlite(18), ['too large']],
    ['a constraint', sqlite(19), ['constraint']],
    ['a constraint, with the reason in the higher bytes', sqlite(19 | (6 << 8)), ['constraint']],
    ['no transaction', sqlite(1, 'cannot commit - no transaction is active'), ['no transaction']],
    ['no savepoint', sqlite(1, 'no such savepoint: s1'), ['no savepoint']],
    ['words without the code', new Error('no such savepoint, no transaction is active, within a transaction'), []],
    ['the code of another library', sqlite(5, 'SQL statements in progress', 'OTHER'), []],
    ['nothing', undefined, []],
    ['null', null, []],
  ])('%s is told apart', (_, error, expected) => {
    const kinds: Readonly<Record<string, (error: unknown) => boolean>> = {
      busy: isBusy,
      'going on': isGoingOn,
      'too large': isTooLarge,
      constraint: isConstraint,
      'no transaction': isNoTransaction,
      'no savepoint': isNoSavepoint,
    };
    expect(Object.keys(kinds).filter((kind) => kinds[kind]?.(error))).toEqual(expected);
  });
});
