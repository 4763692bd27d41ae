/**
 * One try at handing a message on: in bounded time, and whatever it throws is only a failed try.
 *
 * @module
 */
import type { System } from '../core/ports.ts';
import { unlessAborted } from '../core/system.ts';
import type { Deliver } from './options.ts';
import type { RelayedMessage } from './port.ts';

export type Delivery =
  | { readonly kind: 'delivered' }
  | { readonly kind: 'failed'; readonly error: unknown }
  /** The relay is over: nobody can say what became of it, so it comes again, and no try is counted. */
  | { readonly kind: 'dropped' };

export async function tryDelivery(system: System, deliver: Deliver, message: RelayedMessage, limitMs: number, relay: AbortSignal): Promise<Delivery> {
  const stop = new AbortController();
  const onRelayOver = (): void => stop.abort(relay.reason);
  if (relay.aborted) return { kind: 'dropped' };
  relay.addEventListener('abort', onRelayOver, { once: true });
  const cancel = system.timers.after(limitMs, () => stop.abort(new Error(`the delivery was not done within ${limitMs} ms`)), { keepAlive: true });
  try {
    // Raced: one that does not look at its signal must not keep the relay for ever.
    await unlessAborted(
      Promise.resolve().then(() => deliver(message, { signal: stop.signal })),
      stop.signal,
    );
    return { kind: 'delivered' };
  } catch (error) {
    return relay.aborted ? { kind: 'dropped' } : { kind: 'failed', error };
  } finally {
    cancel();
    relay.removeEventListener('abort', onRelayOver);
  }
}
