import { describe, expect, it } from 'vitest';
import { isRerunSafeError } from '../../../src/core/errors.ts';
import { dynamodbStore } from '../../../src/stores/dynamodb/index.ts';
import { fromItem, itemBytes, toItem } from '../../../src/stores/dynamodb/item.ts';
import { isItemTooLarge, mayHaveHappened, toStoreError } from '../../../src/stores/dynamodb/map-error.ts';
import { serverClock } from '../../../src/stores/dynamodb/server-clock.ts';
import { record } from './dynamodb-subject.ts';

const service = (name: string, status: number, message = name) => Object.assign(new Error(message), { name, $metadata: { httpStatusCode: status } });
const network = (code: string, syscall: string) => Object.assign(new Error(code), { code, syscall });

describe('what a failure means', () => {
  it('only what never left, or was refused, is known not to have happened', () => {
    for (const error of [
      service('ThrottlingException', 400),
      service('ConditionalCheckFailedException', 400),
      network('ECONNREFUSED', 'connect'),
      network('ENOTFOUND', 'getaddrinfo'),
      Object.assign(new AggregateError([network('ECONNREFUSED', 'connect'), network('ENETUNREACH', 'connect')]), { code: 'ECONNREFUSED' }),
    ]) {
      expect(mayHaveHappened(error), String(error)).toBe(false);
    }
    for (const error of [
      service('InternalServerError', 500),
      service('ServiceUnavailable', 503),
      service('RequestTimeout', 408),
      network('ECONNRESET', 'read'),
      network('EPIPE', 'write'),
      Object.assign(new Error('late'), { name: 'TimeoutError' }),
      Object.assign(new Error('aborted'), { name: 'AbortError' }),
      new AggregateError([network('ECONNREFUSED', 'connect'), network('ECONNRESET', 'read')]),
      new SyntaxError('Unexpected end of JSON input'),
      undefined,
    ]) {
      expect(mayHaveHappened(error), String(error)).toBe(true);
    }
  });

  it('each failure becomes one of the three kinds', () => {
    const about = { inDoubt: false, sent: true, tableName: 't', partitionKey: 'id' };
    for (const name of [
      'AccessDeniedException',
      'UnrecognizedClientException',
      'ResourceNotFoundException',
      'ValidationException',
      'ExpiredTokenException',
    ]) {
      expect(toStoreError(service(name, 400), about)).toMatchObject({ code: 'STORE_MISCONFIGURED', retryable: false });
    }
    for (const name of ['ProvisionedThroughputExceededException', 'ThrottlingException', 'RequestLimitExceeded', 'TransactionConflictException']) {
      expect(toStoreError(service(name, 400), about)).toMatchObject({ code: 'STORE_UNAVAILABLE', retryable: true });
    }
    expect(toStoreError(service('Unnamed', 429), about).code).toBe('STORE_UNAVAILABLE');
    expect(toStoreError(network('ECONNREFUSED', 'connect'), about).code).toBe('STORE_UNAVAILABLE');
    expect(toStoreError(new Error('Region is missing'), { ...about, sent: false }).code).toBe('STORE_MISCONFIGURED');
    expect(toStoreError(service('CredentialsProviderError', 0), { ...about, sent: false }).code).toBe('STORE_MISCONFIGURED');
    expect(toStoreError(service('ThrottlingException', 400), { ...about, inDoubt: true }).code).toBe('WRITE_UNKNOWN');
  });

  it('both wordings of the size limit are known, other refusals of a value are not', () => {
    expect(isItemTooLarge(service('ValidationException', 400, 'Item size has exceeded the maximum allowed size'))).toBe(true);
    expect(isItemTooLarge(service('ValidationException', 400, 'Item size to update has exceeded the maximum allowed size'))).toBe(true);
    expect(isItemTooLarge(service('ValidationException', 400, 'The provided key element does not match the schema'))).toBe(false);
  });
});

describe('the clock', () => {
  const at = (ms: number): string => new Date(ms).toUTCString();

  it('a clock within what the dates allow is believed as it is', () => {
    const clock = serverClock(() => 1_000_400);
    clock.learn(at(1_000_000), 1_000_300, 1_000_400);
    expect(clock.nowMs()).toBe(1_000_400);
  });

  it('a clock that is wrong is corrected to within the width of what is known', () => {
    const behindMs = 60_000;
    const clock = serverClock(() => 1_000_500);
    clock.learn(at(1_060_000), 1_000_400, 1_000_500);
    expect(Math.abs(clock.nowMs() - (1_000_500 + behindMs))).toBeLessThanOrEqual(600);
  });

  it('I6 an answer looked at late, after a freeze, moves nothing', () => {
    const clock = serverClock(() => 1_100_000);
    clock.learn(at(1_000_000), 1_000_100, 1_100_000);
    expect(clock.nowMs()).toBe(1_100_000);
  });

  it('after the clock was set, only what was learnt since counts', () => {
    let nowMs = 1_000_000;
    const clock = serverClock(() => nowMs);
    clock.learn(at(1_000_000), 1_000_000, 1_000_100);
    nowMs = 5_000_000;
    clock.learn(at(1_000_000), 5_000_000, 5_000_100);
    expect(Math.abs(clock.nowMs() - 1_000_000)).toBeLessThanOrEqual(1100);
    clock.learn('not a date', 0, 1);
    clock.learn(undefined, 0, 1);
    expect(Math.abs(clock.nowMs() - 1_000_000)).toBeLessThanOrEqual(1100);
  });
});

describe('items', () => {
  it('a record comes back as it was, the TTL and other attributes left aside', () => {
    const stored = {
      ...record({ state: 'completed', label: 'ä', slot: 5, outcome: { kind: 'value', value: { a: [1, null, ''] } } }),
      writtenAtMs: 1_767_225_600_500,
    };
    const item = toItem('id-1', stored, { partitionKey: 'id', ttlAttribute: 'expiresAtS' });
    expect(item.token).toEqual({ N: '1767225600123' });
    expect(fromItem({ ...item, more: { BOOL: true } })).toEqual(stored);
  });

  it('sizes count the UTF-8 of names and values', () => {
    expect(itemBytes({ ab: { S: 'ä😀' } })).toBe(2 + 2 + 4);
  });
});

describe('options', () => {
  const problemsOf = (options: object): unknown => {
    try {
      dynamodbStore(options);
      return undefined;
    } catch (error) {
      return isRerunSafeError(error, 'INVALID_OPTIONS') ? error.facts.problems : error;
    }
  };

  it('all that is wrong is said at once', () => {
    expect(problemsOf({ tabelName: 't', partitionKey: 'owner', uncertaintyMs: 1, requestTimeoutMs: 0, client: {} })).toHaveLength(6);
    expect(problemsOf({ tableName: 't', partitionKey: 'x', ttlAttribute: 'x' })).toHaveLength(1);
    expect(problemsOf({ tableName: 't' })).toBeUndefined();
  });

  it('the table may be named by the environment', () => {
    process.env.RERUNSAFE_TABLE = 'from-env';
    try {
      expect(problemsOf({})).toBeUndefined();
    } finally {
      delete process.env.RERUNSAFE_TABLE;
    }
    expect(problemsOf({})).toEqual(['tableName is missing']);
  });
});
