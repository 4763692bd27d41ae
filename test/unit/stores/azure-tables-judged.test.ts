import { describe, expect, it } from 'vitest';
import { RerunSafeError, storeMisconfigured } from '../../../src/core/errors.ts';
import { type Effect, judge } from '../../../src/stores/azure-tables/map-error.ts';
import type { Try } from '../../../src/stores/azure-tables/tries.ts';

const failed = (status: number, code?: string, message = 'said the service') => ({
  statusCode: status,
  message,
  ...(code === undefined ? {} : { details: { odataError: { code } } }),
});
const judged = (error: unknown, tries: readonly Try[] | undefined = ['answered'], effect: Effect = 'write'): unknown =>
  judge({ what: 'test', effect, error, tries });
const coded = (...given: Parameters<typeof judged>): string => {
  const verdict = judged(...given);
  return verdict instanceof RerunSafeError ? verdict.code : (verdict as { refused: string }).refused;
};

describe('a refusal', () => {
  it.each([
    [failed(412), 'conflict'],
    [failed(409, 'EntityAlreadyExists'), 'conflict'],
    [{ statusCode: 409, code: 'EntityAlreadyExists' }, 'conflict'],
    [{ statusCode: 404, code: 'TableNotFound', details: { odataError: { code: 'ResourceNotFound' } } }, 'absent'],
    [failed(404, 'ResourceNotFound'), 'absent'],
    [failed(413), 'too-large'],
    [failed(400, 'EntityTooLarge'), 'too-large'],
    [failed(400, 'PropertyValueTooLarge'), 'too-large'],
    [failed(400, 'RequestBodyTooLarge'), 'too-large'],
    [failed(400, 'TooManyProperties'), 'too-large'],
  ])('I7 %j, and whether an earlier try may have been applied', (error, refused) => {
    expect(judged(error)).toStrictEqual({ refused, doubt: false, cause: error });
    expect(judged(error, ['maybe', 'answered'])).toStrictEqual({ refused, doubt: true, cause: error });
    expect(judge({ what: 'test', effect: 'write', error, tries: undefined })).toStrictEqual({ refused, doubt: true, cause: error });
    expect(judged(error, ['never', 'answered'])).toStrictEqual({ refused, doubt: false, cause: error });
  });

  it.each([[failed(403, 'ResourceNotFound')], [failed(404)], [failed(404, 'TableNotFound')], [failed(400, 'InvalidInput')]])(
    '%j is none of those',
    (error) => {
      expect(coded(error)).toBe('STORE_MISCONFIGURED');
    },
  );
});

describe('whether a write may have happened', () => {
  const NOBODY = undefined as unknown as readonly Try[];
  it.each<[string, unknown, readonly Try[], string]>([
    ['answered with a failure of the server', failed(500), ['answered'], 'WRITE_UNKNOWN'],
    ['answered with a time-out', failed(408), ['answered'], 'WRITE_UNKNOWN'],
    ['answered that there are too many', failed(429), ['answered'], 'WRITE_UNKNOWN'],
    ['answered with a refusal', failed(400, 'X'), ['answered'], 'STORE_MISCONFIGURED'],
    ['answered with a refusal, at the other end', failed(499, 'X'), ['answered'], 'STORE_MISCONFIGURED'],
    ['answered with what is no refusal', failed(399, 'X'), ['answered'], 'WRITE_UNKNOWN'],
    ['never sent', failed(500), ['never'], 'STORE_UNAVAILABLE'],
    ['never sent, then nobody knows', failed(500), ['never', 'maybe'], 'WRITE_UNKNOWN'],
    ['refused after a try that nobody knows of', failed(400, 'X'), ['maybe', 'answered'], 'WRITE_UNKNOWN'],
  ])('I8 %s', (_, error, tries, code) => {
    expect(coded(error, tries)).toBe(code);
    expect(coded(error, tries, 'harmless')).not.toBe('WRITE_UNKNOWN');
  });

  it.each([
    [failed(400, 'X'), 'STORE_MISCONFIGURED'],
    [failed(500), 'WRITE_UNKNOWN'],
    [failed(408), 'WRITE_UNKNOWN'],
    [failed(429), 'WRITE_UNKNOWN'],
    [{}, 'WRITE_UNKNOWN'],
  ])('I8 that nobody watched: %j', (error, code) => {
    const verdict = judge({ what: 'test', effect: 'write', error, tries: NOBODY });
    expect(verdict).toMatchObject({ code });
    if (code === 'WRITE_UNKNOWN') expect((verdict as Error).message).toBe('No answer to a write (test): it may have taken effect.');
  });
});

