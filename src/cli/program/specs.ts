/**
 * From parsed options to what is asked for. What does not go together is refused here, all of it before anything is touched.
 *
 * @module
 */
import type { ChildSpec, LockSpec, OnceSpec, RunSpec } from '../run/spec.ts';
import { UsageError } from '../usage-error.ts';

/** As commander hands them out. */
export interface GuardFlags {
  readonly store: string;
  readonly timeout?: number;
  readonly killAfter: number;
  readonly onLostLease: 'kill' | 'warn';
  readonly leftBehind: 'leave' | 'end' | 'wait';
  readonly foreground?: true;
  readonly lease: number;
  readonly wait: number;
  readonly busyExit: number;
  readonly dryRun?: true;
  readonly json?: true;
  readonly quiet?: true;
  readonly report?: string;
  readonly minHold: number;
}

export interface RunFlags extends GuardFlags {
  readonly mode: 'once' | 'lock' | 'slot';
  readonly key?: string;
  readonly operation: string;
  readonly scope?: string;
  readonly fpArgs: boolean;
  readonly fpEnv: readonly string[];
  readonly fpFile: readonly string[];
  readonly fpValue: readonly string[];
  readonly onMismatch: 'fail' | 'rerun';
  readonly onFailure: 'retry' | 'block';
  readonly onUnknown: 'block' | 'retry';
  readonly maxAttempts: number;
  readonly storeDown: 'fail' | 'run';
  readonly ttl: number;
  readonly creates: readonly string[];
  readonly verify: readonly string[];
  readonly verifyTimeout: number;
  readonly doneExit: number;
  readonly capture?: number;
  readonly replay?: true;
  readonly slot?: string;
  readonly at?: number;
  readonly timezone?: string;
  readonly onPassed: 'skip' | 'run';
}

/** Of one mode alone; `given` says which flags the person has typed. */
const ONCE_ONLY =
  '--operation --scope --no-fp-args --fp-env --fp-file --fp-value --on-mismatch --on-failure --on-unknown --max-attempts --store-down --ttl --creates --verify --verify-timeout --capture --replay'.split(
    ' ',
  );
const ONLY: Readonly<Record<RunFlags['mode'], readonly string[]>> = {
  once: [],
  lock: [],
  slot: ['--slot', '--on-passed'],
};

export function runSpec(flags: RunFlags, given: ReadonlySet<string>, command: readonly string[]): RunSpec {
  const { mode, key } = flags;
  if (key === undefined) throw new UsageError('--key is missing: what makes it the same run again');
  const foreign = [
    ...(mode === 'once' ? ['--min-hold'] : ONCE_ONLY),
    ...(mode === 'slot' ? [] : ONLY.slot),
    ...(mode === 'lock' ? ['--done-exit', '--at', '--timezone'] : []),
  ].filter((flag) => given.has(flag));
  if (foreign.length > 0) throw new UsageError(`${foreign.join(', ')} ${foreign.length > 1 ? 'have' : 'has'} no meaning in mode ${mode}`);
  if (mode !== 'once') return lockSpec({ ...flags, mode, name: key }, command);
  if (flags.replay && flags.capture === undefined) throw new UsageError('--replay prints what --capture has kept: give both, in every call');
  return onceSpec({ ...flags, key }, command);
}

function onceSpec(flags: RunFlags & { readonly key: string }, command: readonly string[]): OnceSpec {
  const { operation, scope, key, ttl, fpArgs, fpEnv, fpFile, fpValue } = flags;
  if (ttl <= flags.lease) throw new UsageError('--ttl must be longer than --lease');
  return {
    ...common(flags, command),
    mode: 'once',
    operation,
    key,
    ...(scope === undefined ? {} : { scope }),
    ttlMs: ttl,
    fingerprint: { args: fpArgs, env: fpEnv, files: fpFile, values: fpValue },
    onMismatch: flags.onMismatch,
    onFailure: flags.onFailure,
    onUnknown: flags.onUnknown,
    maxAttempts: flags.maxAttempts,
    storeDown: flags.storeDown,
    creates: flags.creates,
    verify: flags.verify,
    verifyTimeoutMs: flags.verifyTimeout,
    replay: flags.replay === true,
    doneExit: flags.doneExit,
  };
}

type LockFlags = GuardFlags & Partial<Pick<RunFlags, 'slot' | 'onPassed' | 'doneExit'>> & { readonly mode: 'lock' | 'slot'; readonly name: string };

export function lockSpec(flags: LockFlags, command: readonly string[]): LockSpec {
  const { mode, name, slot, onPassed = 'skip', doneExit = 0 } = flags;
  if (mode === 'slot' && slot === undefined) throw new UsageError("mode slot needs --slot: 15m, or a cron expression such as '0 2 * * *'");
  return {
    ...common(flags, command),
    mode,
    name,
    minHoldMs: flags.minHold,
    onPassed,
    doneExit,
    ...(slot === undefined ? {} : { slot }),
  };
}

function common(flags: GuardFlags & Partial<Pick<RunFlags, 'capture' | 'at' | 'timezone'>>, command: readonly string[]) {
  const [first, ...args] = command;
  if (first === undefined || first === '') throw new UsageError('the command is missing: rerunsafe run --key KEY -- command arguments…');
  const { at, timezone, timeout, capture, killAfter, onLostLease, leftBehind, foreground } = flags;
  const child: ChildSpec = {
    command: first,
    args,
    foreground: foreground === true,
    killAfterMs: killAfter,
    onLostLease,
    leftBehind,
    ...(timeout === undefined ? {} : { timeoutMs: timeout }),
    ...(capture === undefined ? {} : { captureBytes: capture }),
  };
  return {
    child,
    store: flags.store,
    leaseMs: flags.lease,
    waitMs: flags.wait,
    busyExit: flags.busyExit,
    dryRun: flags.dryRun === true,
    ...(at === undefined ? {} : { atMs: at }),
    ...(timezone === undefined ? {} : { timezone }),
  };
}
