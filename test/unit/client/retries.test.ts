import { describe, expect, it } from 'vitest';
import { idempotentFetch, intentFrom, newIntent } from '../../../src/adapters/client/index.ts';
import { type Answer, listen, post, problem, quickClient, scripted, TRY_MS } from './server.ts';

const IN_FLIGHT = 'urn:rerunsafe:problem:in-flight';

describe('one key per intent', () => {
  it('I1 every try of an intent has the same quoted key and the same bytes', async () => {
    await using server = await scripted('drop', { status: 503 }, problem(IN_FLIGHT, { 'retry-after': '1' }), 'drop');
    const { send, settled } = quickClient();
    const intent = newIntent();
    const response = await settled(send(server.url, post(), intent));
    expect([response.status, await response.text(), response.tries, response.replayed, response.intent]).toEqual([201, 'done', 5, false, intent]);
    expect(server.seen).toHaveLength(5);
    for (const { method, headers, body } of server.seen) {
      expect([method, headers['idempotency-key'], headers['content-type'], body.toString()]).toEqual([
        'POST',
        `"${intent.key}"`,
        'application/json',
        '{"amount":5}',
      ]);
    }
  });

  it('I1 the same intent sent again, also after a restart, has the same key', async () => {
    await using server = await scripted();
    const intent = newIntent();
    const before = quickClient();
    await before.settled(before.send(server.url, post(), intent));
    const after = quickClient();
    await after.settled(after.send(server.url, post(), intentFrom(JSON.parse(JSON.stringify(intent)))));
    expect(server.seen[1]?.headers['idempotency-key']).toBe(server.seen[0]?.headers['idempotency-key']);
  });

  it('I2 a replay is told', async () => {
    await using server = await scripted(
      { status: 201, headers: { 'Idempotent-Replayed': 'true' } },
      { status: 201, headers: { 'Idempotent-Replayed': 'false' } },
    );
    const { send, settled } = quickClient();
    expect((await settled(send(server.url, post(), newIntent()))).replayed).toBe(true);
    expect((await settled(send(server.url, post(), newIntent()))).replayed).toBe(false);
  });

  it('I1 without an intent nothing is sent, unless a fresh one for each call was asked for', async () => {
    await using server = await scripted({ status: 503 });
    const strict = quickClient();
    await expect(strict.send(server.url, post())).rejects.toMatchObject({ code: 'MISSING_KEY' });
    expect(server.seen).toEqual([]);
    const fresh = quickClient({ withoutIntent: 'fresh' });
    const one = await fresh.settled(fresh.send(server.url, post()));
    const other = await fresh.settled(fresh.send(server.url, post()));
    expect([one.tries, other.tries]).toEqual([2, 1]);
    const [a, b, c] = server.seen.map(({ headers }) => headers['idempotency-key']);
    expect([a === b, a === c, a]).toEqual([true, false, `"${one.intent?.key}"`]);
  });

  it('other methods pass through, once and without a key; an intent for them is refused', async () => {
    await using server = await scripted({ status: 503 });
    const { send, settled } = quickClient();
    const response = await settled(send(server.url));
    expect([response.status, response.tries, response.replayed, response.intent]).toEqual([503, 1, false, undefined]);
    expect(server.seen.map(({ method, headers }) => [method, headers['idempotency-key']])).toEqual([['GET', undefined]]);
    await expect(send(server.url, { method: 'PUT' }, newIntent())).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
    expect(server.seen).toHaveLength(1);
  });

  it('methods, header and form can be chosen', async () => {
    await using server = await scripted();
    const { send, settled } = quickClient({ methods: ['put'], headerName: 'X-Once', form: 'bare' });
    await settled(send(server.url, { method: 'PUT', body: 'x' }, newIntent({ key: 'order-7' })));
    expect([server.seen[0]?.headers['x-once'], server.seen[0]?.headers['idempotency-key']]).toEqual(['order-7', undefined]);
    await expect(send(server.url, { method: 'PUT', body: 'x' }, newIntent({ key: 'order 7' }))).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
  });
});

