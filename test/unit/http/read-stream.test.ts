import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { readUpTo, type Streamed } from '../../../src/http/read-stream.ts';

const bytes = (...values: number[]): Uint8Array => Uint8Array.from(values);
const textOf = async (stream: Readable): Promise<string> => Buffer.concat(await stream.toArray()).toString();

async function* several(...chunks: (Uint8Array | string)[]): AsyncGenerator<Uint8Array | string> {
  yield* chunks;
}

/** One byte of memory for everything. */
async function* refilled(view: (memory: ArrayBuffer) => unknown): AsyncGenerator<unknown> {
  const memory = new ArrayBuffer(1);
  for (const letter of 'abcd') {
    new Uint8Array(memory)[0] = letter.charCodeAt(0);
    yield view(memory);
  }
}

describe('a stream read up to a limit', () => {
  const ends: Record<string, () => Streamed> = {
    'a Readable': () => Readable.from([Buffer.from('ab'), Buffer.from('cd')]),
    'a web stream': () => new Blob(['abcd']).stream() as unknown as Streamed,
    'a reader and nothing else': () => {
      const stream = new Blob(['abcd']).stream();
      return { getReader: () => stream.getReader() } as unknown as Streamed;
    },
    'an iterable': () => several('ab', Buffer.from('cd')),
  };
  it.each(Object.entries(ends))('I2 %s: whole within the limit, whole beyond it', async (_, make) => {
    const within = await readUpTo(make(), 4);
    expect(within.kind === 'ended' && Buffer.from(within.body).toString()).toBe('abcd');
    const beyond = await readUpTo(make(), 3);
    expect(beyond.kind === 'longer' && (await textOf(beyond.whole))).toBe('abcd');
  });

  it('I2 an empty stream is an empty body', async () => {
    expect(await readUpTo(several(), 1)).toEqual({ kind: 'ended', body: Buffer.alloc(0) });
  });

  it('I2 a chunk that its producer uses again is kept as it was', async () => {
    async function* reusing() {
      const chunk = bytes(1);
      yield chunk;
      chunk[0] = 2;
      yield chunk;
    }
    const read = await readUpTo(reusing(), 10);
    expect(read.kind === 'ended' && [...read.body]).toEqual([1, 2]);
  });

  it.each([10, 3])('I2 so is a buffer that is filled again, of each kind, within a limit of 10 and beyond one of 3: %i', async (limit) => {
    for (const view of [
      (memory: ArrayBuffer) => memory,
      (memory: ArrayBuffer) => new DataView(memory),
      (memory: ArrayBuffer) => Buffer.from(memory),
    ]) {
      const read = await readUpTo(refilled(view) as Streamed, limit);
      expect(read.kind === 'ended' ? Buffer.from(read.body).toString() : await textOf(read.whole)).toBe('abcd');
    }
  });

  it.each([[{ id: 1 }], [5], [['a']], [undefined], [null], [new SharedArrayBuffer(1)]])(
    'I2 %j is no bytes: refused, never taken for nothing, and the producer is told that nobody reads on',
    async (chunk) => {
      for (const limit of [10, 0]) {
        let closed = false;
        const chunks = ['a', chunk, 'b'];
        const source = {
          next: async () => ({ done: false, value: chunks.shift() }),
          return: async () => {
            closed = true;
            return { done: true, value: undefined };
          },
        };
        const read = readUpTo({ [Symbol.asyncIterator]: () => source } as unknown as Streamed, limit);
        const whole = read.then(async (until) => (until.kind === 'longer' ? textOf(until.whole) : until.body));
        await expect(whole).rejects.toThrow(new TypeError("The handler's answer is malformed: what its stream yields must be text or bytes."));
        expect(closed).toBe(true);
      }
    },
  );

  it('I2 a reader that gives undefined has not come to its end', async () => {
    const body = new ReadableStream({
      start(controller) {
        for (const chunk of [bytes(1), undefined, bytes(2)]) controller.enqueue(chunk);
        controller.close();
      },
    });
    await expect(readUpTo({ getReader: () => body.getReader() } as unknown as Streamed, 10)).rejects.toThrow(TypeError);
  });

  it.each([
    ['in the middle', 4],
    ['before the first byte', 0],
  ])('I12 reads no further than it has to, and tells the producer when the client goes away %s', async (_, after) => {
    let made = 0;
    let close = (): void => {};
    const closed = new Promise<void>((resolve) => {
      close = resolve;
    });
    async function* endless() {
      try {
        for (;;) yield bytes(++made);
      } finally {
        close();
      }
    }
    const read = await readUpTo(endless(), 3);
    expect([read.kind, made]).toEqual(['longer', 4]);
    if (read.kind !== 'longer') return;
    if (after === 0) read.whole.destroy();
    else for await (const chunk of read.whole) if (chunk[0] === after) break;
    await closed;
  });

  it('throws what the stream throws', async () => {
    async function* broken() {
      yield bytes(1);
      throw new Error('broken');
    }
    await expect(readUpTo(broken(), 10)).rejects.toThrow('broken');
  });
});
