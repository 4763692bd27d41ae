import { describe, expect, it } from 'vitest';
import { bindHttp, guardHttp, type HttpHandle, type HttpOptions, type HttpReply, type HttpRequestView } from '../../../src/http/guard-http.ts';
import { MISCONFIGURED, PROBLEMS } from '../../../src/http/problem.ts';
import { memoryStore, type RecordStore, RerunSafeError, type Run } from '../../../src/index.ts';
import { headerOf, problemOf, reply, type SentRequest, textOf, view } from './exchange.ts';

type Options = Partial<HttpOptions<HttpRequestView>>;
type Send = (request?: SentRequest, handle?: HttpHandle) => Promise<HttpReply>;

const KEY = 'key-of-a-client-4711';
const done: HttpHandle = async () => reply(201, 'done');
const down = (code: 'STORE_UNAVAILABLE' | 'STORE_MISCONFIGURED' | 'WRITE_UNKNOWN') => (): Promise<never> =>
  Promise.reject(new RerunSafeError(code, `table of ${KEY}`));
const failing = (methods: Partial<RecordStore>): Options => ({ store: { ...memoryStore(), ...methods }, leaseMs: 200, renew: 'none' });

/** How each refusal comes about; the last request is the one that is refused. */
const CASES: Record<string, { readonly options?: Options; readonly provoke: (send: Send) => Promise<HttpReply> }> = {
  'key-missing': { provoke: (send) => send({ headers: { 'idempotency-key': 'undefined' } }) },
  'key-malformed': { provoke: (send) => send({ headers: { 'idempotency-key': `${KEY}, ${KEY}` } }) },
  'key-expired': { provoke: (send) => send({ headers: { 'idempotency-key': '017f22e2-79b0-7cc3-98c4-dc0c0c07398f' } }) },
  'scope-missing': { options: { scope: () => undefined }, provoke: (send) => send() },
  'body-too-large': { options: { maxBodyBytes: 1 }, provoke: (send) => send({ body: '12' }) },
  'replay-refused': {
    options: { authorizeReplay: () => false },
    async provoke(send) {
      await send();
      return send();
    },
  },
  'key-reused': {
    async provoke(send) {
      await send({ body: 'one' });
      return send({ body: 'two' });
    },
  },
  'in-flight': {
    async provoke(send) {
      let second: HttpReply | undefined;
      await send({}, async () => {
        second = await send();
        return reply(201);
      });
      return second as HttpReply;
    },
  },
  blocked: {
    options: { onUnknown: 'block' },
    async provoke(send) {
      await send({}, async () => reply(504));
      return send();
    },
  },
  'result-not-stored': {
    async provoke(send) {
      await send({}, async () => ({ ...reply(200), streamed: true }));
      return send();
    },
  },
  'lease-lost': {
    options: { leaseMs: 100, renew: 'none' },
    provoke: (send) =>
      send({}, async (run) => {
        await new Promise((resolve) => run.signal.addEventListener('abort', resolve));
        run.assertHeld();
        return reply(200);
      }),
  },
  'store-unavailable': { options: failing({ create: down('STORE_UNAVAILABLE') }), provoke: (send) => send() },
  'write-unknown': { options: failing({ create: down('WRITE_UNKNOWN'), read: down('STORE_UNAVAILABLE') }), provoke: (send) => send() },
  misconfigured: { options: failing({ create: down('STORE_MISCONFIGURED') }), provoke: (send) => send() },
};

const send =
  (options: Options): Send =>
  (request = {}, handle = done) => {
    const bound = bindOnce(options);
    const seen = view({ ...request, headers: { 'idempotency-key': KEY, ...request.headers } });
    return guardHttp(bound, seen, seen, {}, handle);
  };
const bounds = new WeakMap<Options, ReturnType<typeof bindHttp<HttpRequestView>>>();
function bindOnce(options: Options) {
  const bound =
    bounds.get(options) ?? bindHttp<HttpRequestView>('test', { store: memoryStore(), operation: 'payments/charge', scope: 'public', ...options });
  bounds.set(options, bound);
  return bound;
}

const published = [...Object.values(PROBLEMS), MISCONFIGURED];

