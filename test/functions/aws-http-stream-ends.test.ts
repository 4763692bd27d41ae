import { createReadStream } from 'node:fs';
import { PassThrough, Readable, Writable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { idempotentHttp, type LambdaStreamOptions, type StreamedAnswer, type StreamingEvent } from '../../src/adapters/aws-lambda/index.ts';
import { memoryStore, type RecordStore } from '../../src/index.ts';
import { gate, httpApiEvent, lambdaContext } from '../support/aws-events.ts';
import { awslambda, invokeStreaming } from '../support/awslambda.ts';

const event = httpApiEvent({ headers: { 'Idempotency-Key': '"8e03978e-40d5-43dd-bc93-6894a57f9324"' } });
const context = lambdaContext();
const RECORDED = { recordUpTo: 100_000 };
const options = (streams: LambdaStreamOptions<StreamingEvent>['streams'] = 'pass') => ({
  store: memoryStore(),
  operation: 'reports/make',
  scope: 'public' as const,
  streams,
});
/** A time limit that comes. */
const ending = (ms: number) => {
  const endsAt = performance.now() + ms;
  return lambdaContext(() => endsAt - performance.now());
};

/** Notices when nobody will read any more. */
function watched(chunks: () => AsyncGenerator<string>): { readonly body: AsyncIterable<string>; readonly closed: Promise<void> } {
  const closing = gate();
  const body = (async function* () {
    try {
      yield* chunks();
    } finally {
      closing.open();
    }
  })();
  return { body, closed: closing.opened };
}

beforeEach(() => void vi.stubGlobal('awslambda', awslambda));
afterEach(() => void vi.unstubAllGlobals());

describe('a stream that fails', () => {
  const boom = new RangeError('half way');
  async function* failing(): AsyncGenerator<string> {
    yield 'half';
    throw boom;
  }

  it('I1 I3 in the middle: the client is told, the error is the very one, and the work is not done again', async () => {
    let runs = 0;
    const handler = idempotentHttp(options(), async () => ({ statusCode: 200 + runs++, body: failing() }));
    const first = await invokeStreaming(handler, event, context);
    expect(first).toMatchObject({ prelude: { statusCode: 200 }, body: Buffer.from('half'), errorType: 'RangeError' });
    expect(first.thrown).toBe(boom);
    expect((await invokeStreaming(handler, event, context)).prelude).toMatchObject({ statusCode: 409 });
    expect(runs).toBe(1);
  });

  it('I3 while it is read for the record: half of it is never a record, nothing goes out, and the work is not done again', async () => {
    let runs = 0;
    const store = memoryStore();
    const handler = idempotentHttp({ ...options(RECORDED), store }, async () => ({ statusCode: 200 + runs++, body: failing() }));
    const first = await invokeStreaming(handler, event, context);
    expect([first.prelude, first.body.byteLength, first.thrown, first.errorType]).toEqual([undefined, 0, boom, 'RangeError']);
    for await (const { record } of store.list({})) expect(record).toMatchObject({ state: 'completed', outcome: { kind: 'not-stored' } });
    expect((await invokeStreaming(handler, event, context)).prelude).toMatchObject({ statusCode: 409 });
    expect(runs).toBe(1);
  });

  it('I12 before anybody reads it: it does not end the process', async () => {
    const failed = gate();
    const file = createReadStream('/nowhere/at/all').once('close', failed.open);
    const store = memoryStore();
    // The record is not complete before the stream has failed.
    const slow: RecordStore = {
      ...store,
      async replace(id, record, version, call) {
        await failed.opened;
        return store.replace(id, record, version, call);
      },
    };
    const handler = idempotentHttp({ ...options(), store: slow }, async () => ({ statusCode: 200, body: file }));
    expect((await invokeStreaming(handler, event, context)).thrown).toMatchObject({ code: 'ENOENT' });
  });

  it.each<[string, () => unknown]>([
    ['that was closed', () => new PassThrough().destroy()],
    ['that was read', () => Readable.from([]).resume().destroy()],
  ])('a stream %s breaks off', async (_, make) => {
    const handler = idempotentHttp(options(), async () => ({ statusCode: 200, body: make() as Readable }));
    const { thrown, errorType } = await invokeStreaming(handler, event, context);
    expect(thrown).toBeInstanceOf(Error);
    expect(errorType).toBeDefined();
  });

  it.each([[undefined], ['text'], [{ body: 'no status' }], [{ statusCode: 99 }], [{ statusCode: 200, body: 5 }]])(
    'I1 a malformed answer (%j) is an error of the handler, and is not run again',
    async (returned) => {
      let runs = 0;
      const handler = idempotentHttp(options(), async () => {
        runs += 1;
        return returned as never;
      });
      expect((await invokeStreaming(handler, event, context)).thrown).toBeInstanceOf(TypeError);
      expect((await invokeStreaming(handler, event, context)).prelude).toMatchObject({ statusCode: 409 });
      expect(runs).toBe(1);
    },
  );

  it('I12 a stream that is returned alone is malformed, and is closed', async () => {
    const alone = new PassThrough();
    const handler = idempotentHttp(options(), async () => alone as never as StreamedAnswer);
    expect((await invokeStreaming(handler, event, context)).thrown).toMatchObject({ message: expect.stringMatching('a statusCode') });
    expect(alone.destroyed).toBe(true);
  });
});

describe('a client that is slow, or has gone', () => {
  it('a stream is read no faster than it is taken', async () => {
    const CHUNKS = 200;
    let made = 0;
    const paused = gate();
    async function* chunks(): AsyncGenerator<Buffer> {
      for (; made < CHUNKS; made += 1) {
        if (made === 100) paused.open();
        yield Buffer.alloc(65_536);
      }
    }
    const handler = idempotentHttp(options(), async () => ({ statusCode: 200, body: chunks() }));
    let madeWhilePaused = 0;
    const answer = await invokeStreaming(handler, event, context, (taken) => {
      taken.pause();
      // As long as it takes to make a hundred chunks, or to find that they are not made.
      void Promise.race([paused.opened, new Promise((resolve) => setTimeout(resolve, 300))]).then(() => {
        madeWhilePaused = made;
        taken.resume();
      });
    });
    expect(madeWhilePaused).toBeLessThan(100);
    expect([answer.body.byteLength, answer.whole]).toEqual([CHUNKS * 65_536, true]);
  });

  it('I12 when the connection breaks, the handler ends and closes the stream', async () => {
    const endless = watched(async function* () {
      for (;;) yield 'x'.repeat(65_536);
    });
    const handler = idempotentHttp(options(), async () => ({ statusCode: 200, body: endless.body }));
    const { thrown, whole } = await invokeStreaming(handler, event, context, (taken) => void taken.once('data', () => taken.destroy()));
    expect([thrown, whole]).toMatchObject([{ code: expect.stringMatching(/ECONNRESET|EPIPE/) }, false]);
    await endless.closed;
    expect((await invokeStreaming(handler, event, context)).prelude).toMatchObject({ statusCode: 409 });
  });

  it('I12 a response stream that is closed without a word ends the handler', async () => {
    const stream = new PassThrough({ highWaterMark: 1 });
    const body = new PassThrough();
    body.write('never taken');
    const handler = idempotentHttp(options(), async () => ({ statusCode: 200, body }));
    setImmediate(() => setImmediate(() => stream.destroy()));
    await expect(handler(event, stream, context)).rejects.toThrow('The response stream was closed');
    expect(body.destroyed).toBe(true);
  });

  it('I12 a response stream that was given up may fail later: that does not end the process, and nobody waits for it any more', async () => {
    const ends: Record<string, (stream: Writable) => void> = {
      'it fails': (stream) => stream.destroy(new Error('EPIPE')),
      'it is closed': (stream) => stream.destroy(),
      'the time is over': () => {},
    };
    for (const end of Object.values(ends)) {
      const body = new PassThrough();
      let chunks = 0;
      const stream = new Writable({
        highWaterMark: 1,
        write(_chunk, _encoding, done) {
          // Of the body, the second one is never taken.
          if (++chunks < 4) done();
          else setImmediate(end, stream);
        },
      });
      const handler = idempotentHttp({ ...options(), deadlineMarginMs: 900 }, async () => ({ statusCode: 200, body }));
      const ended = handler(event, stream, ending(1_000));
      for (let chunk = 0; chunk < 3; chunk += 1) body.write('x');
      await expect(ended).rejects.toThrow();
      expect([stream.listenerCount('drain'), stream.listenerCount('close')]).toEqual([0, 0]);
      stream.emit('error', new Error('ECONNRESET'));
    }
  });

  it('I12 a response stream that was closed while the handler worked is not written to', async () => {
    const stream = new PassThrough();
    const body = new PassThrough();
    const handler = idempotentHttp(options(), async () => {
      stream.destroy();
      return { statusCode: 200, body };
    });
    await expect(handler(event, stream, context)).rejects.toThrow('What was done is done, and recorded');
    expect(body.destroyed).toBe(true);
  });
});

describe('a stream that ends as it should', () => {
  it.each([
    ['pass', 'POST', 'pass'],
    ['recordUpTo, unguarded', 'GET', RECORDED],
    ['recordUpTo, and longer', 'POST', { recordUpTo: 1 }],
  ] as const)('goes out as it comes: %s', async (_, method, streams) => {
    const seen = gate();
    async function* chunks(): AsyncGenerator<string> {
      yield 'first';
      await seen.opened;
      yield ', second';
    }
    const handler = idempotentHttp(options(streams), async () => ({ statusCode: 200, body: chunks() }));
    const requestContext = { ...event.requestContext, http: { ...event.requestContext.http, method } };
    const { body } = await invokeStreaming(handler, { ...event, requestContext }, context, (taken) => {
      taken.on('data', (chunk: Buffer) => {
        if (chunk.includes('first')) seen.open();
      });
    });
    expect(body.toString()).toBe('first, second');
  });

  it('ends well on a response stream that closes as soon as it is finished', async () => {
    const stream = new Writable({ write: (_chunk, _encoding, done) => done() });
    stream.once('finish', () => stream.emit('close'));
    const handler = idempotentHttp(options(), async () => ({ statusCode: 200, body: Readable.from(['a']) }));
    expect(await handler(event, stream, context)).toBeUndefined();
  });

  it('I12 leaves nothing behind on the response stream, and no listener on the invocation', async () => {
    const stream = new PassThrough().resume();
    const before = [stream.listenerCount('error'), stream.listenerCount('close')];
    const handler = idempotentHttp(options(), async () => ({ statusCode: 200, body: Readable.from(['a']) }));
    await handler(event, stream, context);
    expect([stream.listenerCount('error'), stream.listenerCount('close')]).toEqual(before);
    expect(stream.writableFinished).toBe(true);
  });
});

describe('a stream and the time limit', () => {
  const LIMITS = { deadlineMarginMs: 1_000 };

  it('I12 a stream that goes on is stopped and closed in time, and the client is told', async () => {
    const ticking = watched(async function* () {
      for (;;) {
        yield 'tick';
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    });
    const handler = idempotentHttp({ ...options(), ...LIMITS }, async () => ({ statusCode: 200, body: ticking.body }));
    const near = ending(1_500);
    const { thrown, body } = await invokeStreaming(handler, event, near);
    expect(near.getRemainingTimeInMillis()).toBeGreaterThan(0);
    expect(thrown).toMatchObject({ name: 'TimeoutError' });
    expect(body.toString()).toMatch(/^tick/);
    await ticking.closed;
  });

  it('I12 also one whose source does not listen', async () => {
    async function* stuck(): AsyncGenerator<string> {
      yield 'first';
      await new Promise(() => {});
    }
    const handler = idempotentHttp({ ...options(), ...LIMITS }, async () => ({ statusCode: 200, body: stuck() }));
    const { thrown, body } = await invokeStreaming(handler, event, ending(1_500));
    expect([thrown, body.toString()]).toMatchObject([{ name: 'TimeoutError' }, 'first']);
  });

  it('I3 reading for the record stops in time to complete the record without it', async () => {
    let runs = 0;
    async function* stuck(): AsyncGenerator<string> {
      yield 'first';
      await new Promise(() => {});
    }
    const handler = idempotentHttp({ ...options(RECORDED), ...LIMITS }, async () => ({ statusCode: 200 + runs++, body: stuck() }));
    const near = ending(1_500);
    const { thrown, prelude } = await invokeStreaming(handler, event, near);
    expect(near.getRemainingTimeInMillis()).toBeGreaterThan(0);
    expect([thrown, prelude]).toMatchObject([{ name: 'TimeoutError' }, undefined]);
    expect((await invokeStreaming(handler, event, context)).prelude).toMatchObject({ statusCode: 409 });
    expect(runs).toBe(1);
  });

  it('what the handler returns in the last moment still goes out', async () => {
    const handler = idempotentHttp({ ...options(RECORDED), ...LIMITS }, async (_event, _context, run) => {
      await new Promise((resolve) => run.signal.addEventListener('abort', resolve));
      return { statusCode: 200, body: Readable.from(['late']) };
    });
    const { body, thrown } = await invokeStreaming(handler, event, ending(1_500));
    expect([body.toString(), thrown]).toEqual(['late', undefined]);
    // Reading it might have lasted until the end of the sandbox, and the work would be done again.
    expect((await invokeStreaming(handler, event, context)).prelude).toMatchObject({ statusCode: 409 });
  });
});
