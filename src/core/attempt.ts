/**
 * An owner's own moves on its record: renew, keep a step, complete, give up. One at a time, in order, each decided anew from the record that
 * stands there whenever the store says that another one does.
 *
 * @module
 */
import { OutcomeParts } from './beside.ts';
import { bounded, withinInvocation } from './bounded.ts';
import { completed, leaveRoom, noted, released, withdrawn, withSteps } from './changes.ts';
import type { CallFacts, Held } from './claim.ts';
import { decide, type MoveDecision, type MoveIntent } from './decide.ts';
import { isRerunSafeError, RerunSafeError } from './errors.ts';
import { Lifetime } from './lifetime.ts';
import type { Move, MoveResult, Send } from './move.ts';
import { invalidOptions } from './options.ts';
import type { Stored, WriteResult } from './ports.ts';
import type { BlockedWhy, Outcome, RecordToWrite, StoredStep, Version, Whole } from './record.ts';
import { Renewal, renewalLimitMs } from './renewal.ts';
import { Serial } from './serial.ts';
import { type StepChanges, StepWrites } from './step-writes.ts';
import { type Instant, instant, pause } from './system.ts';
import { writeRecord } from './together.ts';
import { pauseBeforeMs } from './waits.ts';

/** Conflicts and failures of one move, at most. */
const MOST_TRIES = 200;
const GIVE_UP_TRIES = 3;
/** After a save that found no answer until its lease was over: a look, the save once more, and a look for that. */
const MOST_LOOKS = 2;

export class Attempt {
  readonly lifetime: Lifetime;
  readonly attempt: number;
  readonly token: number;
  readonly owner: string;
  readonly parts: OutcomeParts;
  readonly #facts: CallFacts;
  readonly #renewal: Renewal | undefined;
  /** The record as this owner last knew it. */
  #record: RecordToWrite;
  /** undefined: the row is gone. */
  #version: Version | undefined;
  readonly #serial = new Serial();
  readonly #stepWrites = new StepWrites(this.#serial, (changes) => this.#keepSteps(changes));
  #final = false;
  #committing = false;

