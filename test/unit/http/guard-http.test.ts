import { describe, expect, it } from 'vitest';
import type { HttpReply } from '../../../src/http/guard-http.ts';
import { memoryStore, type RecordStore, RerunSafeError } from '../../../src/index.ts';
import { headerOf, operation, problemOf, reply, textOf } from './exchange.ts';

/** A handler that answers when told to. */
function held() {
  let start = (): void => {};
  let finish = (_: HttpReply): void => {};
  const started = new Promise<void>((resolve) => {
    start = resolve;
  });
  const answer = new Promise<HttpReply>((resolve) => {
    finish = resolve;
  });
  return {
    started,
    finish: (r: HttpReply) => finish(r),
    handle: () => {
      start();
      return answer;
    },
  };
}

describe('a replay', () => {
  it('I2 carries the status, the very bytes and the allow-listed headers of the first answer, and says so', async () => {
    const body = new Uint8Array([0, 255, 128, 10]);
    const first: HttpReply = {
      status: 201,
      headers: [
        ['Content-Type', 'application/octet-stream'],
        ['Location', '/charges/1'],
        ['ETag', '"1"'],
        ['X-Plan', 'gold'],
        ['X-Other', 'no'],
        ['Set-Cookie', 'a=1'],
        ['Set-Cookie', 'b=2'],
        ['Access-Control-Allow-Origin', 'https://one.test'],
        ['Date', 'now'],
      ],
      body,
    };
    const charge = operation({ storeHeaders: ['x-plan'] }, () => first);
    expect(await charge.send()).toBe(first);
    const replayed = await charge.send();
    expect(replayed.status).toBe(201);
    expect([...replayed.body]).toEqual([...body]);
    expect(replayed.headers).toEqual([
      ['Content-Type', 'application/octet-stream'],
      ['Location', '/charges/1'],
      ['ETag', '"1"'],
      ['X-Plan', 'gold'],
      ['Idempotent-Replayed', 'true'],
    ]);
    expect(charge.calls).toBe(1);
  });

  it('I1 is the same for the bare and the quoted form of a key', async () => {
    const charge = operation({}, (n) => reply(201, `${n}`));
    await charge.sendRaw({ headers: { 'idempotency-key': 'k' } });
    expect(textOf(await charge.sendRaw({ headers: { 'IDEMPOTENCY-KEY': '"k"' } }))).toBe('1');
  });

  it.each([
    [200, true],
    [204, true],
    [302, true],
    [400, true],
    [404, true],
    [410, true],
    [422, true],
    [401, false],
    [403, false],
    [408, false],
    [409, false],
    [423, false],
    [425, false],
    [429, false],
    [500, false],
    [503, false],
  ])('I1 of a %i: %s', async (status, kept) => {
    const charge = operation({}, (n) => reply(status, `${n}`));
    expect(textOf(await charge.send())).toBe('1');
    const second = await charge.send();
    expect([second.status, textOf(second), headerOf(second, 'idempotent-replayed')]).toEqual(kept ? [status, '1', 'true'] : [status, '2', undefined]);
  });

  it('I1 is what `keep` says, either way, and a `keep` that fails changes nothing', async () => {
    const all = operation({ keep: ({ status }) => (status === 500 ? true : undefined) }, (n) => reply(500, `${n}`));
    await all.send();
    expect(textOf(await all.send())).toBe('1');
    const none = operation({ keep: () => false }, (n) => reply(200, `${n}`));
    await none.send();
    expect(textOf(await none.send())).toBe('2');
    const broken = operation(
      {
        keep: () => {
          throw new Error('oops');
        },
      },
      (n) => reply(200, `${n}`),
    );
    await broken.send();
    expect(textOf(await broken.send())).toBe('1');
  });

  it('I3 of a streamed reply is refused as not stored, and the work is not run again', async () => {
    const charge = operation({}, () => ({ ...reply(200), streamed: true }));
    expect((await charge.send()).status).toBe(200);
    const second = await charge.send();
    expect([second.status, problemOf(second).code, headerOf(second, 'retry-after')]).toEqual([409, 'RESULT_NOT_STORED', undefined]);
    expect(charge.calls).toBe(1);
  });

  it('I2 keeps what is attached to the reply', async () => {
    const charge = operation({}, () => ({ ...reply(200), attached: { queue: ['m'] } }));
    await charge.send();
    expect((await charge.send()).attached).toEqual({ queue: ['m'] });
  });
});

