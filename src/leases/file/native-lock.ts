/**
 * Locks of the kernel on open files: freed by it the moment their holder dies, however it dies.
 *
 * @module
 */
import { loadPackage } from '../../core/load-package.ts';

export interface KernelLocks {
  /** For this open file alone: a second one, in this process or another, is refused until it is unlocked or closed. */
  tryLock(fd: number): boolean;
  /** Whether another open file has it. Takes a shared lock for an instant. */
  isLocked(fd: number): boolean;
  unlock(fd: number): void;
}

interface NativeExtensions {
  tryLock(fd: number, offset: number, length: number, options?: { shared: boolean }): boolean;
  unlock(fd: number, offset: number, length: number): void;
}

/**
 * One byte far beyond the contents: on Windows nobody else could read what is locked. macOS locks whole files only, and those by agreement, so
 * that reading goes on there too.
 */
const RANGE: readonly [offset: number, length: number] = process.platform === 'darwin' ? [0, 0] : [2 ** 40, 1];

/**
 * OFD locks on Linux, flock on macOS, LockFileEx on Windows. Not the classic POSIX locks: those belong to the process, which loses them all by closing
 * any other descriptor of the file.
 *
 * @throws RerunSafeError `STORE_MISCONFIGURED` when the package is missing, or has no binary for this platform.
 */
export async function loadKernelLocks(): Promise<KernelLocks> {
  // @ts-expect-error: the package brings no types.
  const loaded = await loadPackage('fs-native-extensions', () => import('fs-native-extensions'));
  const native = (loaded.default ?? loaded) as NativeExtensions;
  const tryLock = (fd: number, shared: boolean): boolean => {
    try {
      return native.tryLock(fd, ...RANGE, { shared });
    } catch (error) {
      // What Windows calls a lock violation.
      if ((error as NodeJS.ErrnoException).code === 'EBUSY') return false;
      throw error;
    }
  };
  return {
    tryLock: (fd) => tryLock(fd, false),
    isLocked(fd) {
      if (!tryLock(fd, true)) return true;
      native.unlock(fd, ...RANGE);
      return false;
    },
    unlock: (fd) => native.unlock(fd, ...RANGE),
  };
}
