import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { RerunSafeError, storeMisconfigured } from '../../../src/core/errors.ts';
import { FOREVER_MS } from '../../../src/core/record.ts';
import { entityBytes, fromEntity, isTooLarge, toEntity } from '../../../src/stores/azure-tables/entity.ts';
import { tableStore } from '../../../src/stores/azure-tables/index.ts';
import { judge } from '../../../src/stores/azure-tables/map-error.ts';
import { keysOf } from '../../../src/stores/azure-tables/place.ts';
import { correctionMs, narrow, serviceClock } from '../../../src/stores/azure-tables/service-clock.ts';
import type { Try } from '../../../src/stores/azure-tables/tries.ts';
import { freshId, record } from './azure-tables-subject.ts';

const KEYS = { partitionKey: 'rs0001', rowKey: 'id' };
const bodyOf = (text: string) => ({ outcome: { kind: 'value', value: text } as const });

describe('the entity of a record', () => {
  it('keeps every whole number as a whole number, and stamps nothing itself', () => {
    const entity = toEntity(KEYS, record({ retentionMs: FOREVER_MS, leaseMs: 0, slot: 4_102_444_800_000 }));
    expect(entity.token).toEqual({ type: 'Int64', value: '1767225600123' });
    expect(entity.retentionMs).toEqual({ type: 'Int64', value: '9007199254740991' });
    expect(entity.leaseMs).toEqual({ type: 'Int64', value: '0' });
    expect(entity.attempt).toEqual({ type: 'Int32', value: '1' });
    expect(entity).not.toHaveProperty('writtenAtMs');
  });

  it('cuts a body into properties of at most 64,000 bytes, and puts it together whatever character the cut falls on', () => {
    for (const shift of ['', 'x', 'xx', 'xxx']) {
      const written = record({ state: 'completed', ...bodyOf(shift + '😀'.repeat(40_000)) });
      const entity = toEntity(KEYS, written);
      const chunks = Object.entries(entity).filter(([name]) => /^body\d+$/.test(name));
      expect(chunks.map(([name]) => name)).toEqual(['body0', 'body1', 'body2']);
      for (const [, chunk] of chunks) expect((chunk as Uint8Array).length).toBeLessThanOrEqual(64_000);
      const columns = Object.entries(entity).map(([name, value]) => [
        name,
        typeof value === 'object' && 'type' in value ? (value.type === 'Int64' ? BigInt(value.value) : Number(value.value)) : value,
      ]);
      const found = fromEntity({ ...Object.fromEntries(columns), timestamp: '2026-01-02T03:04:05.6789012Z' });
      expect(found).toEqual({ ...written, writtenAtMs: Date.UTC(2026, 0, 2, 3, 4, 5, 678) });
    }
  });

  it('is measured as the service measures: two bytes a character, one a byte of a body', () => {
    const empty = entityBytes({ partitionKey: 'ab', rowKey: 'c' });
    expect(empty).toBe(4 + 6);
    expect(entityBytes({ partitionKey: 'ab', rowKey: 'c', text: 'äöü' }) - empty).toBe(8 + 8 + 6 + 4);
    expect(entityBytes({ partitionKey: 'ab', rowKey: 'c', n: { type: 'Int64', value: '1' } }) - empty).toBe(8 + 2 + 8);
    expect(entityBytes({ partitionKey: 'ab', rowKey: 'c', body0: randomBytes(10) }) - empty).toBe(8 + 10 + 14);
  });

  it('is too large over the limit of the whole, and of a single text', () => {
    expect(isTooLarge(toEntity(KEYS, record(bodyOf('x'.repeat(99_000)))), 100_000)).toBe(false);
    expect(isTooLarge(toEntity(KEYS, record(bodyOf('x'.repeat(100_000)))), 100_000)).toBe(true);
    expect(isTooLarge(toEntity(KEYS, record({ label: 'x'.repeat(32_000) })), 100_000)).toBe(false);
    expect(isTooLarge(toEntity(KEYS, record({ label: 'x'.repeat(32_001) })), 100_000)).toBe(true);
  });

  it('lies in one of so many partitions, spread evenly and always in the same', () => {
    const ids = Array.from({ length: 4_000 }, freshId);
    const counts = new Map<string, number>();
    for (const id of ids) counts.set(keysOf(id, 16).partitionKey, (counts.get(keysOf(id, 16).partitionKey) ?? 0) + 1);
    expect([...counts.keys()].sort()).toEqual(Array.from({ length: 16 }, (_, n) => `rs000${n.toString(16)}`));
    expect(Math.min(...counts.values())).toBeGreaterThan(125);
  });
});

