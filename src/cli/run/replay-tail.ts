/**
 * What was captured of a command's output when it ran, printed again.
 *
 * @module
 */
import type { Kept } from './once.ts';

export async function replayTail(tail: NonNullable<Kept['tail']>): Promise<void> {
  for (const { stream, bytes } of tail) await written(process[stream], bytes);
}

/** A reader that has gone is no failure. */
const written = (to: NodeJS.WriteStream, bytes: Uint8Array): Promise<void> =>
  new Promise((resolve) => {
    to.once('error', () => resolve());
    to.write(bytes, () => resolve());
  });
