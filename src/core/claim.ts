/**
 * From a caller who wants to run to an answer: the record is ours, or why not.
 *
 * @module
 */
import { bounded, tryLimitMs, withinInvocation } from './bounded.ts';
import { type BeginDecision, type Claim, decide } from './decide.ts';
import { isRerunSafeError, RerunSafeError, storeMisconfigured, storeUnavailable, writeUnknown } from './errors.ts';
import type { Guard } from './guard.ts';
import type { Stored, System, WriteResult } from './ports.ts';
import { type BlockedWhy, type Outcome, type Owner, type RecordId, type RecordToWrite, SCHEMA, type Version } from './record.ts';
import { elapsedMs, type Instant, instant, ownRemainingMs, pause } from './system.ts';
import { writeRecord } from './together.ts';
import { nextObservation, pauseBeforeMs } from './waits.ts';

/** Everything about one call that is taken once, before the work. */
export interface CallFacts {
  readonly system: System;
  readonly guard: Guard;
  readonly id: RecordId;
  readonly scope: string;
  readonly label: string | undefined;
  readonly fingerprint: string | undefined;
  readonly holder: string | undefined;
  readonly leaseMs: number;
  readonly retention: Guard['retention'];
  readonly waitMs: number;
  readonly remainingMs: () => number;
  readonly signal: AbortSignal | undefined;
}

/** A record that is ours: as it stands, and from when the lease counts. */
export interface Held {
  readonly record: RecordToWrite;
  readonly version: Version;
  readonly sentAt: Instant;
  /** The attempt before this one ended with no outcome: until it is known, giving up says unknown again. */
  readonly afterUnknown: boolean;
  /** Ask the caller's `onUnknown` before the work starts. */
  readonly ask: boolean;
}

/** What giving up a claim under which nothing was begun leaves behind: released, or as unknown as it was found. */
export const givenBack = ({ record, afterUnknown }: Pick<Held, 'record' | 'afterUnknown'>, revision: string): RecordToWrite =>
  afterUnknown ? { ...record, leaseMs: 0, revision } : { ...record, state: 'released', revision };

export type ClaimResult =
  | { readonly kind: 'claimed'; readonly held: Held }
  | { readonly kind: 'replay'; readonly outcome: Outcome; readonly attempt: number; readonly waited: boolean; readonly leftMs: number }
  | { readonly kind: 'in-flight'; readonly retryAfterMs: number }
  | { readonly kind: 'key-reused' }
  | { readonly kind: 'blocked'; readonly why: BlockedWhy; readonly attempt: number };

/** A claim that is refused, given back or overtaken is decided anew at most so often. */
const MOST_ROUNDS = 50;
const GIVE_BACK_TRIES = 3;
/** A store that does not answer for so long is away: to wait as long as a lease (in Lambda: the whole invocation) would only cost time. */
const LONGEST_DOUBT_MS = 10_000;

export class Claimer {
  readonly #facts: CallFacts;
  /** Each write by its revision: if an earlier one is what stands, the lease counts from when that was sent, and it is that claim. */
  readonly #sends = new Map<string, { readonly sentAt: Instant; readonly claim: Claim | undefined }>();
  readonly #owners = new Set<Owner>();
  #owner: Owner;
  #standing: Stored | undefined;
  /** Since when an own write is without an answer; undefined when none is. */
  #doubtSince: Instant | undefined;
  #doubt: unknown;
  #tries = 0;

  constructor(facts: CallFacts) {
    this.#facts = facts;
    this.#owner = facts.system.nonce();
    this.#owners.add(this.#owner);
  }

