import { describe, expect, it } from 'vitest';
import { bindHttp, guardHttp, type HttpReply } from '../../../src/http/guard-http.ts';
import { parseKeyHeader } from '../../../src/http/key-header.ts';
import { requestInput } from '../../../src/http/request-fingerprint.ts';
import { memoryStore, type RecordStore, RerunSafeError, type Run, runOnce } from '../../../src/index.ts';
import { headerOf, operation, problemOf, reply, textOf, view } from './exchange.ts';

const JSON_TYPE = { 'content-type': 'application/json' };
const json = (body: string | Uint8Array, type = 'application/json') =>
  JSON.stringify(requestInput(view({ headers: { 'content-type': type }, body })));
const down = (code: 'STORE_UNAVAILABLE' | 'WRITE_UNKNOWN' = 'STORE_UNAVAILABLE') => Promise.reject(new RerunSafeError(code, 'down'));

describe('fingerprints', () => {
  it.each([
    ['__proto__', '{"__proto__":1}', '{"__proto__":2}'],
    ['__proto__ inside', '{"__proto__":{"a":1}}', '{"__proto__":{"a":2}}'],
    ['__proto__ against nothing', '{"__proto__":{"a":1}}', '{}'],
    ['toJSON', '{"toJSON":1}', '{"toJSON":2}'],
    ['$number', '{"a":{"$number":"1"}}', '{"a":{"$bigint":"1"}}'],
    ['$ once and twice', '{"$a":1}', '{"$$a":1}'],
    ['normal forms', '"\\u00e9"', '"e\\u0301"'],
    ['lone surrogates', '"\\ud800"', '"\\ud801"'],
    ['nothing and null', '', 'null'],
    ['an empty object and an empty array', '{}', '[]'],
    ['null and no property', '{"a":null}', '{}'],
    ['20 digits', '{"a":12345678901234567890}', '{"a":12345678901234567891}'],
    ['digits after the point', '0.30000000000000004', '0.30000000000000005'],
    ['a big number and its text', '9007199254740993', '"9007199254740993"'],
    ['depth 300', `${'['.repeat(300)}1${']'.repeat(300)}`, `${'['.repeat(300)}2${']'.repeat(300)}`],
  ])('I9 %s', (_, one, two) => {
    expect(json(one)).not.toBe(json(two));
  });

  it.each([
    ['an escaped name', '{"\\u0061":1}', '{"a":1}'],
    ['zero, whatever its sign', '-0', '0'],
    ['integer-like names', '{"2":1,"1":1}', '{"1":1,"2":1}'],
  ])('I9 the same: %s', (_, one, two) => {
    expect(json(one)).toBe(json(two));
  });
});

describe('keys', () => {
  it.each([
    ['"k";a', 'k'],
    ['"k"; a=1; b="x,y"', 'k'],
    ['"k" ;a', undefined],
    ['"k", ', undefined],
    ["'k'", "'k'"],
    ['null', 'null'],
    ['"%22"', '%22'],
    ['k\n', undefined],
    ['k\u00a0', undefined],
  ])('I1 the header %j', (header, key) => {
    expect(parseKeyHeader(header)).toEqual(key === undefined ? { kind: 'malformed' } : { kind: 'key', key });
  });
});

describe('the store fails', () => {
  it('at the claim with doubt: 503, nothing runs', async () => {
    const store: RecordStore = { ...memoryStore(), create: () => down('WRITE_UNKNOWN'), read: () => down() };
    const charge = operation({ store, leaseMs: 200 }, () => reply(200));
    const answer = await charge.send();
    expect([answer.status, headerOf(answer, 'retry-after'), charge.calls]).toEqual([503, '1', 0]);
  });

  it('at the completion: the handler’s own reply goes out', async () => {
    const store: RecordStore = { ...memoryStore(), replace: () => down() };
    const charge = operation({ store, leaseMs: 200, renew: 'none' }, () => reply(201, 'done', [['set-cookie', 'a=1']]));
    const answer = await charge.send();
    expect([answer.status, textOf(answer), headerOf(answer, 'set-cookie')]).toEqual([201, 'done', 'a=1']);
  });

  it('everywhere, with onStoreDown: run: the reply goes out, whatever its status', async () => {
    const store: RecordStore = { ...memoryStore(), create: () => down(), read: () => down(), replace: () => down() };
    for (const status of [201, 503]) {
      expect((await operation({ store, onStoreDown: 'run' }, () => reply(status)).send()).status).toBe(status);
    }
  });

  it.each(['STORE_UNAVAILABLE', 'STORE_MISCONFIGURED', 'WRITE_UNKNOWN'] as const)(
    'in run.commit with %s: a refusal of ours, not a throw',
    async (code) => {
      const bound = bindHttp<unknown>('test', { store: memoryStore(), operation: `commit ${code}`, scope: 'public', leaseMs: 200, renew: 'none' });
      const sent = guardHttp(bound, {}, view({ headers: { 'idempotency-key': 'k' } }), {}, async (run) => {
        await (run as Run).commit(reply(201), () => Promise.reject(new RerunSafeError(code, 'down')));
        return reply(201);
      });
      expect((await sent).status).toBe(code === 'STORE_MISCONFIGURED' ? 500 : 503);
    },
  );

  it('a commit that was swallowed in doubt is never answered as done', async () => {
    const bound = bindHttp<unknown>('test', { store: memoryStore(), operation: 'swallowed', scope: 'public', leaseMs: 200, renew: 'none' });
    const answer = await guardHttp(bound, {}, view({ headers: { 'idempotency-key': 'k' } }), {}, async (run) => {
      await (run as Run).commit(reply(201), () => down('WRITE_UNKNOWN')).catch(() => {});
      return reply(200, 'all is well');
    });
    expect([answer.status, problemOf(answer).code]).toEqual([503, 'WRITE_UNKNOWN']);
  });
});

