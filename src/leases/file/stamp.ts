/**
 * Moments that another process of the same host can count from, also after the wall clock was set.
 *
 * @module
 */
import { readFile } from 'node:fs/promises';

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

const bootId = (): Promise<string | undefined> =>
  readFile('/proc/sys/kernel/random/boot_id', 'utf8').then(
    (text) => text.trim(),
    () => undefined,
  );
