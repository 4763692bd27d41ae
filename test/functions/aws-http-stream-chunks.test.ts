import { Readable } from 'node:stream';
import { ReadableStream } from 'node:stream/web';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { idempotentHttp, type LambdaStreamOptions, type StreamingEvent } from '../../src/adapters/aws-lambda/index.ts';
import { memoryStore } from '../../src/index.ts';
import { httpApiEvent, lambdaContext } from '../support/aws-events.ts';
import { awslambda, invokeStreaming } from '../support/awslambda.ts';

const event = httpApiEvent({ headers: { 'Idempotency-Key': '"8e03978e-40d5-43dd-bc93-6894a57f9324"' } });
const context = lambdaContext();
const RECORDED = { recordUpTo: 100_000 };
const options = (streams: LambdaStreamOptions<StreamingEvent>['streams']) => ({
  store: memoryStore(),
  operation: 'reports/make',
  scope: 'public' as const,
  streams,
});

beforeEach(() => void vi.stubGlobal('awslambda', awslambda));
afterEach(() => void vi.unstubAllGlobals());

describe('a stream', () => {
  it.each(['pass', RECORDED, { recordUpTo: 1 }] as const)(
    'I1 I2 that yields what is no bytes, with streams %j, is malformed, and nothing of it is kept',
    async (streams) => {
      async function* yielding(chunk: unknown) {
        yield 'ab';
        yield chunk;
      }
      for (const chunk of [{ not: 'bytes' }, 5, ['a'], undefined, null, new SharedArrayBuffer(1)]) {
        for (const make of [
          yielding,
          (chunk: unknown) => ReadableStream.from(yielding(chunk)),
          (chunk: unknown) => Readable.from(['ab', chunk ?? {}]),
        ]) {
          let runs = 0;
          const handler = idempotentHttp(options(streams), async () => ({ statusCode: 200 + runs++, body: make(chunk) as Readable }));
          const { thrown, errorType } = await invokeStreaming(handler, event, context);
          expect([thrown, errorType]).toEqual([
            new TypeError("The handler's answer is malformed: what its stream yields must be text or bytes."),
            'TypeError',
          ]);
          const again = await invokeStreaming(handler, event, context);
          expect([again.prelude, JSON.parse(again.body.toString()), runs]).toMatchObject([{ statusCode: 409 }, { code: 'RESULT_NOT_STORED' }, 1]);
        }
      }
    },
  );

  it.each(['pass', RECORDED, { recordUpTo: 1 }] as const)(
    'I2 whose source fills one buffer again and again goes out as it was made, with streams %j',
    async (streams) => {
      async function* refilled() {
        const memory = new ArrayBuffer(1);
        for (const letter of 'abc') {
          new Uint8Array(memory)[0] = letter.charCodeAt(0);
          yield memory;
        }
      }
      const handler = idempotentHttp(options(streams), async () => ({ statusCode: 200, body: refilled() }));
      expect((await invokeStreaming(handler, event, context)).body.toString()).toBe('abc');
    },
  );

  it.each<[string, unknown]>([
    ['a stream', Readable.from(['aGk='])],
    ['bytes', Buffer.from('aGk=')],
  ])('I1 that is said to be base64 is malformed, and closed: %s', async (_, body) => {
    let runs = 0;
    const handler = idempotentHttp(options(RECORDED), async () => ({ statusCode: 200 + runs++, isBase64Encoded: true, body: body as Readable }));
    expect((await invokeStreaming(handler, event, context)).thrown).toMatchObject({
      message: expect.stringMatching('isBase64Encoded is for a body that is text'),
    });
    if (body instanceof Readable) expect(body.destroyed).toBe(true);
    expect((await invokeStreaming(handler, event, context)).prelude).toMatchObject({ statusCode: 409 });
    expect(runs).toBe(1);
  });
});
