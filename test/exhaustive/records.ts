import { getEventListeners } from 'node:events';
import { isPermanentError, isRerunSafeError, NotDoneError, PermanentError } from '../../src/core/errors.ts';
import { type GuardOptions, guardFrom } from '../../src/core/guard.ts';
import type { RecordStore, System } from '../../src/core/ports.ts';
import type { Run } from '../../src/core/run.ts';
import { type RunResult, runGuarded } from '../../src/core/run-once.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';
import type { Caller } from './caller.ts';
import { clientOf } from './client.ts';
import type { Play } from './scope.ts';
import type { World } from './world.ts';

export interface RecordOptions {
  readonly leaseMs: number;
  readonly onUnknown: 'retry' | 'block' | 'ask';
  /** What the work of the first attempt throws. */
  readonly throws?: 'plain' | 'not-done' | 'permanent';
  /** The work keeps a step first. */
  readonly step?: boolean;
  readonly waitMs?: number;
  readonly renew?: 'auto';
  /** The engine sees the caller's store through this; a wrong one in controls. */
  readonly client?: (store: RecordStore, caller: Caller) => RecordStore;
  /** And its clocks and timers through this. */
  readonly system?: (caller: Caller) => System;
  /** Another policy than is judged by. */
  readonly guard?: Partial<GuardOptions>;
}

type End = { readonly result: RunResult<unknown> } | { readonly thrown: unknown };

/** One call and what became of it. */
interface Call {
  readonly caller: Caller;
  /** Its owners' names begin so. */
  readonly owners: string;
  run?: Run;
  /** Until when it believes to hold, from when its work began until it was over. */
  holdsUntilMs: number;
  works: number;
  asked: boolean;
  /** Its work ended after its lease was over. */
  late: boolean;
  end?: End;
}

class Mine extends Error {}

const REFUSALS = ['LEASE_LOST', 'WRITE_UNKNOWN', 'STORE_UNAVAILABLE'] as const;

/** `runOnce` with one key by all callers. */
export function recordPlay(options: RecordOptions): (world: World) => Play {
  const { leaseMs, onUnknown, renew = 'none', client = (store: RecordStore) => store } = options;
  // Checked once: that is not what is searched.
  const formed = guardFrom('exhaustive', {
    store: memoryStore(),
    operation: 'exhaustive',
    leaseMs,
    renew,
    onUnknown: onUnknown === 'ask' ? () => 'not-done' : onUnknown,
    ...options.guard,
  });
  return (world) => new RecordPlay(world, options, (caller) => ({ ...formed, store: client(clientOf(caller), caller) }));
}

class RecordPlay implements Play {
  readonly #world: World;
  readonly #options: RecordOptions;
  readonly #guardOf: (caller: Caller) => ReturnType<typeof guardFrom>;
  readonly #calls: Call[] = [];

  constructor(world: World, options: RecordOptions, guardOf: (caller: Caller) => ReturnType<typeof guardFrom>) {
    this.#world = world;
    this.#options = options;
    this.#guardOf = guardOf;
  }

