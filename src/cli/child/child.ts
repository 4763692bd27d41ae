/**
 * What the guard asks of a command's process, and how that ended.
 *
 * @module
 */
import type { Hold } from '../hold.ts';

export interface ChildOptions {
  /** As given by the person: also its `argv[0]`. */
  readonly command: string;
  readonly args: readonly string[];
  /** Added to our own environment. */
  readonly env: Readonly<Record<string, string>>;
  /** Stays in our process group and keeps the terminal. Only the process itself is then signalled, not what it has started. */
  readonly foreground: boolean;
  readonly timeoutMs?: number | undefined;
  /** From TERM to KILL; where the lease is at stake never more than a third of it. */
  readonly killAfterMs: number;
  /** What becomes of processes that the command leaves running in its group. */
  readonly leftBehind: 'leave' | 'end' | 'wait';
  /** Keeps the last bytes of stdout and stderr, while both are passed on. */
  readonly captureBytes?: number | undefined;
  readonly hold: Hold;
  readonly onLostLease: 'kill' | 'warn';
  /** For people. Must not write by `process.stderr`: that makes a pipe non-blocking which the command shares, and its writes fail with EAGAIN. */
  readonly say: (sentence: string) => void;
}

export interface TailPiece {
  readonly stream: 'stdout' | 'stderr';
  readonly bytes: Uint8Array;
}

/** How the process itself ended: one of the two. */
export interface Death {
  readonly code?: number;
  readonly endedBy?: NodeJS.Signals;
}

/** Why we stopped it. `signal`: we were asked to end, and passed it on. */
export type StopReason = { readonly why: 'timeout' } | { readonly why: 'lease-lost' } | { readonly why: 'signal'; readonly signal: NodeJS.Signals };

interface Ended {
  readonly durationMs: number;
  /** In the order in which it was read. Only with `captureBytes`. */
  readonly tail?: readonly TailPiece[];
}

/** `exitCode`: 126, 127, or 128 + n where signal n came before. */
export type NotStarted = { readonly kind: 'not-started'; readonly exitCode: number; readonly message: string };

export type ChildEnd =
  | ({ readonly kind: 'exited'; readonly code: number } & Ended)
  /** By somebody else: the system short of memory, a person. */
  | ({ readonly kind: 'signalled'; readonly signal: NodeJS.Signals } & Ended)
  | ({ readonly kind: 'stopped' } & StopReason & Death & Ended)
  | NotStarted;
