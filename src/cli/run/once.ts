/**
 * Mode `once`: the command runs once for its key, and what became of it is remembered.
 *
 * @module
 */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { isRerunSafeError } from '../../core/errors.ts';
import type { RunEvent } from '../../core/events.ts';
import { fingerprintOf, fingerprintsDiffer } from '../../core/fingerprint.ts';
import { type Guard, type GuardOptions, guardFrom } from '../../core/guard.ts';
import { keyParts, recordId, scopeParts } from '../../core/key.ts';
import { forgetById } from '../../core/person.ts';
import type { RecordStore, Stored } from '../../core/ports.ts';
import { type BlockedWhy, isLapsed, type RecordId } from '../../core/record.ts';
import type { Run } from '../../core/run.ts';
import { type RunResult, runGuarded } from '../../core/run-once.ts';
import { checkConditions } from '../conditions.ts';
import { EXIT } from '../exit-codes.ts';
import { holderText, type RunFacts } from '../facts.ts';
import type { OpenPlace } from '../places/open.ts';
import { UsageError } from '../usage-error.ts';
import { childEnv } from './child-env.ts';
import type { RunCommand } from './command.ts';
import { CommandEnded, exitCodeOf, verdictOf } from './ended.ts';
import type { Interrupted, Interrupts } from './interrupts.ts';
import type { Report } from './report.ts';
import type { OnceSpec } from './spec.ts';

/** What is remembered of a command that succeeded. Plain data, for `show`. */
export interface Kept {
  readonly exitCode: 0;
  readonly startedAt: string;
  readonly durationMs: number;
  readonly host: string;
  readonly user: string;
  readonly pid: number;
  readonly gitSha?: string;
  readonly ciRunUrl?: string;
  readonly command: string;
  readonly tail?: readonly { readonly stream: 'stdout' | 'stderr'; readonly bytes: Uint8Array }[];
}

export interface OnceCall {
  readonly spec: OnceSpec;
  readonly place: OpenPlace;
  /** Rendered. */
  readonly key: string;
  readonly input: unknown;
  /** The working folder, as it was found: the command may remove it. */
  readonly cwd: string;
  readonly facts: RunFacts;
  readonly interrupts: Interrupts;
  readonly run: RunCommand;
  readonly say: (sentence: string) => void;
  /** Prints what was captured when it ran. */
  readonly replay: (tail: NonNullable<Kept['tail']>) => Promise<void>;
}

/** That "done" is not believed, or an input has changed: with nobody else at it this happens once. */
const MOST_ROUNDS = 5;

export async function runOnceCommand(call: OnceCall): Promise<Report> {
  const { spec, key } = call;
  const store = mustHaveStore(call.place);
  const scope = scopeParts(spec.scope, spec.operation);
  const id = recordId(spec.operation, scope, keyParts(key, spec.operation));
  const about = { mode: 'once', operation: spec.operation, key, id, store: call.place.shown } as const;
  for (let round = 1; round <= MOST_ROUNDS; round++) {
    const report = await oneRound(call, store, id);
    if (report !== 'again') return { ...about, ...report };
  }
  return { ...about, became: 'busy', exitCode: spec.busyExit, message: 'others keep changing what is remembered of it' };
}

async function oneRound(call: OnceCall, store: RecordStore, id: RecordId): Promise<Report | 'again'> {
  const { spec } = call;
  const guard = guardOf(call, store);
  const facts: { attempt?: number; token?: number } = {};
  let isOurs = true;
  const stopListening = onLoss(id, () => {
    isOurs = false;
  });
  let result: RunResult<Kept>;
  try {
    const given = { key: call.key, scope: spec.scope, input: call.input, holder: holderText(call.facts) };
    result = await runGuarded<Kept>(guard, given, (run) => {
      facts.attempt = run.attempt;
      if (run.token !== undefined) facts.token = run.token;
      return work(call, run, guard.leaseMs);
    });
  } catch (error) {
    if (error instanceof CommandEnded) return { ...endedBadly(error, spec, isOurs), ...facts };
    // Known to be done, by a command whose output was too much to keep.
    if (isRerunSafeError(error, 'RESULT_NOT_STORED')) return alreadyDone(call, store, id, undefined);
    throw error;
  } finally {
    stopListening();
  }
  switch (result.kind) {
    case 'completed':
      if (result.replayed) return alreadyDone(call, store, id, result.value);
      return { ...succeeded(result, facts.token !== undefined), ...facts };
    case 'in-flight':
      return busy(spec, result.retryAfterMs, await holderOf(store, id));
    case 'key-reused':
      return mismatch(call, store, id);
    case 'blocked':
      return { became: 'blocked', exitCode: EXIT.blocked, message: `${BLOCKED[result.why] ?? result.why}${SEE}`, attempt: result.attempt };
    case 'failed':
      return {
        became: 'blocked',
        exitCode: EXIT.blocked,
        message: 'it has failed, and that is remembered as its outcome: forget it to run it again',
      };
  }
}

