/**
 * One request to the Blob service: bounded in time, tried again where that helps, and with an honest answer to "did it happen?".
 *
 * @module
 */
import { pause, realSystem } from '../../core/system.ts';
import { type Failure, judge } from './map-error.ts';

/** `doubt`: an earlier or the last try may have taken effect although no answer told so. */
export type Sent<T> = { readonly ok: true; readonly value: T; readonly doubt: boolean } | (Failure & { readonly ok: false; readonly doubt: boolean });

/** How requests go out over one client. */
export interface Line {
  /** How often we send, beside the retries of a client that was passed in. */
  readonly tries: number;
  readonly tryLimitMs: number;
  /** For a request with all its tries. */
  readonly limitMs: number;
  /** The client may send again by itself, and shows only its last error: a refused connection may hide a write whose answer was lost. */
  readonly hiddenTries: boolean;
}

const FIRST_PAUSE_MS = 100;

export async function send<T>(
  line: Line,
  effect: 'read' | 'write',
  request: (abortSignal: AbortSignal) => Promise<T>,
  signal: AbortSignal | undefined,
): Promise<Sent<T>> {
  const endsAtMs = performance.now() + line.limitMs;
  let doubt = false;
  let pauseMs = FIRST_PAUSE_MS;
  for (let left = line.tries; ; left -= 1) {
    if (signal?.aborted) return { ok: false, kind: doubt ? 'unknown' : 'unavailable', error: signal.reason, doubt };
    const limitMs = Math.min(line.tryLimitMs, endsAtMs - performance.now());
    const failure = await attempt(request, limitMs, signal);
    if ('value' in failure) return { ok: true, value: failure.value, doubt };
    const transient = failure.kind === 'unknown' || failure.kind === 'unavailable';
    if (effect === 'write' && (failure.kind === 'unknown' || (transient && line.hiddenTries))) doubt = true;
    const waitMs = Math.max(pauseMs * (0.5 + realSystem.random()), failure.retryAfterMs ?? 0);
    if (!transient || left <= 1 || performance.now() + waitMs >= endsAtMs) return { ok: false, ...failure, doubt };
    // Ended early by the signal: the head of the loop gives the answer.
    await pause(realSystem, waitMs, signal).catch(() => {});
    pauseMs *= 3;
  }
}

async function attempt<T>(
  request: (abortSignal: AbortSignal) => Promise<T>,
  limitMs: number,
  signal: AbortSignal | undefined,
): Promise<{ readonly value: T } | Failure> {
  const controller = new AbortController();
  const onAbort = (): void => controller.abort(signal?.reason);
  const cancel = realSystem.timers.after(Math.max(1, limitMs), () => controller.abort(), { keepAlive: true });
  signal?.addEventListener('abort', onAbort, { once: true });
  try {
    return { value: await request(controller.signal) };
  } catch (error) {
    return judge(error);
  } finally {
    cancel();
    signal?.removeEventListener('abort', onAbort);
  }
}
