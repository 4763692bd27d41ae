/**
 * What a guarded command was asked for, after the options are parsed.
 *
 * @module
 */
export interface ChildSpec {
  readonly command: string;
  readonly args: readonly string[];
  readonly foreground: boolean;
  readonly timeoutMs?: number;
  readonly killAfterMs: number;
  readonly onLostLease: 'kill' | 'warn';
  readonly leftBehind: 'leave' | 'end' | 'wait';
  readonly captureBytes?: number;
}

/** What both kinds of guard have. */
interface GuardSpec {
  readonly child: ChildSpec;
  readonly store: string;
  readonly leaseMs: number;
  readonly waitMs: number;
  readonly busyExit: number;
  readonly doneExit: number;
  readonly dryRun: boolean;
  /** The moment that slots are asked about. Default: now. */
  readonly atMs?: number;
  readonly timezone?: string;
}

export interface OnceSpec extends GuardSpec {
  readonly mode: 'once';
  readonly operation: string;
  readonly scope?: string;
  /** A template. */
  readonly key: string;
  readonly ttlMs: number;
  readonly fingerprint: {
    readonly args: boolean;
    readonly env: readonly string[];
    readonly files: readonly string[];
    readonly values: readonly string[];
  };
  readonly onMismatch: 'fail' | 'rerun';
  readonly onFailure: 'retry' | 'block';
  readonly onUnknown: 'block' | 'retry';
  readonly maxAttempts: number;
  readonly storeDown: 'fail' | 'run';
  readonly creates: readonly string[];
  readonly verify: readonly string[];
  readonly verifyTimeoutMs: number;
  readonly replay: boolean;
}

export interface LockSpec extends GuardSpec {
  readonly mode: 'lock' | 'slot';
  /** A template. */
  readonly name: string;
  readonly minHoldMs: number;
  /** Mode slot: a duration or a cron expression. */
  readonly slot?: string;
  readonly onPassed: 'skip' | 'run';
}

export type RunSpec = OnceSpec | LockSpec;
