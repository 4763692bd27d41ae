/**
 * Our words on the error stream, which never wait for their reader: while a command runs under a lease, nothing may hold up its renewal.
 *
 * @module
 */
import { constants, fstatSync, openSync, writeSync } from 'node:fs';

const AGAIN_MS = 20;

let stream: number | undefined;
let pending: Buffer = Buffer.alloc(0);

/**
 * Not by `process.stderr`: that makes a pipe non-blocking which the command shares, and whose writes would then fail. What its reader does not take at once is
 * tried again, as long as the process lives. A reader that has gone is no failure.
 */
export function writeStderr(text: string): void {
  const wasEmpty = pending.length === 0;
  pending = Buffer.concat([pending, Buffer.from(text)]);
  if (wasEmpty) flush();
}

function flush(): void {
  stream ??= ownStream();
  try {
    while (pending.length > 0) pending = pending.subarray(writeSync(stream, pending));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EAGAIN') setTimeout(flush, AGAIN_MS);
    else pending = Buffer.alloc(0);
  }
}

/**
 * The same pipe or terminal, opened once more: whether it blocks is then a matter of this descriptor alone. Not of a socket, and on Linux only. Nor of a
 * file, which never blocks, and whose place to write at is shared by all who write there.
 */
function ownStream(): number {
  try {
    if (fstatSync(2).isFile()) return 2;
    return openSync('/proc/self/fd/2', constants.O_WRONLY | constants.O_APPEND | constants.O_NONBLOCK);
  } catch {
    return 2;
  }
}