describe('what is no refusal of this request', () => {
  it('I3 a guarded call that is refused inside `onUnknown`: never "use a new key" for a request that may have been done', async () => {
    const store = memoryStore();
    await runOnce({ store, operation: 'ask', key: 'k', input: 1 }, () => 1);
    const charge = operation(
      {
        onThrow: () => 'unknown',
        onUnknown: async () => {
          await runOnce({ store, operation: 'ask', key: 'k', input: 2 }, () => 1);
          return 'not-done' as const;
        },
      },
      () => {
        throw new Error('timed out');
      },
    );
    await expect(charge.send()).rejects.toThrow('timed out');
    await expect(charge.send()).rejects.toMatchObject({ code: 'KEY_REUSED' });
  });

  it('I3 a step whose value was not kept: the request is not said to be done', async () => {
    const bound = bindHttp<unknown>('test', { store: memoryStore(), operation: 'step not kept', scope: 'public' });
    const send = () =>
      guardHttp(bound, {}, view({ headers: { 'idempotency-key': 'k' } }), {}, async (run) => {
        await (run as Run).step('client', () => () => {});
        throw new Error('before the charge');
      });
    await expect(send()).rejects.toThrow('before the charge');
    const again = await send().catch(() => undefined);
    expect(again === undefined ? '' : textOf(again)).not.toContain('It was done once');
  });
});

describe('cancelled calls', () => {
  it('I12 cancelled during the claim: an answer, not a throw', async () => {
    const controller = new AbortController();
    const store: RecordStore = {
      ...memoryStore(),
      create: () => {
        controller.abort(new DOMException('over', 'TimeoutError'));
        return down('WRITE_UNKNOWN');
      },
    };
    const bound = bindHttp<unknown>('test', { store, operation: 'cancelled', scope: 'public' });
    const sent = guardHttp(bound, {}, view({ headers: { 'idempotency-key': 'k' } }), { signal: controller.signal }, async () => reply(200));
    expect((await sent).status).toBe(503);
  });
});

describe('rules that fail', () => {
  it('I1 a `keep` that answers with a promise is no yes', async () => {
    const charge = operation({ keep: (async () => false) as never }, (n) => reply(500, `${n}`));
    await charge.send();
    expect(textOf(await charge.send())).toBe('2');
  });

  it.each(['rotten', 1, null, {}])('I8 an `onThrow` that answers %j is as if it had said nothing', async (verdict) => {
    const charge = operation({ onThrow: () => verdict as never, onUnknown: 'block' }, () => reply(500));
    await charge.send();
    expect((await charge.send()).status).toBe(409);
  });

  it('I8 an `onThrow` that throws leaves the outcome unknown', async () => {
    const onThrow = (): never => {
      throw new Error('oops');
    };
    const charge = operation({ onThrow, onUnknown: 'block' }, () => reply(500));
    expect((await charge.send()).status).toBe(500);
    expect(problemOf(await charge.send()).code).toBe('BLOCKED');
  });
});

describe('replies', () => {
  it.each([
    ['Set-Cookie', 'a=1'],
    ['SET-COOKIE', 'a=1'],
    ['Access-Control-Allow-Credentials', 'true'],
    ['Proxy-Authenticate', 'x'],
    ['WWW-Authenticate', 'x'],
    ['Content-Length', '99'],
    ['X-Amzn-Trace-Id', 'x'],
  ])('I2 %s is never stored, not even in the record', async (name, value) => {
    const store = memoryStore();
    const charge = operation({ store }, () => reply(201, 'b', [[name, value]]));
    expect((await charge.send()).headers).toEqual([[name, value]]);
    expect((await charge.send()).headers).toEqual([['Idempotent-Replayed', 'true']]);
    for await (const { record } of store.list({})) expect(JSON.stringify(record)).not.toContain(name);
  });

  it('I2 a reply that is changed after it was returned is replayed as it was', async () => {
    const body = new TextEncoder().encode('first');
    const made = { status: 201, headers: [['etag', '"1"'] as [string, string]], body };
    const charge = operation({}, () => made as HttpReply);
    await charge.send();
    body.fill(65);
    made.headers[0] = ['etag', '"2"'];
    const replayed = await charge.send();
    expect([textOf(replayed), headerOf(replayed, 'etag')]).toEqual(['first', '"1"']);
  });

  it('I2 a byte order mark, a NUL and an empty body come back', async () => {
    for (const bytes of [[0xef, 0xbb, 0xbf, 0x61], [0], [], [0xc3, 0x28], [0xed, 0xa0, 0x80]]) {
      const charge = operation({}, () => ({ status: 200, headers: [], body: Uint8Array.from(bytes) }));
      await charge.send();
      expect([...(await charge.send()).body]).toEqual(bytes);
    }
  });

  it('I9 a body in JSON with a byte order mark is the same request', () => {
    expect(json('\ufeff{"a":1}')).toBe(json('{"a":1}'));
    expect(requestInput(view({ headers: JSON_TYPE, body: '' }))).toBeDefined();
  });
});