describe('what is tried again', () => {
  it.each<[string, Answer]>([
    ['a dropped answer', 'drop'],
    ['425', { status: 425 }],
    ['429', { status: 429 }],
    ['500', { status: 500 }],
    ['502', { status: 502 }],
    ['503', { status: 503 }],
    ['504', { status: 504 }],
    ['409 in flight', problem(IN_FLIGHT, { 'retry-after': '1' })],
    ['409 in flight whose Retry-After was lost on the way', problem(IN_FLIGHT)],
    ['409 in flight under another base', problem('https://api.example.com/problems#in-flight')],
    ['409 of a stranger with Retry-After', { status: 409, headers: { 'retry-after': '1' }, body: 'busy' }],
  ])('I10 %s', async (_, answer) => {
    await using server = await scripted(answer);
    const { send, settled } = quickClient();
    const response = await settled(send(server.url, post(), newIntent()));
    expect([response.status, response.tries]).toEqual([201, 2]);
  });

  it.each<[string, Answer]>([
    ['400', { status: 400 }],
    ['422, whatever it says', { status: 422, headers: { 'retry-after': '1' } }],
    ['500 of a service that is not set up', { ...(problem('urn:rerunsafe:problem:misconfigured', { 'retry-after': '1' }) as object), status: 500 }],
    ['409 of a stranger', { status: 409 }],
    ['409 of a stranger with a Retry-After that says nothing', { status: 409, headers: { 'retry-after': 'soon' } }],
    ['409 blocked', problem('urn:rerunsafe:problem:blocked', { 'retry-after': '1' })],
    ['409 result not stored', problem('urn:rerunsafe:problem:result-not-stored', { 'retry-after': '1' })],
    ['409 with a document that is none', { status: 409, headers: { 'content-type': 'application/problem+json' }, body: '{"type":' }],
  ])('I8 never %s: the answer is handed out, whole', async (_, answer) => {
    await using server = await scripted(answer);
    const { send, settled } = quickClient();
    const response = await settled(send(server.url, post(), newIntent()));
    const given = answer as Exclude<Answer, string>;
    expect([response.status, response.tries, await response.text()]).toEqual([given.status, 1, given.body ?? '']);
    expect(server.seen).toHaveLength(1);
  });

  it('I10 a try without an answer ends, and the key is sent again', async () => {
    await using server = await scripted('hang');
    const { send, settled } = quickClient();
    const response = await settled(send(server.url, post(), newIntent()), { server });
    expect([response.status, response.tries]).toEqual([201, 2]);
    expect(server.seen[0]?.headers['idempotency-key']).toBe(server.seen[1]?.headers['idempotency-key']);
  });
});

describe('when the next try is made', () => {
  it('I10 no sooner than Retry-After says, in seconds or as a date by the clock of the server', async () => {
    const date = (ms: number): string => new Date(ms).toUTCString();
    await using server = await scripted(
      { status: 503, headers: { 'retry-after': '7' } },
      { status: 503, headers: { date: date(0), 'retry-after': date(9_000) } },
      { status: 503, headers: { date: date(9_000), 'retry-after': date(0) } },
    );
    const { send, settled, pauses } = quickClient();
    await settled(send(server.url, post(), newIntent()));
    expect(pauses.map((ms) => Math.floor(ms / 1_000))).toEqual([7, 9, 0]);
  });

  it('I10 with growing, jittered pauses otherwise', async () => {
    await using server = await scripted('drop', 'drop', 'drop', 'drop', 'drop', 'drop', 'drop', 'drop');
    const { send, settled, pauses } = quickClient();
    await settled(send(server.url, post(), newIntent()));
    expect(pauses).toHaveLength(8);
    pauses.forEach((ms, n) => {
      const step = Math.min(10_000, 250 * 2 ** n);
      expect(ms).toBeGreaterThanOrEqual(step / 2);
      expect(ms).toBeLessThanOrEqual(step);
    });
    expect(new Set(pauses.map((ms, n) => ms / Math.min(10_000, 250 * 2 ** n))).size).toBeGreaterThan(1);
  });
});

