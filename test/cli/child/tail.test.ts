import { describe, expect, it } from 'vitest';
import { Tail } from '../../../src/cli/child/tail.ts';

const STREAMS = ['stdout', 'stderr'] as const;

describe('X4 the tail of the output', () => {
  it('is what a list of all of it, cut at the front, would hold: any sizes, any limit', () => {
    let seed = 7;
    const next = (below: number): number => {
      seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
      return seed % below;
    };
    for (const limit of [0, 1, 2, 7, 64, 1000]) {
      const tail = new Tail(limit);
      const all: [stream: string, byte: number][] = [];
      for (let turn = 0; turn < 300; turn++) {
        const stream = STREAMS[next(2)] ?? 'stdout';
        const bytes = Uint8Array.from({ length: next(limit + 20) }, () => next(256));
        tail.add(stream, bytes);
        for (const byte of bytes) all.push([stream, byte]);
        const kept = tail.pieces().flatMap((piece) => [...piece.bytes].map((byte) => [piece.stream, byte]));
        expect(kept).toEqual(all.slice(Math.max(0, all.length - limit)));
      }
    }
  });

  it('joins what came from one stream in a row', () => {
    const tail = new Tail(10);
    for (const [stream, text] of [
      ['stdout', 'a'],
      ['stdout', 'b'],
      ['stderr', 'c'],
      ['stdout', 'd'],
    ] as const)
      tail.add(stream, Buffer.from(text));
    expect(tail.pieces().map(({ stream, bytes }) => `${stream} ${bytes}`)).toEqual(['stdout ab', 'stderr c', 'stdout d']);
  });
});
