import { describe, expect, it } from 'vitest';
import {
  asNotDone,
  type ErrorCode,
  isNotDoneError,
  isPermanentError,
  isRerunSafeError,
  NotDoneError,
  otherWrapper,
  PermanentError,
  RerunSafeError,
  storeMisconfigured,
  storeUnavailable,
  writeUnknown,
} from '../../../src/core/errors.ts';

const RETRYABLE: Record<ErrorCode, boolean> = {
  IN_FLIGHT: true,
  KEY_REUSED: false,
  MISSING_KEY: false,
  MISSING_SCOPE: false,
  BLOCKED: false,
  LEASE_LOST: true,
  LEASE_HELD: true,
  STALE_TOKEN: false,
  STORE_UNAVAILABLE: true,
  STORE_MISCONFIGURED: false,
  WRITE_UNKNOWN: true,
  RECORD_TOO_NEW: false,
  RESULT_NOT_STORED: false,
  DUPLICATE_STEP: false,
  STEP_CHANGED: false,
  INVALID_OPTIONS: false,
};

describe('the errors of this package', () => {
  it.each(Object.entries(RETRYABLE) as [ErrorCode, boolean][])('%s: whether the same call may succeed later', (code, retryable) => {
    const error = new RerunSafeError(code, 'm');
    expect(error).toMatchObject({ name: `RerunSafe.${code}`, code, message: 'm', retryable, retryAfterMs: undefined, facts: {} });
    expect([isRerunSafeError(error), isRerunSafeError(error, code), isRerunSafeError(error, 'nothing' as ErrorCode)]).toEqual([true, true, false]);
    expect('cause' in error).toBe(false);
  });

  it('carry what is known, and the cause where one was given', () => {
    const cause = new Error('c');
    expect(new RerunSafeError('IN_FLIGHT', 'm', { cause, retryAfterMs: 5, facts: { id: 'r' } })).toMatchObject({
      cause,
      retryAfterMs: 5,
      facts: { id: 'r' },
    });
    expect('cause' in new RerunSafeError('IN_FLIGHT', 'm', { cause: undefined })).toBe(true);
  });

  it('the marks of another copy of the package count; what only looks like one does not', () => {
    const marked = (name: string, value: unknown = true): object => Object.assign(new Error('x'), { [Symbol.for(name)]: value });
    expect(isRerunSafeError(marked('rerunsafe.error'))).toBe(true);
    expect(isPermanentError(marked('rerunsafe.permanent'))).toBe(true);
    expect(isNotDoneError(marked('rerunsafe.not-done'))).toBe(true);
    for (const is of [isRerunSafeError, isPermanentError, isNotDoneError]) {
      for (const other of [undefined, null, 'x', 7, {}, new Error('x'), () => {}]) expect(is(other)).toBe(false);
    }
    expect(isRerunSafeError(marked('rerunsafe.error', 'yes'))).toBe(false);
    expect([isPermanentError(new NotDoneError('n')), isNotDoneError(new PermanentError('p'))]).toEqual([false, false]);
    expect(isRerunSafeError(Object.assign(() => {}, { [Symbol.for('rerunsafe.error')]: true }))).toBe(false);
  });

  it('marks do not show where an error is printed or sent', () => {
    for (const error of [new RerunSafeError('BLOCKED', 'm'), new PermanentError('p'), new NotDoneError('n')]) {
      expect(Object.getOwnPropertySymbols({ ...error })).toEqual([]);
    }
  });

  it('I3 a permanent error says what it is of', () => {
    const cause = new Error('c');
    const error = new PermanentError('declined', { code: 'card', data: { n: 1 }, name: 'CardError', cause });
    expect(error).toMatchObject({ name: 'CardError', message: 'declined', code: 'card', data: { n: 1 }, cause });
    const bare = new PermanentError('declined');
    expect(bare).toMatchObject({ name: 'PermanentError', code: undefined, data: undefined });
    expect('cause' in bare).toBe(false);
    expect([isPermanentError(error), isPermanentError(bare)]).toEqual([true, true]);
  });

  it('I8 an error that says that nothing was done', () => {
    const cause = new Error('c');
    const error = new NotDoneError('n', { cause });
    expect(error).toMatchObject({ name: 'NotDoneError', message: 'n', cause });
    expect('cause' in new NotDoneError('n')).toBe(false);
    const ours = new RerunSafeError('LEASE_LOST', 'm');
    expect(isNotDoneError(ours)).toBe(false);
    expect(asNotDone(ours)).toBe(ours);
    expect([isNotDoneError(error), isNotDoneError(ours)]).toEqual([true, true]);
  });

  it('I8 what a store could not do is said with the first line of what it said', () => {
    const cause = new Error('ECONNREFUSED 127.0.0.1:1\n    more');
    expect(storeUnavailable('a read', cause, 9)).toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: 'The store did not take the request (a read: ECONNREFUSED 127.0.0.1:1). Nothing was changed; try again.',
      cause,
      retryAfterMs: 9,
    });
    for (const nothing of [undefined, 'text', new Error(''), new Error('\nlater')]) {
      expect(storeUnavailable('a read', nothing).message).toMatch(/^The store did not take the request \(a read\)\./);
    }
    expect(storeUnavailable('a read', new Error('x'.repeat(300))).message).toContain(`: ${'x'.repeat(200)})`);
  });

  it('I8 what needs a person, and what nobody knows', () => {
    const cause = new Error('c');
    expect(storeMisconfigured('no table.', cause)).toMatchObject({
      code: 'STORE_MISCONFIGURED',
      message: 'The store cannot be used as it is set up: no table.',
      cause,
    });
    expect('cause' in storeMisconfigured('no table.')).toBe(false);
    expect(otherWrapper('o')).toMatchObject({
      code: 'STORE_MISCONFIGURED',
      message: expect.stringContaining('the record of o was written by another'),
    });
    expect(writeUnknown('a write', cause)).toMatchObject({
      code: 'WRITE_UNKNOWN',
      message: 'No answer to a write (a write): it may have taken effect.',
      cause,
    });
  });
});