describe('how it ends', () => {
  it('I12 an answer that is not handed out holds no connection', async () => {
    const closed: Promise<unknown>[] = [];
    await using server = await listen((request, response) => {
      request.resume();
      closed.push(new Promise((resolve) => response.once('close', resolve)));
      if (closed.length === 1) response.writeHead(503).write('this never ends');
      else response.end('done');
    });
    const { send, settled } = quickClient();
    const response = await settled(send(server.url, post(), newIntent()));
    expect([await response.text(), response.tries]).toEqual(['done', 2]);
    await Promise.all(closed);
  });

  it('also where a fetch hands out one response twice', async () => {
    await using server = await scripted();
    const one = fetch(server.url);
    const send = idempotentFetch({ fetch: () => one });
    expect((await send(server.url, post(), newIntent())).intent).toBeDefined();
    expect((await send(server.url)).intent).toBeUndefined();
  });

  it('I10 after maxRetries with the last answer, whole, or the last error of fetch', async () => {
    await using server = await scripted({ status: 503, body: 'one' }, { status: 503, body: 'two' }, 'drop', 'drop');
    const { send, settled } = quickClient({ maxRetries: 1 });
    const response = await settled(send(server.url, post(), newIntent()));
    expect([response.status, await response.text(), response.tries]).toEqual([503, 'two', 2]);
    await expect(settled(send(server.url, post(), newIntent()))).rejects.toThrow('fetch failed');
    expect(server.seen).toHaveLength(4);
  });

  it('I10 when the next try would begin after maxElapsedMs', async () => {
    await using server = await scripted({ status: 503, headers: { 'retry-after': '4' } }, { status: 503, headers: { 'retry-after': '7' } });
    const { send, settled, pauses } = quickClient({ maxElapsedMs: 10_000 });
    const response = await settled(send(server.url, post(), newIntent()));
    expect([response.status, response.tries, pauses.length]).toEqual([503, 2, 1]);
  });

  it('I8 a last try without an answer is said to be in doubt', async () => {
    await using server = await scripted('hang');
    const { send, settled } = quickClient({ maxRetries: 0 });
    await expect(settled(send(server.url, post(), newIntent()), { server })).rejects.toMatchObject({ code: 'WRITE_UNKNOWN', retryable: true });
  });

  it('I12 at once when the signal aborts: before, during a try, during a pause', async () => {
    await using server = await scripted('hang', { status: 503 });
    const { send, settled, clock } = quickClient();
    const reason = new Error('enough');
    await expect(send(server.url, { ...post(), signal: AbortSignal.abort(reason) }, newIntent())).rejects.toBe(reason);
    expect(server.seen).toHaveLength(0);

    const during = new AbortController();
    const sent = send(server.url, { ...post(), signal: during.signal }, newIntent());
    while (server.hanging === 0) await new Promise((resolve) => setImmediate(resolve));
    during.abort(reason);
    await expect(sent).rejects.toBe(reason);

    const pausing = new AbortController();
    const onPause = (): 'stay' => {
      pausing.abort(reason);
      return 'stay';
    };
    const request = new Request(server.url, { ...post(), signal: pausing.signal });
    await expect(settled(send(request, undefined, newIntent()), { onPause })).rejects.toBe(reason);
    expect([server.seen.length, clock.pendingTimers()]).toEqual([2, 0]);
  });

  it('I3 an intent that is older than the server remembers is not sent, nor tried again', async () => {
    await using server = await scripted({ status: 503, headers: { 'retry-after': '60' } });
    const { send, settled, clock } = quickClient({ keyLifetimeMs: 100_000, maxElapsedMs: 1_000_000 });
    const intent = newIntent({ system: clock });
    await clock.advance(50_000);
    expect((await settled(send(server.url, post(), intent))).status).toBe(503);
    await clock.advance(50_000);
    await expect(send(server.url, post(), intent)).rejects.toMatchObject({ code: 'BLOCKED', retryable: false });
    expect(server.seen).toHaveLength(1);
  });

  it('the time of one try is bounded by what is left of all', async () => {
    await using server = await scripted('hang');
    const { send, clock } = quickClient({ maxElapsedMs: 1_000, tryTimeoutMs: TRY_MS });
    const sent = send(server.url, post(), newIntent());
    while (server.hanging === 0) await new Promise((resolve) => setImmediate(resolve));
    const refused = expect(sent).rejects.toMatchObject({ code: 'WRITE_UNKNOWN' });
    await clock.advance(1_000);
    await refused;
  });
});