  async claim(): Promise<ClaimResult> {
    const { guard, system, waitMs, remainingMs } = this.#facts;
    const startedAt = instant(system.clock);
    let waits = 0;
    for (let round = 0; round < MOST_ROUNDS; ) {
      this.#facts.signal?.throwIfAborted();
      const decision = this.#decide();
      if (decision.kind === 'in-flight') {
        const leftMs = Math.min(waitMs - elapsedMs(startedAt, system.clock), remainingMs());
        if (leftMs <= 0) return decision;
        await this.#waitForChange(waits++, leftMs);
        continue;
      }
      round += 1;
      if (decision.kind === 'ours') {
        const held = this.#held(decision.standing);
        if (ownRemainingMs(held.sentAt, this.#facts.leaseMs, system.clock) > 0) return { kind: 'claimed', held };
        await this.#giveBack(held);
      } else if (decision.kind === 'claim') {
        const held = await this.#tryClaim(decision);
        if (held !== undefined) return { kind: 'claimed', held };
      } else if (decision.kind === 'block') {
        if (await this.#tryBlock(decision)) return { kind: 'blocked', why: decision.why, attempt: decision.over.record.attempt };
      } else if (decision.kind === 'replay') {
        const { record, ageMs } = this.#standing as Stored;
        return { ...decision, waited: waits > 0, leftMs: record.retentionMs - ageMs };
      } else {
        return decision;
      }
    }
    throw storeUnavailable(`${guard.operation}: the record changed under each of ${MOST_ROUNDS} claims`, this.#doubt);
  }

  #decide(): BeginDecision {
    const { guard, fingerprint } = this.#facts;
    const { clock } = guard.store;
    const onUnknown = typeof guard.onUnknown === 'function' ? 'ask' : guard.onUnknown;
    return decide(
      this.#standing,
      { kind: 'begin', owners: this.#owners, fingerprint, onUnknown, maxAttempts: guard.maxAttempts },
      { nowMs: clock.nowMs(), uncertaintyMs: clock.uncertaintyMs },
    );
  }

  /** The claim as written; undefined: decide anew from what stands there now. */
  async #tryClaim(claim: Claim): Promise<Held | undefined> {
    const record = this.#runningRecord(claim);
    const result = await this.#send(record, claim.over?.version, claim);
    if (result === undefined) return undefined;
    // Settled: another record stands, and our earlier one may have been taken over. Whoever was overtaken never comes back under the same name.
    if (!result.ok) this.#renameOwner();
    if (!result.ok) return undefined;
    const held = this.#held({ record: { ...record, token: result.token ?? record.token }, version: result.version });
    if (ownRemainingMs(held.sentAt, this.#facts.leaseMs, this.#facts.system.clock) > 0) return held;
    await this.#giveBack(held);
    return undefined;
  }

  async #tryBlock(decision: Extract<BeginDecision, { kind: 'block' }>): Promise<boolean> {
    const { over } = decision;
    const record: RecordToWrite = {
      ...over.record,
      state: 'blocked',
      blockedWhy: decision.why,
      // What a person says of it later is an outcome, and kept like one.
      retentionMs: this.#facts.retention.completed,
      owner: this.#facts.system.nonce(),
      token: decision.token,
      revision: this.#facts.system.nonce(),
    };
    const result = await this.#send(record, over.version, undefined);
    return result?.ok === true;
  }

  /** Sends a write; keeps what stands there after a conflict. undefined: no answer, and still time to find out. */
  async #send(record: RecordToWrite, version: Version | undefined, claim: Claim | undefined): Promise<WriteResult | undefined> {
    const { system, guard, id, leaseMs, signal } = this.#facts;
    const { store } = guard;
    this.#sends.set(record.revision, { sentAt: instant(system.clock), claim });
    try {
      const result = await bounded(
        system,
        withinInvocation(tryLimitMs(leaseMs), this.#facts.remainingMs()),
        (options) => writeRecord(store, { id, record, version }, options),
        signal,
      );
      // Whatever was sent before this answer is settled by it: the row is ours, or another version stands and no earlier write of ours can land.
      this.#doubtSince = undefined;
      if (!result.ok && result.reason === 'too-large') throw storeMisconfigured('it refuses the claim itself for its size.');
      if (!result.ok) this.#standing = result.current;
      return result;
    } catch (error) {
      await this.#inDoubt(error, record.revision);
      return undefined;
    }
  }

  /** Returns when the claim should be tried again; throws when it is known not to have happened, or when time is up. */
  async #inDoubt(error: unknown, revision: string): Promise<void> {
    const unknown = isRerunSafeError(error, 'WRITE_UNKNOWN');
    // A refused connection settles this try, but not an earlier one that got no answer.
    const stillOpen = this.#doubtSince !== undefined && isRerunSafeError(error, 'STORE_UNAVAILABLE');
    if (!unknown && !stillOpen) throw error;
    const { system, leaseMs, remainingMs, signal } = this.#facts;
    this.#doubtSince ??= this.#sent(revision).sentAt;
    this.#doubt = error;
    const patienceMs = LONGEST_DOUBT_MS - elapsedMs(this.#doubtSince, system.clock);
    const leftMs = Math.min(ownRemainingMs(this.#doubtSince, leaseMs, system.clock), remainingMs(), patienceMs);
    const pauseMs = pauseBeforeMs(this.#tries++, system);
    if (leftMs > pauseMs && !signal?.aborted) {
      await pause(system, pauseMs, signal).catch(() => {});
      if (!signal?.aborted) return;
    }
    await this.#releaseIfOurs();
    signal?.throwIfAborted();
    throw writeUnknown('the claim; the work was not started', error);
  }

  /** Once, best effort: a claim nobody works under would only hold others up until its lease ends. */
  async #releaseIfOurs(): Promise<void> {
    const { system, guard, id } = this.#facts;
    try {
      const standing = await bounded(system, this.#giveBackLimitMs(), (options) => guard.store.read(id, options));
      if (standing?.record.state === 'running' && this.#owners.has(standing.record.owner)) await this.#release(this.#held(standing));
    } catch {
      // Said by the caller already: the claim is in doubt. It ends by its lease.
    }
  }

  /**
   * A claim whose answer came after its own deadline: somebody else may count on the key by now. Tried a few times; while it may still stand, nobody
   * can say that nothing was changed, nor call it somebody else's.
   */
  async #giveBack(held: Held): Promise<void> {
    const { system, signal } = this.#facts;
    let failure: unknown;
    for (let tries = 0; tries < GIVE_BACK_TRIES; tries++) {
      try {
        const result = await this.#release(held);
        // What stands now: nothing of ours, or our own release, whose answer was lost.
        this.#standing = result.ok ? await this.#read() : result.reason === 'conflict' ? result.current : this.#standing;
        this.#renameOwner();
        return;
      } catch (error) {
        failure = error;
        if (!isRerunSafeError(error) || !error.retryable || this.#facts.remainingMs() <= 0) break;
        await pause(system, pauseBeforeMs(tries, system), signal).catch(() => {});
      }
    }
    throw writeUnknown('the claim came too late and could not be given back; the work was not started', failure);
  }

  #read(): Promise<Stored | undefined> {
    const { system, guard, id, leaseMs, signal } = this.#facts;
    return bounded(system, tryLimitMs(leaseMs), (options) => guard.store.read(id, options), signal);
  }

  #renameOwner(): void {
    this.#owner = this.#facts.system.nonce();
    this.#owners.add(this.#owner);
  }

  #giveBackLimitMs(): number {
    return withinInvocation(2_000, this.#facts.remainingMs());
  }

  #release(held: Held): Promise<WriteResult> {
    const { system, guard, id } = this.#facts;
    const record = givenBack(held, system.nonce());
    return bounded(system, this.#giveBackLimitMs(), (options) => guard.store.replace(id, record, held.version, options));
  }

  async #waitForChange(round: number, leftMs: number): Promise<void> {
    const { system, guard, id, signal } = this.#facts;
    const over = new AbortController();
    const cancel = system.timers.after(leftMs, () => over.abort(TIME_IS_UP), { keepAlive: true });
    const stop = signal === undefined ? over.signal : AbortSignal.any([over.signal, signal]);
    try {
      this.#standing = await nextObservation(system, guard.store, id, round, stop);
    } catch (error) {
      // Reads that fail are tried again until the wait is over; then the last known state stands.
      signal?.throwIfAborted();
      if (error !== TIME_IS_UP && !isRerunSafeError(error, 'STORE_UNAVAILABLE') && !isRerunSafeError(error, 'WRITE_UNKNOWN')) throw error;
    } finally {
      cancel();
    }
  }

  #runningRecord(claim: Claim): RecordToWrite {
    const { guard, scope, label, holder, leaseMs, retention, system } = this.#facts;
    const fingerprint = this.#facts.fingerprint ?? (claim.attempt > 1 ? claim.over?.record.fingerprint : undefined);
    return {
      schema: SCHEMA,
      operation: guard.operation,
      scope,
      state: 'running',
      owner: this.#owner,
      revision: system.nonce(),
      token: claim.token,
      attempt: claim.attempt,
      leaseMs,
      retentionMs: retention.completed,
      createdAtMs: claim.attempt > 1 && claim.over ? claim.over.record.createdAtMs : guard.store.clock.nowMs(),
      ...(label === undefined ? {} : { label }),
      ...(fingerprint === undefined ? {} : { fingerprint }),
      ...(holder === undefined ? {} : { holder }),
      ...(claim.steps === undefined ? {} : { steps: claim.steps }),
    };
  }

  #held({ record, version }: Pick<Held, 'record' | 'version'>): Held {
    const { sentAt, claim } = this.#sent(record.revision);
    return { record, version, sentAt, afterUnknown: claim?.afterUnknown ?? false, ask: claim?.ask ?? false };
  }

  #sent(revision: string): { readonly sentAt: Instant; readonly claim: Claim | undefined } {
    const sent = this.#sends.get(revision);
    if (sent === undefined) throw new RerunSafeError('WRITE_UNKNOWN', 'A record stands under our owner that this call did not send.');
    return sent;
  }
}

const TIME_IS_UP = Symbol('the wait is over');
