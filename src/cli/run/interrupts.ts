/**
 * Signals while no command runs: before it, waiting ends; after it, its outcome is still written down.
 *
 * @module
 */
const ENDING: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'];

export class Interrupted extends Error {
  override readonly name = 'Interrupted';
  readonly signal: NodeJS.Signals;

  constructor(signal: NodeJS.Signals) {
    super(`ended by ${signal} before anything was run`);
    this.signal = signal;
  }
}

export interface Interrupts {
  /** Aborts with {@link Interrupted}, until the command has begun. */
  readonly signal: AbortSignal;
  /** From here on signals are the command's. */
  commandBegins(): void;
  /** Aborts with {@link Interrupted}, after the command has begun. */
  readonly later: AbortSignal;
}

/** For the rest of this process's life. */
export function interrupts(): Interrupts {
  const [before, after] = [new AbortController(), new AbortController()];
  let hasBegun = false;
  const onSignal = (signal: NodeJS.Signals): void => {
    (hasBegun ? after : before).abort(new Interrupted(signal));
  };
  for (const signal of ENDING) process.on(signal, onSignal);
  return {
    signal: before.signal,
    later: after.signal,
    commandBegins() {
      hasBegun = true;
    },
  };
}
