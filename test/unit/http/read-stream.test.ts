import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { readUpTo, type Streamed } from '../../../src/http/read-stream.ts';

const bytes = (...values: number[]): Uint8Array => Uint8Array.from(values);
const textOf = async (stream: Readable): Promise<string> => Buffer.concat(await stream.toArray()).toString();

async function* several(...chunks: (Uint8Array | string)[]): AsyncGenerator<Uint8Array | string> {
  yield* chunks;
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
