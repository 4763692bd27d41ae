/**
 * Moments that another process of the same host can count from, also after the wall clock was set.
 *
 * @module
 */
import { readFile, readlink } from 'node:fs/promises';

export interface Stamp {
  /** Epoch ms, by the host's wall clock. */
  readonly wallMs: number;
  /** The kernel's monotonic clock, ms: the same for all processes since the host was started. */
  readonly upMs: number;
  /** Of this start of the host, where the system names it. */
  readonly boot?: string;
}

/**
 * What has passed. Within one start of the host by the clock that never steps; across a restart (or where the system does not name its starts) by the
 * wall clock, the only one that goes on.
 */
export function elapsedSinceMs(stamp: Stamp, now: Stamp): number {
  const sameBoot = stamp.boot !== undefined && stamp.boot === now.boot;
  return Math.max(0, sameBoot ? now.upMs - stamp.upMs : now.wallMs - stamp.wallMs);
}

export type StampNow = () => Stamp;

export async function stampClock(): Promise<StampNow> {
  const boot = await bootId();
  return () => ({ wallMs: Date.now(), upMs: Number(process.hrtime.bigint() / 1_000_000n), ...(boot === undefined ? {} : { boot }) });
}

/** With the time namespace: a container may have a monotonic clock of its own. */
async function bootId(): Promise<string | undefined> {
  try {
    const boot = (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim();
    const clock = await readlink('/proc/self/ns/time').catch(() => undefined);
    return clock === undefined ? boot : `${boot} ${clock}`;
  } catch {
    return undefined;
  }
}
