/**
 * Living one of the lives, and noting all of it.
 *
 * @module
 */
import { setTimeout as pause } from 'node:timers/promises';
import { isRerunSafeError } from '../../src/core/errors.ts';
import { keyParts, recordId } from '../../src/core/key.ts';
import { leaseRowId } from '../../src/core/store-leases.ts';
import { NotDoneError, PermanentError, type Run, type RunOnceOptions, type RunResult, tryAcquire, tryRunOnce } from '../../src/index.ts';
import { type Ended, hostMs } from '../history/format.ts';
import type { History } from '../history/log.ts';
import { noted } from '../history/record-store.ts';
import { EFFECT, type Gate, gated } from './gate.ts';
import { type LeaseLife, type Life, OPERATION, type RunLife, sharedOptions } from './lives.ts';
import { NO_STORE, type Opened } from './place.ts';

export interface Part {
  readonly opened: Opened;
  readonly history: History;
  readonly caller: string;
  /** Who comes before the victim ends without an outcome, whoever comes after it does what it did not come to. */
  readonly role: 'victim' | 'before it' | 'after it';
  readonly key: string;
  readonly leaseMs: number;
  readonly gate: Gate;
  /** Default: whoever meets somebody else is told so. */
  readonly waitMs?: number;
  /** How often it tries, as callers do where they were told that they may. Default: once. */
  readonly tries?: number;
  /** Another than everybody else's. */
  readonly input?: string;
}

/** Renewals and the signal come from timers, which are late after a stop. */
const TIMERS_MS = 40;

export const rowOf = (life: Life, key: string): string => (life.kind === 'run' ? recordId(OPERATION, [], keyParts(key)) : leaseRowId(key));

export async function live(life: Life, part: Part): Promise<void> {
  const { tries = 1 } = part;
  for (let tried = 1; ; tried++) {
    const code = await (life.kind === 'run' ? liveRun(life, part) : liveLease(life, part));
    if (tried === tries || code === undefined || !AGAIN.has(code)) return;
  }
}

/** Of a store whose machine is too busy to answer in time. */
const AGAIN: ReadonlySet<string> = new Set(['WRITE_UNKNOWN', 'STORE_UNAVAILABLE', 'LEASE_LOST', 'IN_FLIGHT', 'LEASE_HELD']);

const codeOf = (error: unknown): string => (isRerunSafeError(error) ? error.code : String(error));

interface Held {
  readonly token: number | undefined;
  readonly signal: AbortSignal;
  assertHeld(): void;
}

/** What a holder that was stopped past its lease finds. */
async function woke(held: Held, key: string, { history, caller, gate }: Part): Promise<void> {
  // A call that does not come back is given up after a while, by whoever is not dead.
  await gate.goesOn;
  await pause(TIMERS_MS);
  let found = 'held';
  try {
    held.assertHeld();
  } catch (error) {
    found = codeOf(error);
  }
  history.note({ what: 'woke', caller, key, token: held.token ?? 0, held: found, aborted: held.signal.aborted });
}

/** Answers with the code of the refusal. */
async function liveRun(life: RunLife, part: Part): Promise<string | undefined> {
  const { opened, history, caller, role, gate, leaseMs, waitMs, input } = part;
  const key = rowOf(life, part.key);
  const plain = life.commits === true && opened.commit !== undefined ? opened.commit.store : opened.store;
  const store = gated(noted(plain, history, caller), gate, ['read', 'create', 'replace', 'delete', 'putPart', 'readPart']);
  const mode = role === 'before it' ? 'unknown' : role === 'victim' || life.throws === 'remember' ? life.throws : undefined;
  const thrown = new Set<unknown>();

  const work = async (run: Run<string[]>): Promise<string[]> => {
    const halted = gate.halted;
    // Then its lease is over, and nothing is lost.
    let committed = false;
    const { attempt } = run;
    history.note({ what: 'began', caller, key, attempt, untilMs: hostMs() + run.remainingMs() });
    const values: string[] = [];
    const effect = async (step: string, sent: string): Promise<string> => {
      const value = `${step} by ${caller} in attempt ${attempt}`;
      await gate.pass(`${EFFECT}${step}`, () => {
        // As whoever acts outside of the store should: it was stopped for who knows how long.
        run.assertHeld();
        history.note({ what: 'effect', caller, key, attempt, step, sent, value });
      });
      return value;
    };
    try {
      for (const { name, as, asks } of life.steps) {
        if (role === 'before it' && life.after === 'nothing') break;
        if (as === 'plain') values.push(await effect(name, run.keyFor(name)));
        else {
          const onInterrupted = (step: { key: string }) => ask(key, name, step.key, attempt, part);
          const options = as === 'step' ? {} : { mode: 'atMostOnce' as const, ...(asks === true ? { onInterrupted } : {}) };
          const value = await run.step<string>(name, (step) => effect(name, step.key), options);
          history.note({ what: 'resolved', caller, key, attempt, step: name, value });
          values.push(value);
        }
      }
      if (mode !== undefined) {
        if (mode === 'release' || mode === 'unknown') history.note({ what: 'gave-up', caller, key, attempt });
        const why = `${mode} in attempt ${attempt} by ${caller}`;
        const error = mode === 'remember' ? new PermanentError(why) : mode === 'release' ? new NotDoneError(why) : new Error(why);
        thrown.add(error);
        throw error;
      }
      // A renewal is the second write of its record.
      while (life.renews === true && !run.signal.aborted && gate.answered.filter((call) => call === 'replace').length < (attempt > 1 ? 2 : 1))
        await pause(5);
      if (life.commits === true) {
        await gate.pass('commitWith', async () => {
          await opened.commit?.with(run, values, part.key);
          committed = true;
        });
      }
      return life.large === true ? [...values, fillerOf(values[0])] : values;
    } finally {
      if (gate.halted && !halted && !committed) await woke(run, key, part);
    }
  };

  const options: RunOnceOptions<string[]> = {
    ...sharedOptions(life, part.key, leaseMs),
    ...(input === undefined ? {} : { input }),
    store,
    ...(waitMs === undefined ? {} : { onInFlight: { waitMs } }),
    onThrow: (error) => (thrown.has(error) && mode !== undefined ? mode : undefined),
    ...(life.onUnknown === undefined || role === 'before it'
      ? {}
      : { onUnknown: life.onUnknown === 'ask' ? (run: Run) => askAgain(run, key, part) : life.onUnknown }),
  };
  try {
    const run = () => tryRunOnce<string[]>(options, work);
    const result = await history.call({ op: 'run', caller, key, input: input ?? part.key }, run, (end) => told(end, life));
    return result.kind === 'in-flight' ? 'IN_FLIGHT' : undefined;
  } catch (error) {
    // What the work has thrown, or a refusal: both are noted.
    if (!thrown.has(error) && !isRerunSafeError(error)) throw error;
    return codeOf(error);
  }
}