describe('a request is refused', () => {
  it('with 400 when its key is missing, and passes through where none is required', async () => {
    const required = operation({}, () => reply(200));
    const answer = await required.sendRaw({});
    expect([answer.status, headerOf(answer, 'content-type'), required.calls]).toEqual([400, 'application/problem+json', 0]);
    expect(problemOf(answer)).toMatchObject({
      type: 'urn:rerunsafe:problem:key-missing',
      title: 'Idempotency-Key is missing',
      status: 400,
      code: 'MISSING_KEY',
    });
    const optional = operation({ required: false }, () => reply(200));
    await optional.sendRaw({});
    expect((await optional.sendRaw({})).status).toBe(200);
    expect(optional.calls).toBe(2);
  });

  it('with 400 when its key is malformed, also where none is required, and never echoes it', async () => {
    const charge = operation({ required: false, problemBase: 'https://api.test/problems/' }, () => reply(200));
    const answer = await charge.sendRaw({ headers: { 'idempotency-key': 'secret one, secret two' } });
    expect(problemOf(answer)).toMatchObject({ type: 'https://api.test/problems/key-malformed', status: 400, code: 'MALFORMED_KEY' });
    expect(textOf(answer)).not.toContain('secret');
    expect(charge.calls).toBe(0);
  });

  it.each([undefined, null, ''])('with 401 when its scope is %j: never shared', async (scope) => {
    const charge = operation({ scope: () => scope }, () => reply(200));
    const answer = await charge.send();
    expect([answer.status, problemOf(answer).code, charge.calls]).toEqual([401, 'MISSING_SCOPE', 0]);
  });

  it('with 413 before any work when its body is too long', async () => {
    const charge = operation({ maxBodyBytes: 3 }, () => reply(200));
    expect((await charge.send({ body: '1234' })).status).toBe(413);
    expect(charge.calls).toBe(0);
    expect((await charge.send({ body: '123' })).status).toBe(200);
  });

  it('I9 with 422 when its key came with another payload, after the first and while it is still running', async () => {
    const first = held();
    const charge = operation({}, first.handle);
    const running = charge.send({ body: 'one' });
    await first.started;
    const during = await charge.send({ body: 'two' });
    first.finish(reply(201));
    await running;
    const after = await charge.send({ body: 'two' });
    for (const answer of [during, after]) expect([answer.status, problemOf(answer).code]).toEqual([422, 'KEY_REUSED']);
  });

  it('I1 with 409 and Retry-After while the first is still running', async () => {
    const first = held();
    const charge = operation({}, first.handle);
    const running = charge.send();
    await first.started;
    const answer = await charge.send();
    first.finish(reply(201));
    await running;
    expect([answer.status, problemOf(answer).code]).toEqual([409, 'IN_FLIGHT']);
    expect(Number(headerOf(answer, 'retry-after'))).toBeGreaterThanOrEqual(1);
    expect(headerOf(answer, 'retry-after')).toMatch(/^\d+$/);
  });

  it('I2 unless it waits: then it gets the first answer', async () => {
    const first = held();
    const charge = operation({ onInFlight: { waitMs: 20_000 } }, first.handle);
    const running = charge.send();
    await first.started;
    const waiting = charge.send();
    first.finish(reply(201, 'one'));
    await running;
    expect(textOf(await waiting)).toBe('one');
    expect(charge.calls).toBe(1);
  });

  it('I8 with 409 of its own type, without Retry-After, when a person has to resolve it', async () => {
    const charge = operation({ onUnknown: 'block' }, () => {
      throw new Error('timed out');
    });
    await expect(charge.send()).rejects.toThrow('timed out');
    const answer = await charge.send();
    expect([answer.status, problemOf(answer).code, headerOf(answer, 'retry-after')]).toEqual([409, 'BLOCKED', undefined]);
  });

  it.each([
    ['STORE_UNAVAILABLE', 503, true],
    ['STORE_MISCONFIGURED', 500, false],
    ['RECORD_TOO_NEW', 500, false],
  ] as const)('when the store says %s: %i', async (code, status, again) => {
    const store: RecordStore = { ...memoryStore(), create: () => Promise.reject(new RerunSafeError(code, 'table "secret" …')) };
    const charge = operation({ store }, () => reply(200));
    const answer = await charge.send();
    expect([answer.status, problemOf(answer).code, headerOf(answer, 'retry-after') !== undefined]).toEqual([status, code, again]);
    expect(textOf(answer)).not.toContain('secret');
    expect(charge.calls).toBe(0);
  });
});

describe('scopes and keys', () => {
  it('I1 two scopes never see each other, nor does one of the name "public" see everybody\'s', async () => {
    const store = memoryStore();
    const seen: string[] = [];
    for (const scope of [() => 'a', () => 'b', () => 'public', 'public'] as const) {
      seen.push(textOf(await operation({ store, scope }, () => reply(200, String(seen.length))).send()));
    }
    expect(seen).toEqual(['0', '1', '2', '3']);
  });

  it('takes the key from elsewhere, and the header of another name', async () => {
    const own = operation({ key: (request) => request.path, fingerprint: false }, (n) => reply(200, `${n}`));
    await own.sendRaw({ path: '/a' });
    expect(textOf(await own.sendRaw({ path: '/a', body: 'other' }))).toBe('1');
    expect(textOf(await own.sendRaw({ path: '/b' }))).toBe('2');
    const named = operation({ headerName: 'X-Request-Key' }, (n) => reply(200, `${n}`));
    await named.sendRaw({ headers: { 'x-request-key': 'k' } });
    expect(textOf(await named.sendRaw({ headers: { 'x-request-key': 'k' } }))).toBe('1');
  });

  it('guards POST and PATCH, or the methods it is told', async () => {
    const charge = operation({}, (n) => reply(200, `${n}`));
    for (const method of ['GET', 'PUT', 'DELETE']) await charge.send({ method });
    expect(textOf(await charge.send({ method: 'GET' }))).toBe('4');
    const put = operation({ methods: ['put'] }, (n) => reply(200, `${n}`));
    await put.send({ method: 'PUT' });
    expect(textOf(await put.send({ method: 'PUT' }))).toBe('1');
  });

  it('I9 compares by a fingerprint of its own, or not at all', async () => {
    const own = operation({ fingerprint: (request) => request.path }, () => reply(200));
    await own.send({ body: 'one' });
    expect((await own.send({ body: 'two' })).status).toBe(200);
    expect((await own.send({ path: '/other' })).status).toBe(422);
    const none = operation({ fingerprint: false }, () => reply(200));
    await none.send({ body: 'one' });
    expect((await none.send({ path: '/other', body: 'two' })).status).toBe(200);
  });
});
