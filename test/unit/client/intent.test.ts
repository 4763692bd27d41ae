import { describe, expect, it } from 'vitest';
import { idempotentFetch, intentFor, intentFrom, newIntent } from '../../../src/adapters/client/index.ts';
import { virtualClock } from '../../../src/testing/index.ts';
import { post, quickClient, scripted } from './server.ts';

describe('an intent', () => {
  it('I1 has a key of its own: a UUID of version 7 that says when it was made', () => {
    const clock = virtualClock();
    const [one, other] = [newIntent({ system: clock }), newIntent({ system: clock })];
    expect(one.key).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(one.key).not.toBe(other.key);
    expect(Number.parseInt(one.key.replaceAll('-', '').slice(0, 12), 16)).toBe(clock.nowMs());
    const many = new Set(Array.from({ length: 1_000 }, () => newIntent().key));
    expect(many.size).toBe(1_000);
  });

  it('I1 comes back from JSON as it was, bound or not', () => {
    const free = newIntent();
    expect(intentFrom(JSON.parse(JSON.stringify(free))).toJSON()).toEqual(free.toJSON());
    free.bind('v1:abc');
    expect(free.toJSON()).toEqual({ version: 1, key: free.key, createdAtMs: free.createdAtMs, request: 'v1:abc' });
    expect(intentFrom(JSON.parse(JSON.stringify(free))).request).toBe('v1:abc');
  });

  it.each<[string, unknown, string]>([
    ['nothing', undefined, 'INVALID_OPTIONS'],
    ['text', '{"version":1}', 'INVALID_OPTIONS'],
    ['no key', { version: 1, createdAtMs: 1 }, 'INVALID_OPTIONS'],
    ['a key with a line break', { version: 1, key: 'a\nb', createdAtMs: 1 }, 'INVALID_OPTIONS'],
    ['no moment', { version: 1, key: 'a', createdAtMs: 'now' }, 'INVALID_OPTIONS'],
    ['something more', { version: 1, key: 'a', createdAtMs: 1, payload: 1 }, 'INVALID_OPTIONS'],
    ['a fingerprint that is none', { version: 1, key: 'a', createdAtMs: 1, request: 'abc' }, 'INVALID_OPTIONS'],
    ['a later version', { version: 2, key: 'a' }, 'RECORD_TOO_NEW'],
  ])('is not made from %s', (_, json, code) => {
    expect(() => intentFrom(json)).toThrow(expect.objectContaining({ code }));
  });

  it.each(['', 'é', 'a\r\nx-evil: 1', 'a'.repeat(256)])('is not made with the key %j', (key) => {
    expect(() => newIntent({ key })).toThrow(expect.objectContaining({ code: 'INVALID_OPTIONS' }));
  });

  it('I1 may have a business key, which is quoted as the draft says', async () => {
    await using server = await scripted();
    const { send, settled } = quickClient();
    await settled(send(server.url, post(), newIntent({ key: 'say "7" \\ 8' })));
    expect(server.seen[0]?.headers['idempotency-key']).toBe('"say \\"7\\" \\\\ 8"');
  });
});