function found(key: string, step: string, sent: string, attempt: number, { history, caller }: Part): string | undefined {
  history.note({ what: 'asked', caller, key, attempt, step, sent });
  const effects = history.events().flatMap((event) => (event.what === 'effect' && event.sent === sent ? [event.value] : []));
  return effects.at(-1);
}

function ask(key: string, step: string, sent: string, attempt: number, part: Part) {
  const value = found(key, step, sent, attempt, part);
  return value === undefined ? ('not-done' as const) : { done: value };
}

function askAgain(run: Run, key: string, part: Part) {
  const value = found(key, 'charge', run.keyFor('charge'), run.attempt, part);
  return value === undefined ? ('not-done' as const) : { done: [value] };
}

const LARGE = 6_000;
/** That compressing makes no smaller, and that belongs to that value alone. */
function fillerOf(value = ''): string {
  let [text, state] = ['', [...value].reduce((sum, sign) => (sum * 31 + sign.charCodeAt(0)) >>> 0, 7)];
  while (text.length < LARGE) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    text += (state >>> 4).toString(36);
  }
  return text;
}

function told(result: RunResult<string[]>, life: RunLife): Ended {
  switch (result.kind) {
    case 'completed': {
      const { attempt, replayed, saved } = result;
      const [first, filler] = result.value;
      const isWhole = life.large !== true || filler === fillerOf(first);
      return {
        what: 'ok',
        answer: { kind: 'completed', value: life.large !== true ? result.value : [isWhole ? first : 'torn'], attempt, replayed, saved },
      };
    }
    case 'failed':
      return { what: 'ok', answer: { kind: 'failed', value: String((result.error as Error).message), replayed: result.replayed } };
    case 'in-flight':
      return { what: 'fail', code: 'IN_FLIGHT' };
    case 'key-reused':
      return { what: 'fail', code: 'KEY_REUSED' };
    case 'blocked':
      return { what: 'fail', code: 'BLOCKED', attempt: result.attempt };
  }
}

async function liveLease(life: LeaseLife, part: Part): Promise<string | undefined> {
  const { opened, history, caller, key, gate, leaseMs, waitMs = 0 } = part;
  const counter = gated(opened.counter(key), gate, ['claim', 'write']);
  const isStore = opened.store !== NO_STORE;
  const leases = isStore
    ? opened.leases(gated(noted(opened.store, history, caller), gate, ['read', 'create', 'replace', 'delete']))
    : gated(opened.leases(opened.store), gate, ['acquire', 'renew', 'release', 'read', 'break']);
  let lease: Awaited<ReturnType<typeof tryAcquire>> | undefined;
  try {
    await history.call(
      { op: 'acquire', caller, key },
      async () => {
        lease = await tryAcquire(leases, key, { leaseMs, renew: 'none', waitMs });
        return lease;
      },
      (got) =>
        got.kind === 'acquired'
          ? { what: 'ok', answer: { token: got.lease.token, untilMs: hostMs() + got.lease.remainingMs() } }
          : { what: 'fail', code: 'LEASE_HELD' },
    );
    if (lease?.kind !== 'acquired') return 'LEASE_HELD';
    const held = lease.lease;
    const { token, fence } = held;
    const halted = gate.halted;
    const noAnswer = { what: 'ok', answer: {} } as const;
    try {
      const n = await history.call(
        { op: 'fenced-read', caller, key, token },
        () => counter.claim(fence),
        () => noAnswer,
      );
      await history.call(
        { op: 'renew', caller, key, token },
        () => held.renew(),
        () => ({ what: 'ok', answer: { untilMs: hostMs() + held.remainingMs() } }),
      );
      await history.call(
        { op: 'fenced-write', caller, key, token, number: n + 1 },
        () => counter.write(fence, n + 1),
        () => noAnswer,
      );
    } finally {
      if (gate.halted && !halted) await woke(held, key, part);
      await history.call(
        { op: 'release', caller, key, token },
        () => held.release(),
        (end) => (end === 'unknown' ? { what: 'unknown' } : end === 'lost' ? { what: 'fail', code: 'LEASE_LOST' } : noAnswer),
      );
    }
    return undefined;
  } catch (error) {
    if (!isRerunSafeError(error)) throw new Error(`${life.name}: ${codeOf(error)}`, { cause: error });
    return codeOf(error);
  }
}
