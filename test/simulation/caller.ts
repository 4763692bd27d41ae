import { isPermanentError, isRerunSafeError, NotDoneError } from '../../src/core/errors.ts';
import { type Guard, guardFrom, type UnknownAnswer } from '../../src/core/guard.ts';
import type { RecordToWrite } from '../../src/core/record.ts';
import type { Run } from '../../src/core/run.ts';
import { type RunResult, runGuarded } from '../../src/core/run-once.ts';
import { elapsedMs, type Instant, instant } from '../../src/core/system.ts';
import { CANCELLED, Cancel } from './cancel.ts';
import type { Dice } from './dice.ts';
import type { Client } from './network.ts';
import type { Process } from './process.ts';
import type { Scene } from './scene.ts';
import { Steps } from './steps.ts';
import { Mine, randomWork } from './work.ts';

/** What one seed chose for all its callers. */
export interface Plan {
  readonly retentionMs: number;
  /** Outcomes expire while the run is watched. */
  readonly brief: boolean;
  readonly renew: 'auto' | 'none';
  readonly policy: 'retry' | 'block' | 'ask';
  readonly vanishes: boolean;
  readonly person: 'nobody' | 'resolves' | 'forgets' | 'insists';
  readonly sweeps: boolean;
}

export const OPERATION = 'simulated';
export const KEY = 'k';
const REFUSALS = ['BLOCKED', 'LEASE_LOST', 'WRITE_UNKNOWN', 'STORE_UNAVAILABLE', 'RESULT_NOT_STORED', 'DUPLICATE_STEP'] as const;

/** One call and what became of it. */
export interface Caller {
  readonly name: string;
  readonly process: Process;
  readonly client: Client;
  /** undefined: its work only gives its name. */
  readonly dice: Dice | undefined;
  readonly startedAtMs: number;
  run?: Run;
  asked?: unknown;
  works: number;
  workOver: boolean;
  /** The work ended after its lease was over. */
  late?: boolean;
  /** Of its lease, when the work ended. */
  leftMs?: number;
  workEndedAt?: Instant;
  end?: { readonly result: RunResult<unknown> } | { readonly thrown: unknown };
}

export interface Seat {
  readonly process: Process;
  readonly client: Client;
  readonly guard: Guard;
}

/** All calls with one key, and what each of them may see and be told. */
export class Callers {
  readonly all: Caller[] = [];
  readonly #scene: Scene;
  readonly #plan: Plan;
  readonly #steps: Steps;
  #guard: Guard | undefined;

  constructor(scene: Scene, plan: Plan) {
    this.#scene = scene;
    this.#plan = plan;
    this.#steps = new Steps(scene, this.lasting);
  }

  /** What was told stays so. */
  get lasting(): boolean {
    const { brief, vanishes, person } = this.#plan;
    return !brief && !vanishes && !this.#scene.losesWrites && person !== 'forgets' && person !== 'insists';
  }