describe('what wants a person', () => {
  it.each<[string, unknown, string]>([
    ['no table', failed(404, 'TableNotFound'), 'the table does not exist. Call setUp() once, or create the table.'],
    ['no table, by the status', failed(404, 'X'), 'the table does not exist. Call setUp() once, or create the table.'],
    ['no table, by the code', failed(400, 'TableNotFound'), 'the table does not exist. Call setUp() once, or create the table.'],
    [
      'no right',
      failed(403, 'AuthorizationFailure'),
      'the service refused the credentials (AuthorizationFailure). Give this identity the role "Storage Table Data Contributor", or check the account key.',
    ],
    [
      'no credentials, and no code',
      failed(401),
      'the service refused the credentials (401). Give this identity the role "Storage Table Data Contributor", or check the account key.',
    ],
    ['a request that is wrong', failed(400, 'InvalidInput'), 'the service refused the request (400 InvalidInput: said the service).'],
  ])('I8 %s', (_, error, advice) => {
    expect(judged(error)).toMatchObject({
      code: 'STORE_MISCONFIGURED',
      message: `The store cannot be used as it is set up: ${advice}`,
      cause: error,
    });
  });

  it.each<[string, unknown]>([
    ['a table that is being deleted', failed(409, 'TableBeingDeleted')],
    ['a request that took too long to come in', failed(408)],
    ['too many', failed(429)],
    ['a server that failed', failed(500)],
    ['an answer that says nothing', { statusCode: 500, details: {} }],
  ])('I8 not %s', (_, error) => {
    expect(judged(error, ['never'])).toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: 'The store did not take the request (test). Nothing was changed; try again.',
      cause: error,
    });
  });

  it('I8 nothing was sent: a credential or an address', () => {
    const error = new Error('no token');
    const message = 'The store cannot be used as it is set up: the request could not be made (no token).';
    expect(judged(error, [])).toMatchObject({ code: 'STORE_MISCONFIGURED', message, cause: error });
    expect(judged(error, ['never', 'never'])).toMatchObject({ code: 'STORE_MISCONFIGURED', message });
    for (const nothing of [undefined, null, 'x']) expect(coded(nothing, [])).toBe('STORE_MISCONFIGURED');
    const own = storeMisconfigured('the setting X is missing');
    expect(judged(own, [])).toBe(own);
  });

  it.each<[string, unknown]>([
    ['given up', Object.assign(new Error(), { name: 'AbortError' })],
    ['our own limit, met while waiting for a token', { code: 'ETIMEDOUT' }],
    ['the network', { code: 'ECONNREFUSED' }],
  ])('I8 not where nothing was sent for another reason: %s', (_, error) => {
    expect(coded(error, [])).toBe('STORE_UNAVAILABLE');
    expect(coded(error, [], 'harmless')).toBe('STORE_UNAVAILABLE');
  });

  it('I8 nor where something may have been sent, or nobody watched', () => {
    expect(coded(new Error('x'), ['maybe'], 'harmless')).toBe('STORE_UNAVAILABLE');
    expect(coded(new Error('x'), ['never', 'answered'], 'harmless')).toBe('STORE_UNAVAILABLE');
    expect(judge({ what: 'test', effect: 'harmless', error: new Error('x'), tries: undefined })).toMatchObject({ code: 'STORE_UNAVAILABLE' });
  });
});

describe('when to come back', () => {
  const waitMs = (headers: Readonly<Record<string, string>>) => {
    const error = { statusCode: 503, response: { headers: { get: (wanted: string) => headers[wanted] } } };
    return (judged(error, ['never']) as RerunSafeError).retryAfterMs;
  };

  it.each<[Record<string, string>, number | undefined]>([
    [{ 'retry-after': '3' }, 3_000],
    [{ 'retry-after': '0' }, 0],
    [{ 'retry-after': '-3' }, 0],
    [{ 'retry-after': 'soon' }, undefined],
    [{ 'x-ms-retry-after-ms': '250', 'retry-after': '3' }, 250],
    [{ 'retry-after-ms': '260', 'retry-after': '3' }, 260],
    [{ 'x-ms-retry-after-ms': '250', 'retry-after-ms': '260' }, 250],
    [{ 'x-ms-retry-after-ms': 'soon', 'retry-after': '3' }, 3_000],
    [{}, undefined],
  ])('%j', (headers, expected) => {
    expect(waitMs(headers)).toBe(expected);
  });

  it('at a date', () => {
    const inMs = waitMs({ 'retry-after': new Date(Date.now() + 60_000).toUTCString() });
    expect(inMs).toBeGreaterThan(55_000);
    expect(inMs).toBeLessThanOrEqual(60_000);
    expect(waitMs({ 'retry-after': new Date(Date.now() - 60_000).toUTCString() })).toBe(0);
  });

  it('nobody knows where the answer had no headers', () => {
    expect((judged({ statusCode: 503 }, ['never']) as RerunSafeError).retryAfterMs).toBeUndefined();
    expect((judged({ statusCode: 503, response: {} }, ['never']) as RerunSafeError).retryAfterMs).toBeUndefined();
  });
});
