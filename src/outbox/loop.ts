/**
 * A relay that goes on until it is told to stop, for processes that live.
 *
 * @module
 */
import { isRerunSafeError } from '../core/errors.ts';
import { isFunction, isInteger } from '../core/options.ts';
import type { System } from '../core/ports.ts';
import { pause, realSystem } from '../core/system.ts';
import { checkRelay, type RelayOptions } from './options.ts';
import { type RelayResult, relayOutbox } from './relay.ts';

export interface RelayLoopOptions extends Omit<RelayOptions, 'lease' | 'remainingMs'> {
  /** The pause between two runs, ms: how late a message is at most, while nobody else is at it. Default 1000. */
  readonly everyMs?: number;
  /** Told of every run. */
  readonly onRun?: (result: RelayResult) => unknown;
  /** Told of every run that failed, and is tried again. Default: a process warning. */
  readonly onError?: (error: unknown) => unknown;
}

const DEFAULT_EVERY_MS = 1_000;
/** While runs fail, the pauses between them double up to here. */
const MOST_PAUSE_MS = 60_000;
const MOST_DOUBLINGS = 10;

/**
 * Runs {@link relayOutbox} again and again until `signal` aborts, and resolves then. Start it in as many processes as you like: one works, the others
 * look whether it still does. A failure that may pass is told, and tried again after a pause that grows.
 *
 * @throws RerunSafeError what a person has to mend: `INVALID_OPTIONS`, `STORE_MISCONFIGURED`.
 *
 * @example
 * const stop = new AbortController();
 * process.once('SIGTERM', () => stop.abort());
 * await relayLoop({ outbox, leases, deliver, signal: stop.signal });
 */
export async function relayLoop(options: RelayLoopOptions, system: System = realSystem): Promise<void> {
  checkRelay(options, 'relayLoop', { everyMs: isInteger(1, 2_147_483_647), onRun: isFunction, onError: isFunction });
  const { everyMs = DEFAULT_EVERY_MS, onRun, onError = warn, ...relay } = options;
  const { signal } = relay;
  for (let failures = 0; !signal?.aborted; ) {
    try {
      const result = await relayOutbox(relay, system);
      failures = 0;
      await onRun?.(result);
    } catch (error) {
      if (signal?.aborted) return;
      if (!mayPass(error)) throw error;
      failures = Math.min(failures + 1, MOST_DOUBLINGS);
      await onError(error);
    }
    const pauseMs = failures === 0 ? everyMs : Math.max(everyMs, Math.min(MOST_PAUSE_MS, everyMs * 2 ** failures));
    await pause(system, pauseMs, signal).catch(() => {});
  }
}

/** Another relay took over: this one takes its turn again. */
const mayPass = (error: unknown): boolean => isRerunSafeError(error) && (error.retryable || error.code === 'STALE_TOKEN');

function warn(error: unknown): void {
  process.emitWarning(`The outbox was not relayed, and is tried again. ${String(error)}`, { code: 'RERUNSAFE_OUTBOX' });
}
