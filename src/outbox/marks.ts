/**
 * Writing down what became of deliveries: one write at a time, with all that has ended meanwhile.
 *
 * @module
 */
import { bounded, withinInvocation } from '../core/bounded.ts';
import { isRerunSafeError } from '../core/errors.ts';
import type { CallOptions, System } from '../core/ports.ts';
import { pause } from '../core/system.ts';
import { pauseBeforeMs } from '../core/waits.ts';
import type { Settlement } from './port.ts';

const CALL_LIMIT_MS = 10_000;
/** With the pauses between them: about ten seconds of an outbox that does not answer. */
const MOST_TRIES = 15;

/** A call to the outbox, and again while it does not answer and time is left: each of them may be made twice. */
export async function persistently<R>(system: System, leftMs: () => number, call: (options: CallOptions) => Promise<R>): Promise<R> {
  for (let tries = 1; ; tries++) {
    try {
      return await bounded(system, withinInvocation(CALL_LIMIT_MS, leftMs()), call);
    } catch (error) {
      const passing = isRerunSafeError(error, 'STORE_UNAVAILABLE') || isRerunSafeError(error, 'WRITE_UNKNOWN');
      if (!passing || tries === MOST_TRIES || leftMs() <= 0) throw error;
    }
    await pause(system, pauseBeforeMs(tries - 1, system));
  }
}

export class Marks {
  readonly #write: (settlements: readonly Settlement[]) => Promise<void>;
  readonly #most: number;
  #pending: Settlement[] = [];
  #writing: Promise<void> | undefined;
  #failure: { readonly error: unknown } | undefined;

  constructor(most: number, write: (settlements: readonly Settlement[]) => Promise<void>) {
    this.#most = most;
    this.#write = write;
  }

  /** Nothing can be written down any more: to deliver on would only be to deliver twice. */
  get failed(): boolean {
    return this.#failure !== undefined;
  }

  add(settlement: Settlement): void {
    this.#pending.push(settlement);
    this.#writing ??= this.#drain();
  }

  /** Nothing of it goes on. */
  async ended(): Promise<void> {
    await this.#writing;
  }

  /** @throws what the outbox threw. */
  async written(): Promise<void> {
    await this.#writing;
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  async #drain(): Promise<void> {
    // Those that end in the same turn go together.
    await Promise.resolve();
    try {
      while (this.#pending.length > 0) await this.#write(this.#pending.splice(0, this.#most));
    } catch (error) {
      this.#failure = { error };
    } finally {
      this.#writing = undefined;
    }
  }
}