  #wrong(what: string): void {
    this.#world.wrong.push(what);
  }

  async call(caller: Caller): Promise<void> {
    const call: Call = { caller, owners: `${caller.name}${caller.calls}-`, holdsUntilMs: 0, works: 0, asked: false, late: false };
    this.#calls.push(call);
    const { onUnknown, waitMs = 0, leaseMs, system = (own: Caller): System => own } = this.#options;
    const cancel = new AbortController();
    const guard = {
      ...this.#guardOf(caller),
      signal: cancel.signal,
      ...(onUnknown === 'ask' ? { onUnknown: (run: Run) => this.#ask(call, run) } : {}),
    };
    try {
      const request = { key: 'k', holder: caller.name, waitMs: caller.name === 'last' ? leaseMs + 1_000 : waitMs };
      call.end = { result: await runGuarded(guard, request, (run) => this.#work(call, run), system(caller)) };
    } catch (thrown) {
      call.end = { thrown };
    }
    if (getEventListeners(cancel.signal, 'abort').length > 0) this.#wrong(`I12 ${caller.name} left a listener behind`);
    this.#inspect(call, call.end);
  }

  #begins(call: Call, run: Run): void {
    const { name } = call.caller;
    const { nowMs } = this.#world;
    if (run.remainingMs() <= 0) this.#wrong(`I6 ${name} begins on a lease that is over`);
    for (const other of this.#calls) {
      if (other !== call && !other.caller.dead && other.holdsUntilMs > nowMs)
        this.#wrong(`I6 ${name} begins while ${other.caller.name} holds the lease`);
      if (other !== call && toldOf(other.end) !== undefined) this.#wrong(`I3 ${name} begins after ${other.caller.name} was told the outcome`);
    }
    call.run = run;
    call.holdsUntilMs = nowMs + run.remainingMs();
  }

  async #ask(call: Call, run: Run): Promise<'not-done'> {
    this.#begins(call, run);
    call.asked = true;
    await call.caller.point();
    call.holdsUntilMs = 0;
    return 'not-done';
  }

  async #work(call: Call, run: Run): Promise<string> {
    this.#begins(call, run);
    call.works += 1;
    if (this.#options.onUnknown !== 'retry' && !call.asked && this.#world.judge.afterUnknown.has(run.fence?.owner ?? ''))
      this.#wrong(`I8 ${call.caller.name} runs after an unknown outcome, and has not asked`);
    const { throws, step } = this.#options;
    const { caller } = call;
    const name = `${caller.name}${caller.calls}`;
    try {
      if (step === true) {
        await run.step('s', () => {
          if (this.#world.judge.hadStep(run.fence?.owner)) this.#wrong(`I3 ${name} begins a step that an earlier attempt had kept`);
          return `${name}/s`;
        });
        call.holdsUntilMs = this.#world.nowMs + run.remainingMs();
      }
      await caller.point();
      if (throws !== undefined && run.attempt === 1) throw thrownBy(throws);
      return name;
    } finally {
      call.late = this.#world.nowMs >= call.holdsUntilMs;
      call.holdsUntilMs = 0;
    }
  }

  #inspect({ caller, works, asked }: Call, end: End): void {
    const { name, calls } = caller;
    if ('thrown' in end) {
      const { thrown } = end;
      const isMine = thrown instanceof Mine || thrown instanceof NotDoneError || isPermanentError(thrown);
      const code = REFUSALS.find((known) => isRerunSafeError(thrown, known));
      if (!isMine && code === undefined) this.#wrong(`${name} threw ${String(thrown)}`);
      if (!isMine && this.#isCalm) this.#wrong(`I10 ${name} threw ${String(thrown)}, and there was no fault`);
      caller.wantsToCall = isRerunSafeError(thrown) ? thrown.retryable : isMine;
      const { standing } = this.#world;
      const isStanding = standing?.state === 'running' && standing.leaseMs > 0 && standing.owner.startsWith(`${name}${calls}-`);
      if (code === 'STORE_UNAVAILABLE' && works === 0 && !asked && isStanding)
        this.#wrong(`I8 ${name} was told that nothing was changed, while its claim stands`);
      if (code === 'LEASE_LOST' && String(thrown).includes('took it over') && !caller.sawOther)
        this.#wrong(`I7 ${name} was told that somebody else took over; nobody had`);
      if (code === 'LEASE_LOST' && standing?.state === 'completed' && standing.owner.startsWith(`${name}${calls}-`))
        this.#wrong(`I7 ${name} was told that its lease is lost; its own outcome stands`);
      return;
    }
    const { result } = end;
    if (result.kind === 'in-flight' && !caller.sawOther) this.#wrong(`I7 ${name} was told "in flight" because of itself`);
    if (result.kind === 'blocked' && !caller.sawBlocked) this.#wrong(`I8 ${name} was told "blocked"; nothing was`);
    if (result.kind === 'blocked' && this.#options.onUnknown === 'retry') this.#wrong(`I8 ${name} was blocked, though unknown is tried again`);
    if (result.kind === 'completed' && !result.saved && this.#storeAnswers) this.#wrong(`I3 ${name} could not save, and the store could be asked`);
    if (result.kind === 'key-reused') this.#wrong(`${name} was told "key-reused"`);
    caller.wantsToCall = result.kind === 'in-flight';
    const told = toldOf(end);
    // At once, and not only in the end: the store holds it when somebody is told.
    if (told !== undefined && this.#world.standing?.state !== 'completed') this.#wrong(`I3 ${name} was told an outcome that the store does not hold`);
  }

  /** Nothing could have gone wrong, and nobody waited until a lease was over. */
  get #isCalm(): boolean {
    const { faults, calls } = this.#world.scope;
    return faults.length === 0 && calls === 1 && this.#options.waitMs === undefined && this.#options.renew === undefined;
  }

  /** Whatever happens, it happens to callers; who is stopped a second time may sleep through the answer to whose outcome stands. */
  get #storeAnswers(): boolean {
    const { faults, mostFaults } = this.#world.scope;
    return mostFaults === 1 && faults.every((fault) => ['crash', 'pause', 'freeze', 'slow-work'].includes(fault));
  }

  ended(last: Caller): void {
    const { throws, onUnknown } = this.#options;
    this.#unknownStays();
    for (const { late, run, caller } of this.#calls)
      if (late && this.#world.judge.released.has(run?.fence?.owner ?? ''))
        this.#wrong(`I6 ${caller.name} declared a failure after its lease was over`);
    const final = this.#calls.at(-1) as Call;
    const { end } = final;
    if (end === undefined || last.busy) return;
    if ('thrown' in end && throws === undefined) this.#wrong(`I10 the last call threw ${String(end.thrown)}`);
    if ('result' in end && end.result.kind === 'in-flight') this.#wrong('I10 the last call was told "in flight"');
    // What a crashed caller was told nobody knows, but it was told: it must have been the same.
    const told = this.#calls.flatMap((call) => toldOf(call.end) ?? []);
    if (new Set(told).size > 1) this.#wrong(`I2 callers were told ${[...new Set(told)].join(' and ')}`);
    const works = this.#calls.reduce((sum, call) => sum + call.works, 0);
    const known = throws === 'plain' || throws === 'not-done' ? 2 : 1;
    if ((onUnknown === 'block' || this.#isCalm) && works > known) this.#wrong(`I8 the work began ${works} times`);
    if (told.length > 0 && this.#world.judge.outcome === undefined) this.#wrong('I3 an outcome was told that the store does not hold');
  }

  /** A claim that is given back before anything was begun must not make a failure of an outcome that nobody knows. */
  #unknownStays(): void {
    const { released, afterUnknown } = this.#world.judge;
    for (const { owners, works, asked, caller } of this.#calls)
      if (works === 0 && !asked && [...released].some((owner) => owner.startsWith(owners) && afterUnknown.has(owner)))
        this.#wrong(`I8 ${caller.name} made "released" of an unknown outcome`);
  }

  summary(): string {
    const ends = this.#calls.map(({ caller, end, works }) => `${caller.name}${caller.dead ? '†' : ''}: ${said(end)} after ${works}`);
    const { standing } = this.#world;
    return `${ends.sort().join(', ')}; ${standing?.state} attempt ${standing?.attempt} of ${standing?.holder}`;
  }
}

function thrownBy(throws: NonNullable<RecordOptions['throws']>): Error {
  if (throws === 'permanent') return new PermanentError('declined');
  return throws === 'plain' ? new Mine('mine') : new NotDoneError('not done');
}

/** What a caller takes for the outcome; undefined where it was told none, or that it could not be saved. */
function toldOf(end: End | undefined): string | undefined {
  if (end === undefined || 'thrown' in end) return undefined;
  const { result } = end;
  if (result.kind === 'failed') return String(result.error);
  return result.kind === 'completed' && result.saved ? JSON.stringify(result.value) : undefined;
}

function said(end: End | undefined): string {
  if (end === undefined) return 'nothing';
  if ('thrown' in end) return isRerunSafeError(end.thrown) ? end.thrown.code : String(end.thrown);
  const { result } = end;
  return result.kind === 'completed'
    ? `${result.replayed ? 'replayed' : result.saved ? 'completed' : 'unsaved'} ${String(result.value)}`
    : result.kind;
}
