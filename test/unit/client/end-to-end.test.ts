import { describe, expect, it } from 'vitest';
import { type Intent, intentFrom, newIntent } from '../../../src/adapters/client/index.ts';
import { bindHttp, guardHttp, type HttpOptions, type HttpReply } from '../../../src/http/guard-http.ts';
import { memoryStore } from '../../../src/index.ts';
import { reply } from '../http/exchange.ts';
import { type Listening, listen, post, quickClient } from './server.ts';

interface Shop extends Listening {
  charges: number;
  /** How many answers are still to be lost after the work was done. */
  lose: number;
}

/** The tiniest service that guards its one operation. */
async function shop(charge: () => HttpReply | Promise<HttpReply>, options: Partial<HttpOptions<unknown>> = {}): Promise<Shop> {
  const bound = bindHttp<unknown>('shop', { store: memoryStore(), operation: 'shop/charge', scope: 'public', ...options });
  const facts = { charges: 0, lose: 0 };
  const listening = await listen(async (request, response) => {
    const { pathname, search } = new URL(request.url ?? '/', 'http://shop');
    const view = {
      method: request.method ?? '',
      path: pathname,
      query: search.slice(1),
      header: (name: string) => request.headers[name.toLowerCase()]?.toString(),
      body: Buffer.concat(await request.toArray()),
    };
    const guarded = guardHttp(bound, request, view, {}, async () => {
      facts.charges += 1;
      return charge();
    });
    // As every host does for a handler that throws.
    const { status, headers, body } = await guarded.catch(() => reply(500));
    if (facts.lose > 0) {
      facts.lose -= 1;
      request.socket.destroy();
      return;
    }
    response.writeHead(status, headers.flat()).end(body);
  });
  return Object.assign(facts, listening);
}

function resolvable(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve = (): void => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

const copyOf = (intent: Intent): Intent => intentFrom(JSON.parse(JSON.stringify(intent)));

describe('the client against a guarded service', () => {
  it('I1 I2 I3 answers that were lost are replayed: one charge', async () => {
    await using service = await shop(() => reply(201, 'receipt 1', [['location', '/charges/1']]));
    service.lose = 2;
    const { send, settled } = quickClient();
    const response = await settled(send(service.url, post(), newIntent()));
    expect([response.status, await response.text(), response.headers.get('location'), response.replayed, response.tries]).toEqual([
      201,
      'receipt 1',
      '/charges/1',
      true,
      3,
    ]);
    expect(service.charges).toBe(1);
  });

  it('I2 whoever comes while it is still going on comes back for the same reply', async () => {
    const gate = resolvable();
    const began = resolvable();
    await using service = await shop(async () => {
      began.resolve();
      await gate.promise;
      return reply(201, 'receipt 1');
    });
    const [one, other] = [quickClient(), quickClient()];
    const intent = newIntent();
    const first = one.send(service.url, post(), intent);
    await began.promise;
    let firstText: string | undefined;
    const second = await other.settled(other.send(service.url, post(), copyOf(intent)), {
      onPause: async () => {
        gate.resolve();
        firstText ??= await (await first).text();
      },
    });
    expect([firstText, await second.text(), second.replayed, second.tries, other.pauses.length]).toEqual(['receipt 1', 'receipt 1', true, 2, 1]);
    expect(other.pauses[0]).toBeGreaterThanOrEqual(1_000);
    expect(service.charges).toBe(1);
  });

  it('I9 a key that another process used for another payload is refused by the service, once', async () => {
    await using service = await shop(() => reply(201));
    const { send, settled } = quickClient();
    const unbound = newIntent().toJSON();
    await settled(send(service.url, post('{"amount":5}'), intentFrom(unbound)));
    const refused = await settled(send(service.url, post('{"amount":6}'), intentFrom(unbound)));
    expect([refused.status, refused.tries, service.charges]).toEqual([422, 1, 1]);
  });

  it('I8 what a person has to look at is handed out, not tried again', async () => {
    await using lost = await shop(
      () => {
        throw new Error('the provider timed out');
      },
      { onUnknown: 'block', onThrow: () => 'unknown' },
    );
    await using streamed = await shop(() => ({ ...reply(200), streamed: true }));
    const { send, settled } = quickClient();
    for (const [service, first, type] of [
      // 500, and then the service says what it is.
      [lost, 409, 'blocked'],
      [streamed, 200, 'result-not-stored'],
    ] as const) {
      const intent = newIntent();
      expect((await settled(send(service.url, post(), intent))).status).toBe(first);
      const refused = await settled(send(service.url, post(), intent));
      expect([refused.status, refused.tries, service.charges, await refused.json()]).toEqual([
        409,
        1,
        1,
        expect.objectContaining({ type: `urn:rerunsafe:problem:${type}` }),
      ]);
    }
  });
});
