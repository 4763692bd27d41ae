/**
 * The door to the server that both clients are brought to.
 *
 * @module
 */

export type Command = readonly string[];

export interface Wire {
  /** Waits for a connection where `send` would; what it rejects with is as for `send`. */
  ready(signal: AbortSignal): Promise<void>;
  /**
   * Sends a command to where `key` is kept. Rejects with {@link Unsent} where nothing has left, also after `signal` aborted: a command that it does not
   * take back then may still be carried out.
   */
  send(command: Command, key: string, signal: AbortSignal): Promise<unknown>;
  /** One sender for each server that has keys of its own. */
  masters(signal: AbortSignal): Promise<readonly ((command: Command, signal: AbortSignal) => Promise<unknown>)[]>;
  /** The client itself sends a command again whose connection broke, so that it may be carried out twice. */
  readonly resends: boolean;
  /** What the client puts before every key by itself; not before a pattern, and it does not take it off. */
  readonly keyPrefix: string;
}

/** Nothing was sent, and nothing will be. */
export class Unsent {
  readonly cause: unknown;
  constructor(cause: unknown) {
    this.cause = cause;
  }
}

/** An error that may be the answer to a second copy of the command, which the client sent by itself: what became of the first is not known. */
export class Resent {
  readonly cause: unknown;
  constructor(cause: unknown) {
    this.cause = cause;
  }
}

export const messageOf = (error: unknown): string => String((error as { message?: unknown } | null)?.message ?? error);
