import { describe, expect, it } from 'vitest';
import { blobNameOf } from '../../../src/leases/azure-blob/blob-name.ts';
import { blobLeases } from '../../../src/leases/azure-blob/index.ts';
import { judge, toError } from '../../../src/leases/azure-blob/map-error.ts';
import { composeMetadata, holdUntil, nextToken, parseMetadata } from '../../../src/leases/azure-blob/metadata.ts';

describe('the blob of a lease name', () => {
  it('I6 two names never share a blob', () => {
    const names = ['a', 'A', 'a/b', 'a~002fb', 'a.b', '.', '..', '~', 'é', 'e\u0301', '\uD800', '\uD801', '\uFFFD', ' ', 'a ', '\u0000', '\n'];
    const long = ['x'.repeat(300), 'x'.repeat(301), `${'/'.repeat(200)}\uD800`, `${'/'.repeat(200)}\uD801`, '€'.repeat(512)];
    const blobs = [...names, ...long].map((name) => blobNameOf('p/', name));
    expect(new Set(blobs).size).toBe(blobs.length);
    for (const blob of blobs) expect(blob).toMatch(/^p\/[A-Za-z0-9_~-]{1,256}$/);
  });

  it('stays readable where it can', () => {
    expect(blobNameOf('locks/', 'nightly-report_1')).toBe('locks/nightly-report_1');
    expect(blobNameOf('', 'a/b')).toBe('a~002fb');
  });
});

describe('the metadata', () => {
  it('keeps everything, also through lower-cased keys, and what others put there', () => {
    const given = { token: 7, holder: 'h', label: 'Füße, \uD800 & ~', leaseSeconds: 15, lastSlot: 0, holdUntilMs: 9 };
    const raw = composeMetadata({ costcentre: '12', holduntil: '1' }, given);
    expect(Object.values(raw).join('')).toMatch(/^[\x21-\x7e]*$/);
    expect(raw.costcentre).toBe('12');
    expect(parseMetadata(raw)).toEqual({ ...given, label: 'Füße, \uFFFD & ~' });
    expect(composeMetadata(raw, { token: 8 })).toEqual({ token: '8', costcentre: '12' });
  });

  it.each(['', 'x', '-1', '1.5', '1e3', '99999999999999999'])('I5 a token of "%s" is refused, never started anew', (token) => {
    expect(() => parseMetadata({ token })).toThrow(expect.objectContaining({ code: 'STORE_MISCONFIGURED' }));
  });

  it('I5 a token grows by one or to the time of the service, and is seeded only from a second after the last write', () => {
    expect(nextToken(10, 5000, 0)).toBe(5000);
    expect(nextToken(6000, 5000, 0)).toBe(6001);
    expect(nextToken(undefined, 5000, 5000)).toBeUndefined();
    expect(nextToken(undefined, 4000, 5000)).toBeUndefined();
    expect(nextToken(undefined, 6000, 5000)).toBe(6000);
  });

  it('a minimum hold is never shorter than asked for, although the clock of the service has whole seconds', () => {
    const releasedAtMs = 1999;
    const until = holdUntil(1000, 500);
    expect(until).toBeGreaterThanOrEqual(releasedAtMs + 500);
  });
});

describe('what an answer means', () => {
  const answers: [string, object, string][] = [
    ['a HEAD without a body', { statusCode: 404, details: { errorCode: 'ContainerNotFound' } }, 'no-container'],
    ['a HEAD without a code', { statusCode: 404 }, 'no-blob'],
    ['a lease of somebody', { statusCode: 409, code: 'LeaseAlreadyPresent' }, 'held'],
    ['a lease that is being broken', { statusCode: 409, code: 'LeaseIsBreakingAndCannotBeAcquired' }, 'held'],
    ['a lease that ran out (service)', { statusCode: 412, code: 'LeaseLost' }, 'not-holder'],
    ['a lease that ran out (emulator)', { statusCode: 412, code: 'LeaseNotPresentWithBlobOperation' }, 'not-holder'],
    ['a broken lease', { statusCode: 409, code: 'LeaseIsBrokenAndCannotBeRenewed' }, 'not-holder'],
    ['a stale ETag', { statusCode: 412, code: 'ConditionNotMet' }, 'changed'],
    ['throttling', { statusCode: 503, code: 'ServerBusy' }, 'unavailable'],
    ['429', { statusCode: 429 }, 'unavailable'],
    ['an inner time-out', { statusCode: 500, code: 'OperationTimedOut' }, 'unknown'],
    ['a gateway', { statusCode: 502 }, 'unknown'],
    ['denied', { statusCode: 403, code: 'AuthorizationFailure' }, 'misconfigured'],
    ['a refused connection', { code: 'ECONNREFUSED' }, 'unavailable'],
    ['a broken connection', { code: 'ECONNRESET' }, 'unknown'],
    ['a time-out of a connection', { code: 'ETIMEDOUT' }, 'unknown'],
    ['an abort', new DOMException('', 'AbortError'), 'unknown'],
  ];
  it.each(answers)('I8 %s', (_, error, kind) => {
    expect(judge(error).kind).toBe(kind);
  });

  it('I8 a refusal after a try in doubt is a doubt', () => {
    const failure = judge({ code: 'ECONNREFUSED' });
    expect(toError('x', { ...failure, doubt: false }).code).toBe('STORE_UNAVAILABLE');
    expect(toError('x', { ...failure, doubt: true }).code).toBe('WRITE_UNKNOWN');
  });
});

describe('the options', () => {
  it('all that is wrong is said at once', () => {
    const wrong = { containerName: 'Nope', prefix: '../', requestTimeoutMs: 0, connection: 'AccountKey=secret', leaseMs: 1 };
    const error = (() => {
      try {
        blobLeases(wrong as never);
      } catch (thrown) {
        return thrown as { code: string; message: string; facts: { problems: string[] } };
      }
      return undefined;
    })();
    expect(error?.code).toBe('INVALID_OPTIONS');
    expect(error?.facts.problems).toHaveLength(5);
    expect(error?.message).not.toContain('secret');
  });

  it('a client and a connection are not given together', () => {
    const container = { getBlockBlobClient: () => {}, createIfNotExists: () => {} } as never;
    expect(() => blobLeases({ container, connection: 'X' })).toThrow(expect.objectContaining({ code: 'INVALID_OPTIONS' }));
  });
});
