import { describe, expect, it } from 'vitest';
import {
  cancellationOf,
  isConditionFailed,
  isItemTooLarge,
  isTransactionInProgress,
  isValidation,
  mayHaveHappened,
  toStoreError,
} from '../../../src/stores/dynamodb/map-error.ts';

const failed = (name: string, more: object = {}, message = 'said the service') => Object.assign(new Error(message), { name, ...more });
const service = (name: string, status: number, message?: string) => failed(name, { $metadata: { httpStatusCode: status } }, message);
const ABOUT = { inDoubt: false, sent: true, tableName: 't', partitionKey: 'id' };
const MISCONFIGURED = 'The store cannot be used as it is set up: ';

describe('whether one try of a write may have taken effect', () => {
  it.each<[string, unknown, boolean]>([
    ['refused', service('X', 400), false],
    ['refused, at the other end', service('X', 499), false],
    ['a request that took too long to come in', service('X', 408), true],
    ['failed on the server', service('X', 500), true],
    ['redirected', service('X', 399), true],
    ['no connection', failed('E', { syscall: 'connect' }), false],
    ['no address', failed('E', { syscall: 'getaddrinfo' }), false],
    ['a connection that broke', failed('E', { syscall: 'read' }), true],
    ['a certificate that is refused', failed('E', { code: 'CERT_HAS_EXPIRED' }), false],
    ['a certificate for another name', failed('E', { code: 'ERR_TLS_CERT_ALTNAME_INVALID' }), false],
    ['a certificate that nobody signed', failed('E', { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' }), false],
    ['a certificate in a chain that nobody signed', failed('E', { code: 'SELF_SIGNED_CERT_IN_CHAIN' }), false],
    ['a certificate that cannot be verified', failed('E', { code: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE' }), false],
    ['a code that only holds such words', failed('E', { code: 'X_CERT_HAS_EXPIRED' }), true],
    ['a code that is no text', failed('E', { code: 5 }), true],
    ['a connection that did not come about in time', failed('TimeoutError', {}, 'Socket did not establish a connection with the server'), false],
    ['an answer that did not come in time', failed('TimeoutError', {}, 'no answer'), true],
    ['the same words of another failure', failed('OtherError', {}, 'did not establish a connection'), true],
    ['no address answered', failed('E', { errors: [failed('E', { syscall: 'connect' }), failed('E', { syscall: 'connect' })] }), false],
    ['one of several may have been reached', failed('E', { errors: [failed('E', { syscall: 'connect' }), failed('E', { syscall: 'read' })] }), true],
    ['several reasons, and none of them told', failed('E', { errors: [], syscall: 'connect' }), false],
    ['several reasons that are none', failed('E', { errors: 'all', syscall: 'connect' }), false],
    ['no reason at all', failed('E', { errors: [] }), true],
    ['nothing', undefined, true],
    ['null', null, true],
    ['a text', 'just so', true],
  ])('I8 %s', (_, error, expected) => {
    expect(mayHaveHappened(error)).toBe(expected);
  });
});

describe('what a failure means for the caller', () => {
  it.each([
    'ProvisionedThroughputExceededException',
    'ThrottlingException',
    'Throttling',
    'RequestLimitExceeded',
    'LimitExceededException',
    'TooManyRequestsException',
    'TransactionConflictException',
    'TransactionInProgressException',
    'ReplicatedWriteConflictException',
    'ResourceInUseException',
  ])('I8 %s passes', (name) => {
    const error = service(name, 400);
    const expected = {
      code: 'STORE_UNAVAILABLE',
      message: expect.stringContaining(`(DynamoDB table t: ${name}: said the service: said the service)`),
      cause: error,
    };
    expect(toStoreError(error, ABOUT)).toMatchObject(expected);
    expect(toStoreError(error, { ...ABOUT, sent: false }).code).toBe('STORE_UNAVAILABLE');
  });

  it.each<[string, unknown, object, string]>([
    [
      'no table',
      service('ResourceNotFoundException', 400),
      {},
      'DynamoDB table t: ResourceNotFoundException: said the service. Look whether this is the right region and account; then create the table, for example by calling setUp() once.',
    ],
    [
      'another table',
      service('ValidationException', 400, 'The key does not match.'),
      {},
      'DynamoDB table t: ValidationException: The key does not match. The table must have the partition key "id" (a string) and no sort key.',
    ],
    ['denied', service('AccessDeniedException', 400), {}, 'DynamoDB table t: AccessDeniedException: said the service'],
    ['denied, at the other end', service('X', 499), {}, 'DynamoDB table t: X: said the service'],
    ['a certificate that is refused', failed('Error', { code: 'CERT_HAS_EXPIRED' }), {}, 'DynamoDB table t: Error: said the service'],
    ['nothing sent: no region', failed('Error', {}, 'Region is missing'), { sent: false }, 'DynamoDB table t: Error: Region is missing'],
    ['nothing sent, and no name', failed('', {}, 'no name'), { sent: false }, 'DynamoDB table t: no name'],
    ['nothing sent, and no error', undefined, { sent: false }, 'DynamoDB table t: undefined'],
  ])('I8 %s wants a person', (_, error, more, message) => {
    const mapped = toStoreError(error, { ...ABOUT, ...more });
    expect(mapped).toMatchObject({ code: 'STORE_MISCONFIGURED', message: `${MISCONFIGURED}${message}` });
    expect(mapped.cause).toBe(error);
  });

  it.each<[string, unknown, object]>([
    ['429', service('Unnamed', 429), {}],
    ['a request that took too long to come in', service('RequestTimeout', 408), {}],
    ['a server that failed', service('InternalServerError', 500), {}],
    ['a refusal whose answer broke off', failed('X', { code: 'ECONNRESET', $metadata: { httpStatusCode: 400 } }), {}],
    ['a refusal whose answer cannot be read', Object.assign(new SyntaxError('Unexpected end'), { $metadata: { httpStatusCode: 400 } }), {}],
    ['a redirection', service('X', 399), {}],
    ['nothing sent: given up', failed('AbortError'), { sent: false }],
    ['nothing sent: no time', failed('TimeoutError'), { sent: false }],
    ['nothing sent: the network', failed('Error', { code: 'ECONNREFUSED' }), { sent: false }],
    ['sent, and no reason', new Error('x'), {}],
  ])('I8 %s may pass', (_, error, more) => {
    expect(toStoreError(error, { ...ABOUT, ...more })).toMatchObject({ code: 'STORE_UNAVAILABLE', cause: error });
  });

  it.each([service('AccessDeniedException', 400), service('ThrottlingException', 400), new Error('x')])(
    'I8 after a try in doubt each is doubt: %s',
    (error) => {
      expect(toStoreError(error, { ...ABOUT, inDoubt: true, sent: false })).toMatchObject({
        code: 'WRITE_UNKNOWN',
        message: expect.stringContaining(`(DynamoDB table t: ${error.name}: ${error.message})`),
        cause: error,
      });
    },
  );
});

describe('which refusal it was', () => {
  it('is told by its name', () => {
    const names = ['ConditionalCheckFailedException', 'ValidationException', 'TransactionInProgressException', 'Other'];
    const asked = [isConditionFailed, isValidation, isTransactionInProgress];
    expect(names.map((name) => asked.map((is) => is(service(name, 400))))).toEqual([
      [true, false, false],
      [false, true, false],
      [false, false, true],
      [false, false, false],
    ]);
    for (const is of asked) expect([is(undefined), is(null), is({ name: undefined })]).toEqual([false, false, false]);
  });

  it('why a transaction was cancelled, one reason for each of its items', () => {
    const CancellationReasons = [{ Code: 'None' }, { Code: 'ConditionalCheckFailed' }];
    expect(cancellationOf(failed('TransactionCanceledException', { CancellationReasons }))).toBe(CancellationReasons);
    expect(cancellationOf(failed('TransactionCanceledException'))).toEqual([]);
    expect(cancellationOf(failed('Other', { CancellationReasons }))).toBeUndefined();
  });

  it.each([
    ['ValidationException', 'Item size has exceeded the maximum allowed size', true],
    ['ValidationException', 'Item size to update has exceeded the maximum allowed size', true],
    ['ValidationException', 'ITEM SIZE is larger than the MAXIMUM ALLOWED', true],
    ['ValidationException', 'item size is wrong', false],
    ['ValidationException', 'the value has exceeded the limit', false],
    ['Other', 'Item size has exceeded the maximum allowed size', false],
  ])('%s "%s": too large or not', (name, message, expected) => {
    expect(isItemTooLarge(service(name, 400, message))).toBe(expected);
  });

  it('what has no words is not too large', () => {
    expect(isItemTooLarge({ name: 'ValidationException' })).toBe(false);
  });
});
