/**
 * The last bytes of what went by, in memory that does not grow.
 *
 * @module
 */
import type { TailPiece } from './child.ts';

export class Tail {
  readonly #ring: Buffer;
  readonly #runs: { stream: TailPiece['stream']; length: number }[] = [];
  #next = 0;
  #kept = 0;

  constructor(limit: number) {
    this.#ring = Buffer.alloc(limit);
  }

  add(stream: TailPiece['stream'], bytes: Uint8Array): void {
    const limit = this.#ring.length;
    const last = bytes.subarray(Math.max(0, bytes.length - limit));
    if (last.length === 0) return;
    const toEnd = Math.min(last.length, limit - this.#next);
    this.#ring.set(last.subarray(0, toEnd), this.#next);
    this.#ring.set(last.subarray(toEnd), 0);
    this.#next = (this.#next + last.length) % limit;
    this.#note(stream, last.length);
  }

  pieces(): TailPiece[] {
    const limit = this.#ring.length;
    let at = (this.#next - this.#kept + limit) % (limit || 1);
    return this.#runs.map(({ stream, length }) => {
      const toEnd = Math.min(length, limit - at);
      const bytes = Buffer.concat([this.#ring.subarray(at, at + toEnd), this.#ring.subarray(0, length - toEnd)]);
      at = (at + length) % limit;
      return { stream, bytes };
    });
  }

  #note(stream: TailPiece['stream'], length: number): void {
    const before = this.#runs.at(-1);
    if (before?.stream === stream) before.length += length;
    else this.#runs.push({ stream, length });
    this.#kept += length;
    for (let over = this.#kept - this.#ring.length; over > 0; ) {
      const [oldest] = this.#runs;
      if (oldest === undefined) break;
      const cut = Math.min(over, oldest.length);
      oldest.length -= cut;
      if (oldest.length === 0) this.#runs.shift();
      over -= cut;
      this.#kept -= cut;
    }
  }
}
