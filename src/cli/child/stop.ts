/**
 * Ending a group: TERM, and KILL when that has not helped in time.
 *
 * @module
 */
import type { Group } from './group.ts';
import { after } from './time.ts';

/** A process that the system itself holds (a network disk that is gone) does not even end by KILL. */
const GIVE_UP_MS = 1000;

export interface Stop {
  readonly begun: boolean;
  /** KILL was sent a while ago: what still lives cannot be ended. */
  readonly hopeless: boolean;
  /** Begun again only the KILL moves, and only to sooner. */
  begin(graceMs: number): void;
  off(): void;
}

export function stopOf(group: Group): Stop {
  let killAtMs: number | undefined;
  let killedAtMs: number | undefined;
  let off = (): void => {};
  return {
    get begun() {
      return killAtMs !== undefined;
    },
    get hopeless() {
      return killedAtMs !== undefined && performance.now() - killedAtMs > GIVE_UP_MS;
    },
    begin(graceMs) {
      const atMs = performance.now() + graceMs;
      if (killAtMs === undefined) {
        group.signal('SIGTERM');
        // One that was stopped (SIGSTOP, Ctrl-Z) hears TERM only when it goes on.
        group.signal('SIGCONT');
      } else if (atMs >= killAtMs) return;
      killAtMs = atMs;
      off();
      off = after(graceMs, () => {
        group.signal('SIGKILL');
        killedAtMs = performance.now();
      });
    },
    off: () => off(),
  };
}
