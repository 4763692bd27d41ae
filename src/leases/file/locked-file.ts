/**
 * A file under the kernel's lock, and the value that it keeps.
 *
 * @module
 */
import type { FileHandle } from 'node:fs/promises';
import { storeUnavailable } from '../../core/errors.ts';
import { Serial } from '../../core/serial.ts';
import { pause, realSystem } from '../../core/system.ts';
import type { KernelLocks } from './native-lock.ts';
import { type Access, isAt, openToWrite } from './open.ts';
import { ASIDE_OFFSET, type Contents, decode, type Entry, encode, FILE_BYTES, nextSlot, SLOT_BYTES } from './slots.ts';

export class LockedFile {
  readonly path: string;
  readonly #handle: FileHandle;
  readonly #locks: KernelLocks;
  readonly #serial = new Serial();
  #standing: Entry | undefined;
  #closed: Promise<void> | undefined;

  constructor(path: string, handle: FileHandle, locks: KernelLocks) {
    this.path = path;
    this.#handle = handle;
    this.#locks = locks;
  }

  /** False: somebody deleted or replaced it. The lock holds nobody off any more. */
  async isAt(): Promise<boolean> {
    if (this.#closed !== undefined) return false;
    try {
      return await isAt(this.#handle, this.path);
    } catch (error) {
      // Given up while we looked.
      if (this.#closed !== undefined) return false;
      throw error;
    }
  }

  read(): Promise<Contents> {
    return this.#run(async () => {
      const contents = await readContents(this.#handle);
      this.#standing = contents.entry;
      return contents;
    });
  }

  /** Durable when it returns. {@link read} comes first: the slot that stands is not written over. */
  write(body: object): Promise<void> {
    return this.#run(async () => {
      const [seq, slot] = [(this.#standing?.seq ?? 0) + 1, nextSlot(this.#standing)];
      const bytes = encode(seq, body);
      await writeAll(this.#handle, bytes, slot * SLOT_BYTES);
      await this.#handle.sync();
      this.#standing = { seq, slot, body };
    });
  }

  /** What may be lost. */
  writeAside(body: object): Promise<void> {
    const bytes = encode(0, body);
    return this.#run(() => writeAll(this.#handle, bytes, ASIDE_OFFSET));
  }

  /** Frees the lock. Never rejects; again is harmless. */
  close(): Promise<void> {
    // After what is under way: a write that lands later would be one into somebody else's file.
    this.#closed ??= this.#serial.run(async () => {
      try {
        // Closing alone would leave it with a child that has been forked and has not begun its program yet.
        this.#locks.unlock(this.#handle.fd);
      } catch {
        // Closing frees it as well.
      }
      await this.#handle.close().catch(() => {});
    });
    return this.#closed;
  }

  #run<R>(task: () => Promise<R>): Promise<R> {
    if (this.#closed !== undefined) return Promise.reject(storeUnavailable('the file was closed', undefined));
    return this.#serial.run(task);
  }
}

/** Where there is hardly room left, the system writes a part and calls it a success; only going on with the rest fails. */
async function writeAll(handle: FileHandle, bytes: Buffer, offset: number): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    const { bytesWritten } = await handle.write(bytes, done, bytes.length - done, offset + done);
    if (bytesWritten === 0) throw storeUnavailable(`only ${done} of ${bytes.length} bytes were written`, undefined);
    done += bytesWritten;
  }
}

export async function readContents(handle: FileHandle): Promise<Contents> {
  const buffer = Buffer.alloc(FILE_BYTES);
  let length = 0;
  for (let more = -1; more !== 0 && length < FILE_BYTES; length += more) {
    more = (await handle.read(buffer, length, FILE_BYTES - length, length)).bytesRead;
  }
  return decode(buffer.subarray(0, length));
}

export interface LockOptions {
  readonly access: Access;
  readonly locks: KernelLocks;
  /** How long to wait for the present holder, ms. Default: only as long as somebody may be just looking. */
  readonly waitMs?: number;
  readonly signal?: AbortSignal | undefined;
}

const MOST_ROUNDS = 50;
/** `isLocked` has the lock for an instant: who looks must not make somebody's run fail. */
const LOOKS = 3;

/**
 * Opens (makes) the file and locks it. A lock on a file that is no longer at its path keeps out nobody, so that is looked at once the lock is there.
 */
export async function lockFile(path: string, { access, locks, waitMs = 0, signal }: LockOptions): Promise<LockedFile | 'held'> {
  const endsAtMs = performance.now() + waitMs;
  let looks = 0;
  for (let round = 0; round < MOST_ROUNDS; ) {
    signal?.throwIfAborted();
    const handle = await openToWrite(path, access);
    let granted = false;
    let there = false;
    try {
      granted = locks.tryLock(handle.fd);
      there = await isAt(handle, path);
    } finally {
      if (!granted || !there) await new LockedFile(path, handle, locks).close();
    }
    if (granted && there) return new LockedFile(path, handle, locks);
    if (!there) round += 1;
    else if (++looks >= LOOKS && performance.now() >= endsAtMs) return 'held';
    else await pause(realSystem, 1 + Math.min(looks, 20) * realSystem.random(), signal);
  }
  throw storeUnavailable(`${path} is deleted or replaced as often as it is opened`, undefined);
}
