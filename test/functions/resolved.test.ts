/**
 * What a person says became of a blocked run, for every kind of wrapper: in the words of its handler.
 *
 * @module
 */
import { HttpRequest, InvocationContext } from '@azure/functions';
import { describe, expect, it } from 'vitest';
import * as lambda from '../../src/adapters/aws-lambda/index.ts';
import * as azure from '../../src/adapters/azure-functions/index.ts';
import { aesSeal, memoryStore, type RecordStore, resolveRun, runOnce, type Seal } from '../../src/index.ts';
import { httpApiEvent, lambdaContext, restEvent } from '../support/aws-events.ts';

const KEY = 'order-1';
const OPERATION = 'payments/charge';
const headers = { 'idempotency-key': KEY };
const failing = () => {
  throw new Error('the provider timed out');
};

interface Kind {
  readonly said: unknown;
  readonly answered: unknown;
  readonly call: (options: { store: RecordStore; operation: string; onUnknown: 'block'; seal?: Seal }, work: () => never) => Promise<unknown>;
}

const azureQueue = () => new InvocationContext({ functionName: 'f', options: { trigger: { type: 'queueTrigger', name: 'q' } } });
const KINDS: Record<string, Kind> = {
  runOnce: { said: { id: 'ch_1' }, answered: { id: 'ch_1' }, call: (options, work) => runOnce({ ...options, key: KEY }, work) },
  'Azure idempotent': {
    said: 'receipt',
    answered: 'receipt',
    call: (options, work) => azure.idempotent({ ...options, key: () => KEY }, work)({}, azureQueue()),
  },
  'Azure idempotentHttp': {
    said: { status: 201, jsonBody: { id: 'ch_1' }, headers: { 'set-cookie': 'a=b', location: '/1' } },
    answered: {
      status: 201,
      headers: [
        ['content-type', 'application/json'],
        ['location', '/1'],
        ['Idempotent-Replayed', 'true'],
      ],
      body: new TextEncoder().encode('{"id":"ch_1"}'),
    },
    call: (options, work) =>
      azure.idempotentHttp({ ...options, scope: 'public' }, work)(
        new HttpRequest({ method: 'POST', url: 'http://localhost/', headers }),
        new InvocationContext(),
      ),
  },
  'Lambda idempotent': {
    said: { id: 'ch_1' },
    answered: { id: 'ch_1' },
    call: (options, work) => lambda.idempotent({ ...options, key: () => KEY }, work)({}, lambdaContext()),
  },
  'Lambda idempotentHttp, payload 2.0': {
    said: { statusCode: 201, body: 'paid' },
    answered: { statusCode: 201, body: 'paid', isBase64Encoded: false, headers: { 'Idempotent-Replayed': 'true' } },
    call: (options, work) => lambda.idempotentHttp({ ...options, scope: 'public' }, work)(httpApiEvent({ headers }), lambdaContext()),
  },
  'Lambda idempotentHttp, payload 1.0': {
    said: { statusCode: 201, body: 'paid' },
    answered: { statusCode: 201, body: 'paid', isBase64Encoded: false, headers: { 'Idempotent-Replayed': 'true' } },
    call: (options, work) => lambda.idempotentHttp({ ...options, scope: 'public' }, work)(restEvent({ headers }) as never, lambdaContext()),
  },
};

const blocked = async (kind: Kind, options: Parameters<Kind['call']>[0]): Promise<void> => {
  await kind.call(options, failing).catch(() => {});
  await kind.call(options, failing).catch(() => {});
};

describe.each(Object.entries(KINDS))('a run of %s that a person resolves', (name, kind) => {
  it.each(['plain', 'sealed'])('I2 I3 as done: everybody gets what the handler would have returned, and nothing runs (%s)', async (how) => {
    const seal = how === 'sealed' ? { seal: aesSeal({ keys: { a: new Uint8Array(32) }, current: 'a' }) } : {};
    const options = { store: memoryStore(), operation: OPERATION, onUnknown: 'block' as const, ...seal };
    await blocked(kind, options);
    const run = { ...options, key: KEY, ...(name.includes('Http') ? {} : {}) };
    expect(await resolveRun({ store: run.store, operation: OPERATION, key: KEY, ...seal }, { done: kind.said })).toEqual({ kind: 'written' });
    const answer = (await kind.call(options, failing)) as { body?: unknown };
    expect(answer.body instanceof Uint8Array ? { ...answer, body: Uint8Array.from(answer.body) } : answer).toEqual(kind.answered);
  });
});

describe('a person who said something that is no answer', () => {
  it('I3 is told so at the next call, and may say it again; what the work returned is never overwritten', async () => {
    const kind = KINDS['Azure idempotentHttp'] as Kind;
    const options = { store: memoryStore(), operation: OPERATION, onUnknown: 'block' as const };
    await blocked(kind, options);
    const run = { store: options.store, operation: OPERATION, key: KEY };
    await resolveRun(run, { done: { id: 'ch_1' } });
    expect(await kind.call(options, failing)).toMatchObject({ status: 500 });
    expect(await resolveRun(run, { done: kind.said })).toEqual({ kind: 'not-needed' });
    expect(await resolveRun({ ...run, force: true }, { done: kind.said })).toEqual({ kind: 'written' });
    expect(await kind.call(options, failing)).toMatchObject({ status: 201 });

    const done = { ...run, key: 'order-2' };
    await runOnce(done, () => 'its own value');
    expect(await resolveRun({ ...done, force: true }, { done: 'another' })).toEqual({ kind: 'not-needed' });
    expect(await runOnce(done, failing)).toBe('its own value');
  });
});