function guardOf({ spec, interrupts }: OnceCall, store: RecordStore): Guard<Kept> {
  const options: GuardOptions<Kept> = {
    store,
    operation: spec.operation,
    leaseMs: spec.leaseMs,
    retentionMs: spec.ttlMs,
    onInFlight: { waitMs: spec.waitMs },
    onUnknown: spec.onUnknown,
    onThrow: (error) => judged(error, spec),
    maxAttempts: spec.maxAttempts,
    onStoreDown: spec.storeDown === 'run' ? 'run' : 'refuse',
    signal: interrupts.signal,
  };
  return guardFrom<Kept>('rerunsafe run', options);
}

function judged(error: unknown, { onFailure }: OnceSpec): ReturnType<NonNullable<GuardOptions['onThrow']>> {
  if (!(error instanceof CommandEnded)) return 'unknown';
  const { end } = error;
  const failed = onFailure === 'block' ? 'block' : 'release';
  return { as: { failed, unknown: 'unknown', 'not-started': 'withdraw' }[verdictOf(end)] as 'release', note: error.note };
}

async function work(call: OnceCall, run: Run, leaseMs: number): Promise<Kept> {
  const { spec, facts, place } = call;
  const startedAt = new Date().toISOString();
  const env = childEnv({ key: run.key, attempt: run.attempt, fence: run.fence, kind: 'run', store: place.url });
  call.interrupts.commandBegins();
  const end = await call.run(env, run, leaseMs);
  if (end.kind !== 'exited') throw new CommandEnded(end);
  if (end.code !== 0) throw new CommandEnded({ kind: 'failed', code: end.code }, end.tail);
  const { later } = call.interrupts;
  const missing = await unmet(call, later).catch((error: unknown) => {
    throw new CommandEnded({ kind: 'not-asked', message: (error as Error).message });
  });
  if (missing.length > 0 && later.aborted) {
    const { signal } = later.reason as Interrupted;
    throw new CommandEnded({ kind: 'stopped', why: 'signal', signal, durationMs: end.durationMs });
  }
  if (missing.length > 0) throw new CommandEnded({ kind: 'not-brought-about', missing }, end.tail);
  return {
    exitCode: 0,
    startedAt,
    durationMs: end.durationMs,
    host: facts.host,
    user: facts.user,
    pid: facts.pid,
    ...(facts.gitSha === undefined ? {} : { gitSha: facts.gitSha }),
    ...(facts.ciRunUrl === undefined ? {} : { ciRunUrl: facts.ciRunUrl }),
    command: spec.child.command,
    ...(end.tail === undefined ? {} : { tail: end.tail }),
  };
}

const unmet = ({ spec, cwd, say, interrupts }: OnceCall, signal = interrupts.signal): Promise<string[]> =>
  checkConditions({
    creates: spec.creates,
    verify: spec.verify,
    cwd,
    env: process.env,
    timeLimitMs: spec.verifyTimeoutMs,
    say,
    signal,
  });

function succeeded({ value, saved }: Extract<RunResult<Kept>, { kind: 'completed' }>, isGuarded: boolean): Report {
  const message = saved ? 'done' : isGuarded ? NOT_SAVED : 'the command succeeded, unguarded: nothing is remembered of it';
  return { became: 'succeeded', exitCode: EXIT.ok, message, saved, durationMs: value.durationMs };
}

const NOT_SAVED = 'the command succeeded, but that could not be written down: the next call finds an unknown outcome';

/** Calls back when the record is no longer ours, or what became of it could not be written. */
function onLoss(id: RecordId, lost: () => void): () => void {
  const listener = (event: unknown): void => {
    const { id: of, event: name } = event as RunEvent;
    if (of === id && (name === 'lease-lost' || name === 'save-failed')) lost();
  };
  subscribe('rerunsafe:run', listener);
  return () => void unsubscribe('rerunsafe:run', listener);
}

function endedBadly({ end, message }: CommandEnded, { onFailure, onUnknown }: OnceSpec, isOurs: boolean): Report {
  const verdict = verdictOf(end);
  const isLost = !isOurs || (end.kind === 'stopped' && end.why === 'lease-lost');
  const next = isLost
    ? 'somebody else may have it by now; status tells what is known of it'
    : { failed: NEXT.failed[onFailure], unknown: NEXT.unknown[onUnknown], 'not-started': 'nothing was run' }[verdict];
  const durationMs = 'durationMs' in end ? { durationMs: end.durationMs } : {};
  return { became: verdict, exitCode: exitCodeOf(end), message: `${message}: ${next}`, ...durationMs };
}

