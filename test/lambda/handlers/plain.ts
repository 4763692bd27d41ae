/**
 * Handlers that know nothing of us: they show what the runtime does.
 *
 * @module
 */
import { createServer } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import type { Context } from 'aws-lambda';

if (process.env.BROKEN === '1') throw new Error('broken module');

interface Asked {
  readonly do: string;
  readonly event?: unknown;
  readonly ms?: number;
  readonly afterMs?: number;
}

let counted = 0;

const tasks: Readonly<Record<string, (asked: Asked, context: Context) => unknown>> = {
  echo: ({ event }) => event,
  nothing: () => undefined,
  bigint: () => 1n,
  function: () => () => 1,
  throw: () => {
    throw new RangeError('too far');
  },
  'throw text': () => {
    throw 'text';
  },
  context: ({ do: _, ...rest }, context) => ({ ...rest, ...context, leftMs: context.getRemainingTimeInMillis(), env: Object.keys(process.env) }),
  wait: ({ ms }) => pause(ms),
  hang: () => pause(60_000),
  spin: () => {
    for (;;);
  },
  exit: () => process.exit(3),
  reject: () => {
    void Promise.reject(new Error('stray'));
    return pause(5_000);
  },
  uncaught: () => {
    setTimeout(() => {
      throw new Error('uncaught');
    });
    return pause(5_000);
  },
  count: () => {
    setInterval(() => {
      counted += 1;
    }, 50);
  },
  counted: async ({ afterMs }) => {
    const before = counted;
    if (afterMs !== undefined) await pause(afterMs);
    return afterMs === undefined ? counted : counted - before;
  },
  'leave timer': () => {
    left = setTimeout(() => {}, 60_000);
  },
  'leave unreferenced timer': () => void setTimeout(() => {}, 60_000).unref(),
  'leave server': () => new Promise<void>((listening) => createServer().listen(0, '127.0.0.1', listening)),
  'cancel timer': () => clearTimeout(left),
};
let left: NodeJS.Timeout | undefined;

export const handler = async (asked: Asked, context: Context): Promise<unknown> => tasks[asked.do]?.(asked, context);

export const withCallback = (_event: unknown, _context: unknown, callback: () => void): void => callback();

interface Stream {
  write(chunk: string): boolean;
  end(): void;
}
declare const awslambda: {
  streamifyResponse<E>(handler: (event: E, stream: Stream) => Promise<void>): (event: E, stream: Stream) => Promise<void>;
  HttpResponseStream: { from(stream: Stream, prelude: object): Stream };
};

export const streamed = awslambda.streamifyResponse(async ({ fail }: { readonly fail?: boolean }, plain) => {
  const stream = awslambda.HttpResponseStream.from(plain, { statusCode: 201, headers: { 'x-a': 'b' } });
  stream.write('one ');
  await pause(20);
  if (fail === true) throw new Error('in the middle');
  stream.write('two');
  stream.end();
});