describe('an intent stands for one request', () => {
  const json = (body: string, type = 'application/json'): RequestInit => ({ method: 'POST', headers: { 'content-type': type }, body });
  const form = (amount: string): RequestInit => {
    const body = new FormData();
    body.set('amount', amount);
    return { method: 'POST', body };
  };

  it.each<[string, RequestInit, RequestInit, string?]>([
    ['another body', json('{"amount":5}'), json('{"amount":6}')],
    ['another amount in the 17th digit', json('12345678901234567'), json('12345678901234568')],
    ['another method', json('{}'), { ...json('{}'), method: 'PATCH' }],
    ['another address', json('{}'), json('{}'), '/2'],
    ['another query', json('{}'), json('{}'), '?dry=1'],
    ['another type', json('{}'), json('{}', 'text/plain')],
    ['another form', form('5'), form('6')],
    ['no body', json('{}'), { method: 'POST', headers: { 'content-type': 'application/json' } }],
  ])('I9 %s is refused before anything is sent', async (_, first, second, more = '') => {
    await using server = await scripted({ status: 404 });
    const { send, settled } = quickClient();
    const intent = newIntent();
    await settled(send(server.url, first, intent));
    await expect(send(server.url + more, second, intent)).rejects.toMatchObject({ code: 'KEY_REUSED', retryable: false });
    await expect(send(server.url + more, second, intentFrom(intent.toJSON()))).rejects.toMatchObject({ code: 'KEY_REUSED' });
    expect(server.seen).toHaveLength(1);
    await settled(send(server.url, first, intent));
    expect(server.seen).toHaveLength(2);
  });

  it('I9 another host is another request', async () => {
    const { send } = quickClient();
    const intent = await intentFor('http://127.0.0.1:9/charges', json('{}'));
    for (const url of ['http://localhost:9/charges', 'https://127.0.0.1:9/charges', 'http://127.0.0.1:10/charges']) {
      await expect(send(url, json('{}'), intent)).rejects.toMatchObject({ code: 'KEY_REUSED' });
    }
  });

  it.each<[string, RequestInit, RequestInit, string, string]>([
    ['JSON in another order', json('{"a":1,"b":2}'), json('{ "b": 2, "a": 1 }'), '', ''],
    ['a form with a boundary drawn anew', form('5'), form('5'), '', ''],
    ['another token', json('{}'), { ...json('{}'), headers: { 'content-type': 'application/json', authorization: 'Bearer 2' } }, '', ''],
    ['the query in another order, and a fragment', json('{}'), json('{}'), '?a=1&b=2', '?b=2&a=1#top'],
  ])('I9 %s is the same request', async (_, first, second, one, other) => {
    await using server = await scripted();
    const { send, settled } = quickClient();
    const intent = newIntent();
    await settled(send(server.url + one, first, intent));
    await settled(send(server.url + other, second, intent));
    expect(server.seen[0]?.headers['idempotency-key']).toBe(server.seen[1]?.headers['idempotency-key']);
  });

  it('I9 of two requests at once the first to be ready is the one', async () => {
    await using server = await scripted();
    const { send, settled } = quickClient();
    const intent = newIntent();
    const both = await settled(Promise.allSettled([send(server.url, json('1'), intent), send(server.url, json('2'), intent)]));
    expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    expect(server.seen).toHaveLength(1);
  });

  it('I9 it can be bound before anything is sent, so that what is kept says which request it was', async () => {
    await using server = await scripted();
    const { send, settled } = quickClient();
    const kept = JSON.stringify(await intentFor(server.url, json('{"amount":5}')));
    await expect(send(server.url, json('{"amount":6}'), intentFrom(JSON.parse(kept)))).rejects.toMatchObject({ code: 'KEY_REUSED' });
    const request = new Request(server.url, json('{"amount":5}'));
    const bound = await intentFor(request);
    await settled(send(request, undefined, bound));
    expect(server.seen.map(({ body }) => body.toString())).toEqual(['{"amount":5}']);
    await expect(intentFor(server.url, { method: 'POST', body: new Blob(['x']).stream() })).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
  });

  it('I9 a key that was set by hand, and an intent that is none, are refused', async () => {
    await using server = await scripted();
    const { send } = quickClient({ withoutIntent: 'fresh' });
    const byHand = { ...json('{}'), headers: { 'idempotency-key': 'k' } };
    await expect(send(server.url, byHand)).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
    await expect(send(server.url, json('{}'), newIntent().toJSON() as never)).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
    expect(server.seen).toEqual([]);
  });
});

describe('options', () => {
  it('are refused all in one message', () => {
    const wrong = { maxRetries: -1, form: 'none', retries: 3, methods: [] };
    expect(() => idempotentFetch(wrong as never)).toThrow(
      expect.objectContaining({ code: 'INVALID_OPTIONS', facts: { problems: expect.objectContaining({ length: 4 }) } }),
    );
    expect(() => idempotentFetch({ methods: ['POST', 'get'] })).toThrow('GET');
  });
});