describe('what a failure means', () => {
  const failed = (status: number, code: string) => ({ statusCode: status, message: 'said the service', details: { odataError: { code } } });
  const codeOf = (effect: 'harmless' | 'write', error: unknown, tries: Try[] | undefined) => {
    const verdict = judge({ what: 'test', effect, error, tries });
    return verdict instanceof RerunSafeError ? verdict.code : verdict.refused;
  };

  it.each([
    ['a connection that is always refused', { code: 'ECONNREFUSED' }, ['never', 'never'], 'STORE_UNAVAILABLE'],
    ['a throttled request', failed(503, 'ServerBusy'), ['never'], 'STORE_UNAVAILABLE'],
    ['a throttled request after a lost answer', failed(503, 'ServerBusy'), ['maybe', 'never'], 'WRITE_UNKNOWN'],
    ['a refused connection after a lost answer', { code: 'ECONNREFUSED' }, ['maybe', 'never'], 'WRITE_UNKNOWN'],
    ['a failure inside the service', failed(500, 'OperationTimedOut'), ['maybe'], 'WRITE_UNKNOWN'],
    ['an answer that came and could not be read', new Error('parse'), ['answered'], 'WRITE_UNKNOWN'],
    ['an abort before anything was sent', Object.assign(new Error(), { name: 'AbortError' }), [], 'STORE_UNAVAILABLE'],
    ['a transient failure that nobody watched', { code: 'ECONNREFUSED' }, undefined, 'WRITE_UNKNOWN'],
    ['a missing table', failed(404, 'TableNotFound'), ['answered'], 'STORE_MISCONFIGURED'],
    ['a missing table that nobody watched', failed(404, 'TableNotFound'), undefined, 'STORE_MISCONFIGURED'],
    ['refused credentials', failed(403, 'AuthorizationFailure'), ['answered'], 'STORE_MISCONFIGURED'],
    ['refused credentials after a lost answer', failed(403, 'AuthorizationFailure'), ['maybe', 'answered'], 'WRITE_UNKNOWN'],
    ['a table that is being deleted', failed(409, 'TableBeingDeleted'), ['answered'], 'STORE_UNAVAILABLE'],
    ['a credential that could not be had', new Error('no token'), [], 'STORE_MISCONFIGURED'],
    ['a credential that could not be had after a lost answer', storeMisconfigured('no token'), ['maybe'], 'WRITE_UNKNOWN'],
    ['a token that was waited for in vain', { code: 'ETIMEDOUT' }, [], 'STORE_UNAVAILABLE'],
    ['an entity that exists', failed(409, 'EntityAlreadyExists'), ['answered'], 'conflict'],
    ['an ETag that has passed', failed(412, 'UpdateConditionNotSatisfied'), ['answered'], 'conflict'],
    ['an entity that is gone', failed(404, 'ResourceNotFound'), ['answered'], 'absent'],
    ['an entity over the limit', failed(400, 'EntityTooLarge'), ['answered'], 'too-large'],
    ['a property over the limit', failed(400, 'PropertyValueTooLarge'), ['answered'], 'too-large'],
    ['a body over the limit', failed(413, 'RequestBodyTooLarge'), ['answered'], 'too-large'],
  ] as const)('I8 a write: %s', (_, error, tries, code) => {
    expect(codeOf('write', error, tries as Try[] | undefined)).toBe(code);
  });

  it('I8 a read that failed for a passing reason is never in doubt', () => {
    for (const error of [failed(500, 'InternalError'), failed(503, 'ServerBusy'), { code: 'ECONNRESET' }, { code: 'ECONNREFUSED' }]) {
      expect(codeOf('harmless', error, ['maybe'])).toBe('STORE_UNAVAILABLE');
      expect(codeOf('harmless', error, undefined)).toBe('STORE_UNAVAILABLE');
    }
  });

  it('says when to come back, in ms, from seconds, a date or the ms of Cosmos DB', () => {
    const waitMs = (name: string, value: string) => {
      const error = { statusCode: 503, response: { headers: { get: (wanted: string) => (wanted === name ? value : undefined) } } };
      return (judge({ what: 'test', effect: 'write', error, tries: ['never'] }) as RerunSafeError).retryAfterMs;
    };
    expect(waitMs('retry-after', '3')).toBe(3_000);
    expect(waitMs('x-ms-retry-after-ms', '250')).toBe(250);
    expect(waitMs('retry-after', new Date(Date.now() - 60_000).toUTCString())).toBe(0);
    expect(waitMs('retry-after', 'soon')).toBeUndefined();
  });
});