describe('a refusal', () => {
  it.each(published.map((problem) => [problem.type, problem] as const))('I8 of type %s is what was published', async (type, problem) => {
    const { options = {}, provoke } = CASES[type] ?? { provoke: () => Promise.reject(new Error('nothing provokes it')) };
    const answer = await provoke(send({ ...options }));
    const { status, title, detail, again } = problem;
    expect([answer.status, headerOf(answer, 'content-type')]).toEqual([status, 'application/problem+json']);
    expect(problemOf(answer)).toEqual({ type: `urn:rerunsafe:problem:${type}`, status, title, detail, code: expect.stringMatching(/^[A-Z_]+$/) });
    expect(headerOf(answer, 'retry-after')).toEqual(again ? expect.stringMatching(/^[1-9]\d*$/) : undefined);
    expect(textOf(answer), 'the key, or what the store said').not.toContain(KEY);
  });
});

describe('the order of the checks', () => {
  // Each request has all the faults from its own on: the first one is what it hears of.
  const faults: [type: string, options: Options, request: SentRequest][] = [
    ['key-malformed', { scope: () => undefined, maxBodyBytes: 1 }, { headers: { 'idempotency-key': '"' }, body: 'two' }],
    ['scope-missing', { scope: () => undefined, maxBodyBytes: 1 }, { body: 'two' }],
    ['body-too-large', { maxBodyBytes: 1 }, { body: 'two' }],
    ['key-reused', { authorizeReplay: () => false }, { body: 'two' }],
    ['replay-refused', { authorizeReplay: () => false }, { body: '1' }],
  ];
  it.each(faults)('%s', async (type, options, request) => {
    const store = memoryStore();
    await send({ store })({ body: '1' });
    expect(problemOf(await send({ store, ...options })(request)).type).toBe(`urn:rerunsafe:problem:${type}`);
  });
});

describe('a request', () => {
  it.each([
    ['GET', false],
    ['HEAD', false],
    ['OPTIONS', false],
    ['PUT', false],
    ['DELETE', false],
    ['POST', true],
    ['PATCH', true],
  ])('I1 with the method %s is guarded: %s', async (method, guarded) => {
    const tokens: unknown[] = [];
    const handle: HttpHandle = async (run) => {
      tokens.push((run as Run).token);
      return reply(200);
    };
    const options = {};
    for (let time = 0; time < 2; time += 1) await send(options)({ method }, handle);
    expect(tokens).toEqual(guarded ? [expect.any(Number)] : [undefined, undefined]);
  });

  it('I1 of another operation has nothing to do with this one, whatever its key', async () => {
    const store = memoryStore();
    const answers = [];
    for (const operation of ['payments/charge', 'payments/refund']) answers.push(await send({ store, operation })());
    expect(answers.map((answer) => headerOf(answer, 'idempotent-replayed'))).toEqual([undefined, undefined]);
  });
});

describe('a replay', () => {
  const never = ['Set-Cookie', 'Authorization', 'Authentication-Info', 'WWW-Authenticate', 'Proxy-Authenticate', 'Proxy-Anything', 'Content-Length'];
  const ofOneExchange = ['Access-Control-Allow-Origin', 'Access-Control-Expose-Headers', 'Content-Security-Policy', 'Connection', 'Keep-Alive', 'TE'];
  const more = ['Trailer', 'Transfer-Encoding', 'Upgrade', 'Date', 'Age', 'Server', 'Server-Timing', 'Traceparent', 'Tracestate', 'X-Request-Id'];
  it.each([...never, ...ofOneExchange, ...more, 'X-Of-The-Handler'])('I2 never carries %s', async (name) => {
    const options = {};
    const first = await send(options)({}, async () => reply(201, 'b', [[name, 'x']]));
    expect(headerOf(first, name.toLowerCase())).toBe('x');
    expect((await send(options)()).headers).toEqual([['Idempotent-Replayed', 'true']]);
    if (name !== 'X-Of-The-Handler') expect(() => send({ storeHeaders: [name] })()).toThrow('never stored');
  });

  it.each([
    'Content-Type',
    'Content-Language',
    'Content-Encoding',
    'Content-Disposition',
    'Location',
    'ETag',
    'Last-Modified',
    'Link',
    'Retry-After',
  ])('I2 carries %s', async (name) => {
    const options = {};
    await send(options)({}, async () => reply(201, 'b', [[name, 'x']]));
    expect(headerOf(await send(options)(), name.toLowerCase())).toBe('x');
  });
});