  constructor(facts: CallFacts, held: Held, onLost: (error: RerunSafeError) => void) {
    this.#facts = facts;
    this.#record = held.record;
    this.#version = held.version;
    this.attempt = held.record.attempt;
    this.token = held.record.token;
    this.owner = held.record.owner;
    const { system, guard, leaseMs, remainingMs, signal } = facts;
    this.lifetime = new Lifetime({ system, what: guard.operation, leaseMs, sentAt: held.sentAt, remainingMs, signal, onLost });
    this.parts = new OutcomeParts(facts, this.owner, { limitMs: () => this.#limitMs(), remainingMs: () => this.lifetime.remainingMs() });
    if (guard.renew === 'auto') this.#renewal = new Renewal(system, this.lifetime, leaseMs, (stop) => this.#renewOnce(stop));
  }

  /** A final write was sent: nothing can be kept any more. */
  get over(): boolean {
    return this.#final;
  }

  get steps(): NonNullable<RecordToWrite['steps']> {
    return this.#record.steps ?? {};
  }

  /** The run is over, and nobody waits for what it may still bring about: nothing is written any more. */
  end(): void {
    this.#final = true;
    this.lifetime.end();
  }

  /** The work has settled: renewal stops. */
  settled(): Promise<void> | undefined {
    return this.#renewal?.stop();
  }

  /** undefined takes its mark back. */
  async keepStep(name: string, step: StoredStep | undefined): Promise<MoveResult> {
    // It would wait for the commit; and the commit for it, where what is committed is written by one that awaits a step.
    if (this.#committing) throw invalidOptions('run.step', [`the step "${name}" ends while the run is being committed: do it before the commit`]);
    return this.#stepWrites.keep(name, step);
  }

  async #keepSteps(changes: StepChanges): Promise<MoveResult> {
    const { leaseMs, remainingMs, guard } = this.#facts;
    if (!leaveRoom(this.#record, changes, guard.store.limits)) return { kind: 'too-large' };
    const result = await this.#move({
      kind: 'step',
      change: (standing) => withSteps(standing, changes),
      keepTrying: () => this.lifetime.remainingMs() > 0,
      // Short, so that a renewal waiting behind it still comes in time.
      limitMs: withinInvocation(Math.max(500, leaseMs / 4), remainingMs()),
    });
    // Every write restarts the lease in the store.
    if (result.kind === 'written') this.lifetime.renewed(result.sentAt);
    if ((result.kind === 'lost' || result.kind === 'adopt') && !this.#final) this.lifetime.lose('somebody else took it over');
    return result;
  }

  /** Always tried, at least once, also after the lease was lost: the store decides. */
  async complete(outcome: Outcome, as: 'completed' | 'error' = 'completed'): Promise<MoveResult> {
    await this.settled();
    return this.#serial.run(() => this.#finish(outcome, as));
  }

  /** The completion, written by `send` together with business rows. Where it is known not to have happened, the attempt goes on. */
  async commit(outcome: Whole, send: Send): Promise<MoveResult> {
    this.#committing = true;
    try {
      return await this.#commit(await this.parts.put(outcome, 'completed'), send);
    } catch (error) {
      if (!isRerunSafeError(error)) throw error;
      return { kind: 'no-answer', error };
    } finally {
      this.#committing = false;
    }
  }

  #commit(outcome: Outcome, send: Send): Promise<MoveResult> {
    return this.#serial.run(async () => {
      if (this.#final) return { kind: 'lost' };
      const result = await this.#finish(outcome, 'completed', send);
      this.#final = result.kind !== 'too-large' && !(result.kind === 'no-answer' && !isRerunSafeError(result.error, 'WRITE_UNKNOWN'));
      return result;
    });
  }

  async #finish(outcome: Outcome, as: 'completed' | 'error', send?: Send): Promise<MoveResult> {
    this.#final = true;
    const retentionMs = this.#facts.retention[as];
    const move: Move = {
      kind: 'complete',
      change: (standing) => completed(standing, outcome, retentionMs),
      keepTrying: () => this.lifetime.remainingMs() > 0,
      ...(send === undefined ? {} : { send }),
    };
    let result = await this.#move(move, true);
    // Until the lease ends, then a look: somebody else may have taken over meanwhile, or the save may have landed after all.
    for (let looks = 0; result.kind === 'no-answer' && looks < MOST_LOOKS; looks++) {
      const seen = await this.#look(move.kind);
      if (seen !== 'still-to-do') return seen ?? result;
      // Business rows go with it only while the lease is alive; and an invocation at its end has time for one look, and its caller's answer.
      if (send !== undefined || looks + 1 === MOST_LOOKS || this.#facts.remainingMs() <= 0) break;
      result = await this.#move({ ...move, keepTrying: () => false }, true);
    }
    return result;
  }

  /** A throw of the work, as it was judged. After the lease is over nothing is declared: the record lapses. */
  async giveUp(as: 'release' | 'unknown' | 'withdraw', note?: string): Promise<MoveResult> {
    const { retention } = this.#facts;
    await this.settled();
    let tries = 0;
    return this.#serial.run(async () => {
      if (this.lifetime.lost) return { kind: 'lost' };
      this.#final = true;
      return this.#move(
        {
          kind: 'give-up',
          change: (standing) => {
            const over =
              as === 'unknown' ? { ...standing, leaseMs: 0 } : released(as === 'withdraw' ? withdrawn(standing) : standing, retention.released);
            return noted(over, note);
          },
          keepTrying: () => this.lifetime.remainingMs() > 0 && ++tries < GIVE_UP_TRIES,
        },
        true,
      );
    });
  }

  /** Blocking changes owner and token, so that what this attempt may still send is refused. */
  async block(blockedWhy: BlockedWhy = 'unknown', note?: string): Promise<MoveResult> {
    await this.settled();
    return this.#serial.run(() => {
      this.#final = true;
      const owner = this.#facts.system.nonce();
      return this.#move(
        {
          kind: 'give-up',
          change: (standing) => noted({ ...standing, state: 'blocked', blockedWhy, owner, token: standing.token + 1 }, note),
          keepTrying: () => this.lifetime.remainingMs() > 0,
        },
        true,
      );
    });
  }

  #renewOnce(stop: AbortSignal): ReturnType<ConstructorParameters<typeof Renewal>[3]> {
    return this.#serial.run(async () => {
      if (stop.aborted || this.#final || this.lifetime.lost) throw new RerunSafeError('LEASE_LOST', 'too late to renew');
      const { leaseMs } = this.#facts;
      const move: Move = { kind: 'renew', change: (standing) => standing, keepTrying: () => false, limitMs: renewalLimitMs(leaseMs), signal: stop };
      const result = await this.#move(move);
      if (result.kind === 'written') return { kind: 'renewed', sentAt: result.sentAt };
      if (result.kind === 'lost' || result.kind === 'adopt') return { kind: 'lost' };
      throw result.kind === 'no-answer' ? result.error : new RerunSafeError('STORE_MISCONFIGURED', 'A renewal was refused for its size.');
    });
  }

  async #move(move: Move, final = false): Promise<MoveResult> {
    const { system, id } = this.#facts;
    const sends = new Map<string, Instant>();
    const send = move.send ?? ((record, version) => this.#store(record, version, move));
    let doubt: unknown;
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      // Lost, or over, is final for all but the completion, also for what was waiting to be tried again.
      if ((move.kind !== 'complete' && this.lifetime.lost) || (this.#final && !final))
        return doubt === undefined ? { kind: 'lost' } : { kind: 'no-answer', error: doubt };
      const record = this.#next(move.change(this.#record));
      sends.set(record.revision, instant(system.clock));
      let result: WriteResult;
      try {
        result = await send(record, this.#version);
      } catch (failure) {
        // A later "did not happen" settles its own try, not an earlier one that got no answer.
        if (isRerunSafeError(failure, 'WRITE_UNKNOWN')) doubt = failure;
        if (!isStoreFailure(failure) || !move.keepTrying()) return { kind: 'no-answer', error: doubt ?? failure };
        await pause(system, Math.min(pauseBeforeMs(tries, system), Math.max(1, this.lifetime.remainingMs())));
        continue;
      }
      if (result.ok) return this.#keep(record, result.version, sends);
      if (result.reason === 'too-large') return { kind: 'too-large' };
      const { current } = result;
      // An answer that was lost, and a retry that met our own write.
      if (current !== undefined && sends.has(current.record.revision)) return this.#keep(current.record, current.version, sends);
      const intent: MoveIntent = { kind: move.kind, owner: this.owner, fingerprint: this.#facts.fingerprint };
      const decided = await this.#follow(decide(current, intent, { nowMs: 0, uncertaintyMs: 0 }));
      if (decided !== 'still-to-do') return decided;
    }
    return { kind: 'no-answer', error: doubt ?? new RerunSafeError('WRITE_UNKNOWN', `The record ${id} changed under each of ${MOST_TRIES} tries.`) };
  }

  #next(record: RecordToWrite): RecordToWrite {
    const revision = this.#facts.system.nonce();
    // Made anew, the row may follow one with a higher token that was purged.
    const token = this.#version === undefined ? Math.max(record.token, this.#facts.guard.store.clock.nowMs()) : record.token;
    return { ...record, token, revision };
  }

  #keep(record: RecordToWrite, version: Version, sends: ReadonlyMap<string, Instant>): MoveResult {
    // Only a completion makes a row anew.
    const vanished = this.#version === undefined;
    this.#record = record;
    this.#version = version;
    const sentAt = sends.get(record.revision) as Instant;
    return { kind: 'written', sentAt, ...(vanished ? { vanished } : {}) };
  }

  /** Takes in what stands there, so that the next send is over that. */
  async #follow(decision: MoveDecision): Promise<MoveResult | 'still-to-do'> {
    if (decision.kind === 'write') {
      this.#record = decision.over.record;
      this.#version = decision.over.version;
      return 'still-to-do';
    }
    if (decision.kind === 'create') {
      this.#version = undefined;
      const error = await this.parts.putAgain();
      return error === undefined ? 'still-to-do' : { kind: 'no-answer', error };
    }
    return decision.kind === 'done' ? { kind: 'written', sentAt: instant(this.#facts.system.clock) } : decision;
  }

  /** undefined: the store does not say. */
  async #look(kind: MoveIntent['kind']): Promise<MoveResult | 'still-to-do' | undefined> {
    const { system, guard, id, fingerprint } = this.#facts;
    let standing: Stored | undefined;
    try {
      standing = await bounded(system, this.#limitMs(), (options) => guard.store.read(id, options));
    } catch {
      return undefined;
    }
    return this.#follow(decide(standing, { kind, owner: this.owner, fingerprint }, { nowMs: 0, uncertaintyMs: 0 }));
  }

  #store(record: RecordToWrite, version: Version | undefined, move: Move): Promise<WriteResult> {
    const { system, guard, id } = this.#facts;
    const { store } = guard;
    return bounded(system, move.limitMs ?? this.#limitMs(), (options) => writeRecord(store, { id, record, version }, options), move.signal);
  }

  /** One request that hangs must leave time for another within the lease; after the lease there is only one. */
  #limitMs(): number {
    const leftMs = this.lifetime.leaseLeftMs();
    return withinInvocation(leftMs === 0 ? 5_000 : Math.max(leftMs / 4, 500), this.#facts.remainingMs());
  }
}

const isStoreFailure = (error: unknown): boolean => isRerunSafeError(error, 'STORE_UNAVAILABLE') || isRerunSafeError(error, 'WRITE_UNKNOWN');
