import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RerunSafeError } from '../../../src/core/errors.ts';
import { bindHttp, guardHttp, type HttpOptions, type HttpRequestView } from '../../../src/http/guard-http.ts';
import { aesSeal, memoryStore, type RunEvent } from '../../../src/index.ts';
import { reply, view } from './exchange.ts';

const events: RunEvent[] = [];
const listen = (event: unknown): void => void events.push(event as RunEvent);
beforeEach(() => {
  events.length = 0;
  subscribe('rerunsafe:run', listen);
});
afterEach(() => void unsubscribe('rerunsafe:run', listen));

async function send(options: Partial<HttpOptions<HttpRequestView>>): Promise<{ status: number; problems: unknown[] }> {
  const bound = bindHttp('test', { store: memoryStore(), operation: 'op', scope: 'public', ...options });
  const problems: unknown[] = [];
  const seen = view({ headers: { 'idempotency-key': 'k' } });
  const { status } = await guardHttp(bound, seen, seen, { onProblem: (error) => void problems.push(error) }, async () => reply(200, 'x'));
  return { status, problems };
}

const failing = (code: 'STORE_UNAVAILABLE' | 'STORE_MISCONFIGURED') => ({
  store: { ...memoryStore(), create: () => Promise.reject(new RerunSafeError(code, 'the table does not exist')) },
});

describe('a problem with the service', () => {
  it.each([
    ['STORE_MISCONFIGURED', 500],
    ['STORE_UNAVAILABLE', 503],
  ] as const)('I8 is told with its reason, and as an event, where the caller gets only %s', async (code, status) => {
    const answer = await send(failing(code));
    expect(answer).toEqual({ status, problems: [expect.objectContaining({ code })] });
    expect(events).toEqual([expect.objectContaining({ event: 'refused', error: answer.problems[0] })]);
  });

  it('is told for a key, a scope or a fingerprint that is none', async () => {
    for (const wrong of [{ key: () => ({}) as never }, { scope: () => ({}) as never }, { fingerprint: () => '' }]) {
      const { status, problems } = await send(wrong);
      expect([status, problems]).toEqual([500, [expect.objectContaining({ code: 'INVALID_OPTIONS' })]]);
    }
  });

  it('I8 is told of a sealed reply that does not open, and nobody says that it was replayed', async () => {
    const store = memoryStore();
    const seal = (id: string, byte: number) => ({ store, seal: aesSeal({ keys: { [id]: new Uint8Array(32).fill(byte) }, current: id }) });
    await send(seal('old', 1));
    const { status, problems } = await send(seal('new', 2));
    expect([status, problems]).toEqual([500, [expect.objectContaining({ code: 'STORE_MISCONFIGURED' })]]);
    expect(events.map(({ event }) => event)).toEqual(['claimed', 'completed', 'refused']);
  });

  it('is not told for what is wrong with a request', async () => {
    const store = memoryStore();
    await send({ store });
    const { problems } = await send({ store, fingerprint: () => 'another' });
    expect(problems).toEqual([]);
  });
});

describe('a recording that the store would never take', () => {
  it('is refused when it is built', () => {
    const store = memoryStore();
    const streams = { recordUpTo: store.limits.maxRecordBytes + 1 };
    expect(() => bindHttp('test', { store, operation: 'op', scope: 'public', streams })).toThrow(/streams.recordUpTo must be at most/);
  });
});