const NEXT = {
  failed: { retry: 'it failed, and may run again', block: 'it failed, and does not run again until a person says so' },
  unknown: { block: 'nobody knows what it did; it does not run again until a person says so', retry: 'nobody knows what it did; it may run again' },
} as const;

/** A later version may know more reasons. */
export const BLOCKED: Readonly<Partial<Record<BlockedWhy, string>>> = {
  unknown: 'an earlier attempt ended, and nobody knows what it did',
  attempts: 'it was tried as often as --max-attempts allows',
  failed: 'it has failed, and does not run again by itself',
  'step-not-stored': 'a step of it is done and its value could not be kept',
};

/** What a person does about it. */
const SEE = '. `rerunsafe status` tells more, `resolve` and `forget` say what is to become of it';

const busy = ({ busyExit }: OnceSpec, retryAfterMs: number, holder: string | undefined): Report => ({
  became: 'busy',
  exitCode: busyExit,
  message: `${holder ?? 'somebody else'} is running it`,
  retryAfterMs,
});

/** For people: that nobody can be named is no reason to say less. */
const holderOf = async (store: RecordStore, id: RecordId): Promise<string | undefined> =>
  store.read(id).then(
    (stored) => (stored?.record.state === 'running' ? stored.record.holder : undefined),
    () => undefined,
  );

async function alreadyDone(call: OnceCall, store: RecordStore, id: RecordId, value: Kept | undefined): Promise<Report | 'again'> {
  const { spec, interrupts } = call;
  const asks = spec.creates.length + spec.verify.length > 0;
  if (asks && (await unmet(call)).length > 0) {
    interrupts.signal.throwIfAborted();
    return rerun(call, store, id);
  }
  if (spec.replay && value?.tail !== undefined) await call.replay(value.tail);
  const when =
    typeof value?.startedAt === 'string' ? ` (${value.startedAt.slice(0, 19)}Z${value.host ? `, by ${value.user}@${value.host}` : ''})` : '';
  return { became: 'already-done', exitCode: spec.doneExit, message: `already done${when}; not run again` };
}

/** Done, and what it was to bring about is gone: forgotten, but only as it was seen before the look that missed it. */
async function rerun(call: OnceCall, store: RecordStore, id: RecordId): Promise<'again'> {
  const seen = await store.read(id);
  if (seen?.record.state !== 'completed') return 'again';
  const missing = await unmet(call);
  call.interrupts.signal.throwIfAborted();
  if (missing.length === 0) return 'again';
  call.say(`done before, but ${missing.join('; ')}: it runs again`);
  await forgetById(store, id, { by: holderText(call.facts), why: `not believed: ${missing.join('; ')}`.slice(0, 1_000) }, seen);
  return 'again';
}

async function mismatch(call: OnceCall, store: RecordStore, id: RecordId): Promise<Report | 'again'> {
  const { spec } = call;
  const refusal: Report = {
    became: 'mismatch',
    exitCode: EXIT.mismatch,
    message: 'this key was used with other arguments, files or values; nothing was run. Use another key, --on-mismatch rerun, or forget it',
  };
  if (spec.onMismatch === 'fail') return refusal;
  const seen = await store.read(id);
  // What another call with this very input has made of it meanwhile is no mismatch.
  if (seen === undefined || !fingerprintsDiffer(seen.record.fingerprint, fingerprintOf(call.input))) return 'again';
  const refused = unfinished(spec, seen, store.clock.uncertaintyMs);
  if (refused !== undefined) return refused;
  call.say('its input has changed: it runs again');
  await forgetById(store, id, { by: holderText(call.facts), why: 'its input has changed (--on-mismatch rerun)' }, seen);
  return 'again';
}

/** With other input than before, and no outcome: nobody may guess for the person. */
export function unfinished(spec: OnceSpec, { record, ageMs }: Stored, uncertaintyMs: number): Report | undefined {
  if (record.state === 'blocked') return { became: 'blocked', exitCode: EXIT.blocked, message: `${BLOCKED[record.blockedWhy ?? 'unknown']}${SEE}` };
  if (record.state !== 'running') return undefined;
  if (!isLapsed(record, ageMs, uncertaintyMs)) return busy(spec, Math.max(1, record.leaseMs - ageMs), record.holder);
  return spec.onUnknown === 'block' ? { became: 'blocked', exitCode: EXIT.blocked, message: `${BLOCKED.unknown}${SEE}` } : undefined;
}

export function mustHaveStore({ store, shown }: OpenPlace): RecordStore {
  if (store === undefined) throw new UsageError(`${shown} keeps leases only: use it with \`rerunsafe lock\` or --mode slot, or give another --store`);
  return store;
}