describe("the service's clock", () => {
  it('is the own clock as long as no answer contradicts it', () => {
    expect(correctionMs(undefined)).toBe(0);
    expect(correctionMs(narrow(undefined, 10_000, 10_400, 10_450))).toBe(0);
  });

  it('is corrected no further than the answers demand, and narrowed by each of them', () => {
    const first = narrow(undefined, 20_000, 10_400, 10_500);
    expect(first).toEqual({ fromMs: 9_500, toMs: 10_600 });
    expect(correctionMs(first)).toBe(9_500);
    expect(narrow(first, 21_000, 11_100, 11_200)).toEqual({ fromMs: 9_800, toMs: 10_600 });
    expect(correctionMs(narrow(undefined, 10_000, 20_000, 20_100))).toBe(-9_000);
  });

  it('starts anew when a clock was set, and learns nothing from a clock that ran backwards', () => {
    let wall = 10_500;
    const clock = serviceClock(() => wall);
    clock.learn(20_000, 10_400, 10_500);
    expect(clock.nowMs()).toBe(20_000);
    clock.learn(Number.NaN, 10_400, 10_500);
    clock.learn(50_000, 10_500, 10_400);
    expect(clock.nowMs()).toBe(20_000);
    wall = 20_600;
    clock.learn(20_000, 20_500, 20_600);
    expect(clock.nowMs()).toBe(20_600);
  });
});

describe('the options of tableStore', () => {
  it('are refused all in one message when wrong, unknown, or without effect', () => {
    const wrong = { partitions: 0, uncertaintyMs: 5, tableName: 'a-b', partition: 3 } as object;
    expect(() => tableStore(wrong)).toThrow(/partitions must .*uncertaintyMs must .*tableName must .*partition is not an option/);
    const methods = ['createEntity', 'updateEntity', 'getEntity', 'deleteEntity', 'listEntities', 'createTable'];
    const client = Object.fromEntries(methods.map((name) => [name, () => {}]));
    expect(() => tableStore({ client, tableName: 'abc' } as object)).toThrow(/tableName has no effect beside client/);
  });

  it('a missing setting is STORE_MISCONFIGURED on first use, not before', async () => {
    const store = tableStore({ connection: 'RERUNSAFE_TEST_NOT_SET' });
    await expect(store.read('id')).rejects.toMatchObject({ code: 'STORE_MISCONFIGURED', message: /RERUNSAFE_TEST_NOT_SET__tableServiceUri/ });
  });
});
