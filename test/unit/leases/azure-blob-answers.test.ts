import { describe, expect, it } from 'vitest';
import { RerunSafeError, storeMisconfigured } from '../../../src/core/errors.ts';
import { type Failure, judge, toError } from '../../../src/leases/azure-blob/map-error.ts';

const headers = (retryAfter: string | undefined) => ({ get: (name: string) => (name === 'retry-after' ? retryAfter : undefined) });

describe('what an answer of the Blob service means', () => {
  it.each([
    ['BlobNotFound', 'no-blob'],
    ['ContainerNotFound', 'no-container'],
    ['ContainerBeingDeleted', 'unavailable'],
    ['LeaseAlreadyPresent', 'held'],
    ['LeaseIsBreakingAndCannotBeAcquired', 'held'],
    ['LeaseLost', 'not-holder'],
    ['LeaseNotPresentWithBlobOperation', 'not-holder'],
    ['LeaseIdMismatchWithBlobOperation', 'not-holder'],
    ['LeaseNotPresentWithLeaseOperation', 'not-holder'],
    ['LeaseIdMismatchWithLeaseOperation', 'not-holder'],
    ['LeaseIsBrokenAndCannotBeRenewed', 'not-holder'],
    ['LeaseIdMissing', 'leased'],
    ['ConditionNotMet', 'changed'],
    ['BlobAlreadyExists', 'exists'],
    ['ContainerAlreadyExists', 'exists'],
    ['ServerBusy', 'unavailable'],
    ['OperationTimedOut', 'unknown'],
    ['InternalError', 'unknown'],
  ])('I8 %s is %s, by its code alone, wherever that stands', (code, kind) => {
    for (const error of [
      { statusCode: 400, code },
      { statusCode: 400, details: { errorCode: code } },
      { statusCode: 400, code: 'RestError', details: { errorCode: code } },
    ]) {
      expect(judge(error)).toStrictEqual({ kind, error });
    }
  });

  it.each([
    [429, 'unavailable'],
    [503, 'unavailable'],
    [408, 'unknown'],
    [500, 'unknown'],
    [599, 'unknown'],
    [404, 'no-blob'],
    [412, 'changed'],
    [400, 'misconfigured'],
    [409, 'misconfigured'],
    [499, 'misconfigured'],
  ])('I8 %d without a code that is known is %s', (statusCode, kind) => {
    for (const error of [{ statusCode }, { statusCode, code: 'X' }, { statusCode, details: {} }]) expect(judge(error)).toStrictEqual({ kind, error });
  });

  it.each<[string, unknown, string]>([
    ['ECONNREFUSED', { code: 'ECONNREFUSED' }, 'unavailable'],
    ['ENOTFOUND', { code: 'ENOTFOUND' }, 'unavailable'],
    ['EAI_AGAIN', { code: 'EAI_AGAIN' }, 'unavailable'],
    ['ENETUNREACH', { code: 'ENETUNREACH' }, 'unavailable'],
    ['EHOSTUNREACH', { code: 'EHOSTUNREACH' }, 'unavailable'],
    ['ETIMEDOUT', { code: 'ETIMEDOUT' }, 'unknown'],
    ['a status that is none', { statusCode: '503', code: 'ServerBusy' }, 'unknown'],
    ['a text', 'ECONNREFUSED', 'unknown'],
    ['null', null, 'unknown'],
    ['undefined', undefined, 'unknown'],
  ])('I8 without an answer, %s', (_, error, kind) => {
    expect(judge(error)).toStrictEqual({ kind, error });
  });

  it('what our own client says of the set-up stays as it is', () => {
    const error = storeMisconfigured('x');
    expect(judge(error)).toStrictEqual({ kind: 'misconfigured', error });
    const other = new RerunSafeError('STORE_UNAVAILABLE', 'x');
    expect(judge(other)).toStrictEqual({ kind: 'unknown', error: other });
  });

  it.each([
    ['3', 3_000],
    ['0', 0],
    ['0.5', 500],
    ['-1', undefined],
    ['soon', undefined],
    ['Infinity', undefined],
    [undefined, undefined],
  ])('when to come back: %j', (given, retryAfterMs) => {
    const error = { statusCode: 503, response: { headers: headers(given) } };
    expect(judge(error)).toStrictEqual({ kind: 'unavailable', error, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) });
  });

  it.each([[{}], [{ headers: {} }], [{ headers: { get: undefined } }]])('nobody knows when where there are no headers: %j', (response) => {
    const error = { statusCode: 503, response };
    expect(judge(error)).toStrictEqual({ kind: 'unavailable', error });
  });
});

describe('the error for a failure', () => {
  const of = (failure: Partial<Failure>, doubt = false): RerunSafeError =>
    toError('acquire', { kind: 'unavailable', error: undefined, ...failure, doubt });

  it('no container: what to do, whether or not there was a doubt', () => {
    for (const doubt of [true, false]) {
      const error = { statusCode: 404 };
      expect(of({ kind: 'no-container', error }, doubt)).toMatchObject({
        code: 'STORE_MISCONFIGURED',
        message:
          'The store cannot be used as it is set up: the container for leases does not exist. Call setUp() once, or create it when you deploy.',
        cause: error,
      });
    }
  });

  it.each([
    [{ statusCode: 403, code: 'AuthorizationFailure' }, 'AuthorizationFailure'],
    [{ statusCode: 403, details: { errorCode: 'AuthorizationFailure' } }, 'AuthorizationFailure'],
    [{ statusCode: 403, details: {} }, '403'],
    [{ statusCode: 403 }, '403'],
  ])('refused: what the service said, %j', (error, said) => {
    expect(of({ kind: 'misconfigured', error })).toMatchObject({
      code: 'STORE_MISCONFIGURED',
      message: `The store cannot be used as it is set up: the Blob service refused a request (acquire: ${said}).`,
      cause: error,
    });
  });

  it('one of ours stays as it is', () => {
    const error = storeMisconfigured('x');
    expect(of({ kind: 'misconfigured', error })).toBe(error);
  });

  it.each(['unavailable', 'unknown', 'held', 'changed'] as const)('I8 %s: doubt is said where there is one, and else nothing was changed', (kind) => {
    const error = new Error('x');
    expect(of({ kind, error }, true)).toMatchObject({ code: 'WRITE_UNKNOWN', message: expect.stringContaining('(acquire)'), cause: error });
    expect(of({ kind, error, retryAfterMs: 5 })).toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringContaining('(acquire: x)'),
      cause: error,
      retryAfterMs: 5,
    });
  });
});
