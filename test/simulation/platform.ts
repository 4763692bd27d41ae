/**
 * What the code under test takes from its platform, as fast as a simulation needs it: the same answers without what an event or a hash costs in Node.
 * Every thousandth seed runs again on the real ones, and must come to the same.
 *
 * @module
 */
import crypto, { type BinaryToTextEncoding } from 'node:crypto';
import { getEventListeners } from 'node:events';
import { syncBuiltinESMExports } from 'node:module';

type Listener = () => void;

const ABORTED = new Error('aborted');

class FastSignal {
  aborted = false;
  reason: unknown;
  readonly listeners = new Map<Listener, boolean>();
  followers: FastSignal[] | undefined;

  static any(signals: readonly FastSignal[]): FastSignal {
    const follower = new FastSignal();
    for (const signal of signals) if (signal.aborted) return stopped(follower, signal.reason);
    for (const signal of signals) {
      signal.followers ??= [];
      signal.followers.push(follower);
    }
    return follower;
  }

  addEventListener(_: 'abort', listener: Listener, options?: { readonly once?: boolean }): void {
    if (!this.listeners.has(listener)) this.listeners.set(listener, options?.once === true);
  }

  removeEventListener(_: 'abort', listener: Listener): void {
    this.listeners.delete(listener);
  }

  throwIfAborted(): void {
    if (this.aborted) throw this.reason;
  }
}

function stopped(signal: FastSignal, reason: unknown): FastSignal {
  signal.aborted = true;
  signal.reason = reason;
  return signal;
}

class FastController {
  readonly signal = new FastSignal();

  abort(reason: unknown = ABORTED): void {
    if (this.signal.aborted) return;
    const all = [this.signal];
    // A signal that follows is aborted before any listener hears of it.
    for (const signal of all) {
      stopped(signal, reason);
      for (const follower of signal.followers ?? []) if (!follower.aborted && !all.includes(follower)) all.push(follower);
    }
    for (const { listeners } of all) {
      for (const [listener, once] of [...listeners]) {
        if (!listeners.has(listener)) continue;
        if (once) listeners.delete(listener);
        listener();
      }
    }
  }
}

/** Hashes of a few names, asked for again in every call. */
const known = new Map<string, string>();
const MOST_KNOWN = 10_000;

class KnownHash {
  #text = '';

  update(text: string): this {
    this.#text += text;
    return this;
  }

  digest(encoding: BinaryToTextEncoding): string {
    const name = `${encoding}/${this.#text}`;
    let digest = known.get(name);
    if (digest === undefined) {
      digest = real.createHash('sha256').update(this.#text).digest(encoding);
      if (known.size < MOST_KNOWN) known.set(name, digest);
    }
    return digest;
  }
}

const { createHash, randomUUID } = crypto;
const real = { createHash, randomUUID, AbortController, AbortSignal };
let uuids = 0;
const fast = {
  createHash: ((algorithm: string) => (algorithm === 'sha256' ? new KnownHash() : real.createHash(algorithm))) as unknown as typeof createHash,
  randomUUID: (() => `uuid-${++uuids}`) as unknown as typeof randomUUID,
  AbortController: FastController as unknown as typeof AbortController,
  AbortSignal: FastSignal as unknown as typeof AbortSignal,
};

function install({ createHash, randomUUID, AbortController, AbortSignal }: typeof real): void {
  Object.assign(crypto, { createHash, randomUUID });
  syncBuiltinESMExports();
  Object.assign(globalThis, { AbortController, AbortSignal });
}

/** Nothing else runs meanwhile: a simulation is one event of the real event loop. */
export function onFastPlatform<T>(task: () => T): T {
  install(fast);
  try {
    return task();
  } finally {
    install(real);
  }
}

/** How many listen to it, on either platform. */
export const listenersOf = (signal: AbortSignal): number =>
  signal instanceof FastSignal ? signal.listeners.size : getEventListeners(signal, 'abort').length;
