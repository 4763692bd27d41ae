/**
 * Output that is read by us on its way: untouched, no faster than its reader, and ended when its reader has gone.
 *
 * @module
 */
import type { Readable, Writable } from 'node:stream';

const QUIET_MS = 50;
const ENOUGH_MS = 500;
const TICK_MS = 10;

export interface PassOn {
  /**
   * After the command's end: what it has written is on its way. A process that it left behind may hold the pipe open for ever and write for ever: only what
   * comes soon counts. For a slow reader we wait as the command itself would have, unless time `presses`.
   */
  drained(presses: () => boolean): Promise<void>;
  close(): void;
}

export function passOn(from: Readable, to: Writable, seen: (bytes: Buffer) => void): PassOn {
  let ended = false;
  let isQuiet = true;
  let isGone = false;
  const finish = (): void => {
    ended = true;
  };
  const resume = (): void => {
    from.resume();
  };
  // `| head -1`: the command is to find its pipe closed, as it would without us.
  const readerGone = (): void => {
    isGone = true;
    from.destroy();
  };
  from.on('data', (bytes: Buffer) => {
    isQuiet = false;
    seen(bytes);
    if (!to.write(bytes)) from.pause();
  });
  from.on('error', finish).on('end', finish).on('close', finish);
  to.on('drain', resume).on('error', readerGone);
  return {
    async drained(presses) {
      let quietMs = 0;
      let readMs = 0;
      while (!isGone) {
        const isStuck = to.writableLength > 0 && !(presses() && readMs >= ENOUGH_MS);
        if (!isStuck && (ended || quietMs >= QUIET_MS || readMs >= ENOUGH_MS)) return;
        await new Promise((resolve) => setTimeout(resolve, TICK_MS));
        if (isStuck && !presses()) continue;
        readMs += TICK_MS;
        quietMs = isQuiet ? quietMs + TICK_MS : 0;
        isQuiet = true;
      }
    },
    close() {
      from.destroy();
      setImmediate(() => {
        // Writes that are still under way may find later that their reader has gone: somebody must go on listening.
        if (to.writableLength > 0) to.on('error', () => {});
        to.off('drain', resume).off('error', readerGone);
      });
    },
  };
}