  /** What is chosen once for all calls of a process; the options are checked once for all of them. */
  seat(process: Process, client: Client): Seat {
    this.#guard ??= this.#checked(client);
    return { process, client, guard: { ...this.#guard, store: client } };
  }

  #checked(store: Client): Guard {
    const { leaseMs } = this.#scene;
    const { retentionMs, renew, policy } = this.#plan;
    return guardFrom('simulation', { store, operation: OPERATION, leaseMs, retentionMs, renew, onUnknown: policy === 'ask' ? 'retry' : policy });
  }

  /** `dice` decide what the work does; undefined: it only gives its name. */
  async call(seat: Seat, dice: Dice | undefined, waitMs: number): Promise<Caller> {
    const { world, leaseMs } = this.#scene;
    const { policy } = this.#plan;
    const { process, client } = seat;
    const startedAtMs = world.elapsedMs;
    const caller: Caller = { name: `call ${this.all.length + 1}`, process, client, dice, startedAtMs, works: 0, workOver: false };
    this.all.push(caller);
    const cancel = new Cancel(caller.name, process, dice, leaseMs * 2);
    try {
      const guard: Guard = policy === 'ask' ? { ...seat.guard, onUnknown: (run) => this.#ask(caller, run) } : seat.guard;
      const given = { key: KEY, holder: caller.name, waitMs, signal: cancel.signal };
      caller.end = { result: await runGuarded(guard, given, (run) => this.#work(caller, run), process) };
    } catch (thrown) {
      caller.end = { thrown };
    }
    caller.workOver = true;
    if (cancel.end() > 0) this.#fail(`I12 ${caller.name} left a listener behind`);
    this.#inspect(caller);
    return caller;
  }

  /** What may not leave a process. */
  onSend(process: Process): (record: RecordToWrite) => void {
    return (record) => {
      const own = this.all.find((caller) => caller.process === process && caller.run?.fence?.owner === record.owner);
      if (record.state === 'completed' || record.state === 'blocked' || own?.run?.remainingMs() !== 0) return;
      if (record.state !== 'released' && record.leaseMs > 0) this.#fail(`I4 ${own.name} sent a renewal or a step after its lease was over`);
      else if (own.late) this.#fail(`I6 ${own.name} declared a failure after its lease was over`);
    };
  }

  /** Records that stood at some time during the call. */
  stoodDuring({ startedAtMs }: Caller): RecordToWrite[] {
    const { history } = this.#scene.shelf;
    const later = history.findIndex(({ atMs }) => atMs >= startedAtMs);
    return history.slice(later === -1 ? -1 : Math.max(0, later - 1)).flatMap(({ record }) => (record === undefined ? [] : [record]));
  }

  #fail(reason: string): void {
    this.#scene.fail(reason);
  }

  #begins(caller: Caller, run: Run): void {
    const scene = this.#scene;
    const isAtWork = ({ run: own, workOver }: Caller): boolean => own !== undefined && !workOver;
    if (isAtWork(caller) && caller.run !== run) this.#fail(`${caller.name} works twice at once`);
    caller.run = run;
    caller.workOver = false;
    if (run.remainingMs() <= 0) this.#fail(`I6 ${caller.name} starts on a lease that is over`);
    // Where the row vanished, or a person insisted, nothing stands between two claims.
    if (this.#plan.vanishes || this.#plan.person === 'insists' || !scene.clocksAreRight) return;
    if (!scene.shelf.isSinceLoss(run.fence?.owner)) return;
    for (const other of this.all) {
      if (other === caller || !isAtWork(other) || !scene.shelf.isSinceLoss(other.run?.fence?.owner)) continue;
      // By a commit: what it does afterwards changes nothing, and a person may have forgotten its outcome.
      if (scene.shelf.hasCompleted(other.run?.fence?.owner)) continue;
      if ((other.run?.remainingMs() ?? 0) > 0) this.#fail(`I6 ${caller.name} starts while ${other.name} holds the lease`);
    }
  }

  async #work(caller: Caller, run: Run): Promise<unknown> {
    const { process, client, dice } = caller;
    this.#begins(caller, run);
    caller.works += 1;
    const name = `${caller.name}/${caller.works}`;
    if (this.#plan.policy !== 'retry' && this.#isAfterUnknown(run) && caller.asked !== 'not-done')
      this.#fail(`I8 ${caller.name} runs after an unknown outcome without asking`);
    try {
      if (dice === undefined) return name;
      return await randomWork({ scene: this.#scene, process, client, dice, name, run, steps: this.#steps });
    } finally {
      caller.workOver = true;
      caller.leftMs = run.remainingMs();
      caller.late = caller.leftMs === 0;
      caller.workEndedAt = instant(process.clock);
    }
  }

  /** Whether this attempt was claimed over one that had lapsed. */
  #isAfterUnknown(run: Run): boolean {
    const { shelf } = this.#scene;
    return shelf.history[shelf.claimOf(run.fence?.owner) - 1]?.record?.state === 'running';
  }

  async #ask(caller: Caller, run: Run): Promise<UnknownAnswer<unknown>> {
    const { world, tally, leaseMs } = this.#scene;
    const { dice, name, process } = caller;
    this.#begins(caller, run);
    tally.saw('asked');
    if (dice?.chance(0.5)) await world.sleep(dice.between(0, leaseMs * 1.5), process);
    caller.workOver = true;
    if (dice?.chance(0.15)) throw new Mine('the far side does not answer');
    const answer = dice?.pick(['not-done', 'not-done', 'done', 'block'] as const) ?? 'not-done';
    caller.asked = answer;
    return answer === 'done' ? { done: `${name}/found` } : answer;
  }

  #inspect(caller: Caller): void {
    const { end, name } = caller;
    const { world } = this.#scene;
    if (end === undefined) return;
    if ('thrown' in end) this.#inspectThrown(caller, end.thrown);
    else this.#inspectResult(caller, end.result);
    world.trace.add(world.elapsedMs);
    world.trace.add(name);
    world.trace.add('thrown' in end ? (end.thrown as Error).message : end.result.kind);
    if ('result' in end && end.result.kind === 'completed') world.trace.add(String(end.result.value));
  }

  #inspectThrown(caller: Caller, thrown: unknown): void {
    const { shelf, tally, losesWrites } = this.#scene;
    const { name, run } = caller;
    const owner = run?.fence?.owner;
    const code = REFUSALS.find((known) => isRerunSafeError(thrown, known));
    const isMine = thrown instanceof Mine || thrown instanceof NotDoneError || isPermanentError(thrown);
    tally.saw(code ?? (isMine ? 'threw' : 'cancelled'));
    if (code === undefined && thrown !== CANCELLED && !isMine) this.#fail(`${name} threw ${String(thrown)} ${(thrown as Error)?.stack}`);
    // What a step says of itself goes to the caller as it is, where nothing can be declared any more.
    if (code === 'BLOCKED' && !caller.late && run?.remainingMs() !== 0)
      this.#fail(`I8 ${name} was told "blocked", with its lease alive, and the record was not`);
    if (String(thrown).includes('did not send')) this.#fail(`${name} threw ${String(thrown)}`);
    if (code === 'LEASE_LOST' && String(thrown).includes('took it over') && caller.asked !== 'block' && !this.#plan.vanishes) {
      if (shelf.history.slice(shelf.claimOf(owner)).every(({ record }) => record?.owner === owner))
        this.#fail(`I7 ${name} was told that somebody else took over; nobody had`);
    }
    const standing = shelf.standing?.record;
    const began = caller.works > 0 || caller.asked !== undefined;
    if (code !== 'STORE_UNAVAILABLE' || began || losesWrites || shelf.wasRemoved || standing?.holder !== name) return;
    if (standing.state === 'running' && standing.leaseMs > 0) this.#fail(`I8 ${name} was told that nothing was changed, while its claim stands`);
  }

  #inspectResult(caller: Caller, result: RunResult<unknown>): void {
    const { tally } = this.#scene;
    const { name } = caller;
    tally.saw(result.kind === 'completed' ? (result.replayed ? 'replayed' : result.saved ? 'completed' : 'saved: false') : result.kind);
    if (result.kind === 'completed' && !result.saved) this.#inspectUnsaved(caller);
    if (result.kind === 'in-flight' && !this.stoodDuring(caller).some((record) => record.holder !== name))
      this.#fail(`I7 ${name} was told "in flight" because of itself`);
    if (result.kind === 'blocked' && !this.stoodDuring(caller).some((record) => record.state === 'blocked'))
      this.#fail(`I8 ${name} was told "blocked"; nothing was`);
    if (result.kind === 'completed' && result.replayed && caller.works > 0) tally.saw('adopted');
  }

  /** A save is tried until the lease is over. */
  #inspectUnsaved({ name, process, run, leftMs = 0, workEndedAt }: Caller): void {
    const { shelf } = this.#scene;
    const isTaken = shelf.standing?.record?.owner !== run?.fence?.owner;
    if (workEndedAt === undefined || isTaken || shelf.options.maxRecordBytes < 1_000_000) return;
    const triedMs = elapsedMs(workEndedAt, process.clock);
    if (triedMs < leftMs - 1) this.#fail(`${name} gave up its save after ${triedMs} ms, with ${leftMs} ms of the lease left`);
  }
}
