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
import type { BlockedWhy, Outcome, Owner, RecordId, RecordToWrite, Version } from './record.ts';
import { elapsedMs, type Instant, instant, ownRemainingMs, pause } from './system.ts';
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
  readonly retentionMs: number;
  readonly waitMs: number;
  readonly remainingMs: () => number;
  readonly signal: AbortSignal | undefined;
}

/** A record that is ours: as it stands, and from when the lease counts. */
export interface Held {
  readonly record: RecordToWrite;
  readonly version: Version;
  readonly sentAt: Instant;
}

export type ClaimResult =
  | { readonly kind: 'claimed'; readonly held: Held; readonly takenOver: boolean; readonly ask: boolean }
  | { readonly kind: 'replay'; readonly outcome: Outcome; readonly attempt: number; readonly waited: boolean }
  | { readonly kind: 'in-flight'; readonly retryAfterMs: number }
  | { readonly kind: 'key-reused' }
  | { readonly kind: 'blocked'; readonly why: BlockedWhy; readonly attempt: number };

/** A claim that is refused, given back or overtaken is decided anew at most so often. */
const MOST_ROUNDS = 50;

export class Claimer {
  readonly #facts: CallFacts;
  /** When each write was first sent: if an earlier send is what stands, the lease counts from that one. */
  readonly #sends = new Map<string, Instant>();
  readonly #owners = new Set<Owner>();
  #owner: Owner;
  #standing: Stored | undefined;
  /** Since when an own write is without an answer; undefined when none is. */
  #doubtSince: Instant | undefined;
  #doubt: unknown;
  #tries = 0;
  #takenOver = false;
  #ask = false;

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
        if (ownRemainingMs(held.sentAt, this.#facts.leaseMs, system.clock) > 0) return this.#claimed(held);
        await this.#giveBack(held);
      } else if (decision.kind === 'claim') {
        const held = await this.#tryClaim(decision);
        if (held !== undefined) return this.#claimed(held);
      } else if (decision.kind === 'block') {
        if (await this.#tryBlock(decision)) return { kind: 'blocked', why: decision.why, attempt: decision.over.record.attempt };
      } else if (decision.kind === 'replay') {
        return { ...decision, waited: waits > 0 };
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
    this.#takenOver = claim.afterUnknown;
    this.#ask = claim.ask;
    const result = await this.#send(record, claim.over?.version);
    if (result === undefined || !result.ok) return undefined;
    const token = result.token ?? record.token;
    const held: Held = { record: { ...record, token }, version: result.version, sentAt: this.#sentAt(record.revision) };
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
      owner: this.#facts.system.nonce(),
      token: decision.token,
      revision: this.#facts.system.nonce(),
    };
    const result = await this.#send(record, over.version);
    return result?.ok === true;
  }

  /** Sends a write; keeps what stands there after a conflict. undefined: no answer, and still time to find out. */
  async #send(record: RecordToWrite, version: Version | undefined): Promise<WriteResult | undefined> {
    const { system, guard, id, leaseMs, signal } = this.#facts;
    const { store } = guard;
    this.#sends.set(record.revision, instant(system.clock));
    try {
      const result = await bounded(
        system,
        withinInvocation(tryLimitMs(leaseMs), this.#facts.remainingMs()),
        (options) => (version === undefined ? store.create(id, record, options) : store.replace(id, record, version, options)),
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
    this.#doubtSince ??= this.#sentAt(revision);
    this.#doubt = error;
    const leftMs = Math.min(ownRemainingMs(this.#doubtSince, leaseMs, system.clock), remainingMs());
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
      if (standing?.record.state === 'running' && this.#owners.has(standing.record.owner)) await this.#release(standing.record, standing.version);
    } catch {
      // Said by the caller already: the claim is in doubt. It ends by its lease.
    }
  }

  /** A claim whose answer came after its own deadline: somebody else may count on the key by now. */
  async #giveBack(held: Held): Promise<void> {
    const { system, guard, id } = this.#facts;
    this.#owner = system.nonce();
    this.#owners.add(this.#owner);
    const result = await this.#release(held.record, held.version).catch(() => undefined);
    if (result !== undefined && !result.ok && result.reason === 'conflict') this.#standing = result.current;
    else this.#standing = await bounded(system, tryLimitMs(this.#facts.leaseMs), (options) => guard.store.read(id, options), this.#facts.signal);
    // Ours still, because the release got lost as well: it ends by its lease, like anybody's.
    if (this.#standing !== undefined) this.#owners.delete(this.#standing.record.owner);
  }

  #giveBackLimitMs(): number {
    return withinInvocation(2_000, this.#facts.remainingMs());
  }

  #release(record: RecordToWrite, version: Version): Promise<WriteResult> {
    const { system, guard, id } = this.#facts;
    const released: RecordToWrite = { ...record, state: 'released', revision: system.nonce() };
    return bounded(system, this.#giveBackLimitMs(), (options) => guard.store.replace(id, released, version, options));
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
    const { guard, scope, label, holder, leaseMs, retentionMs, system } = this.#facts;
    const fingerprint = this.#facts.fingerprint ?? (claim.attempt > 1 ? claim.over?.record.fingerprint : undefined);
    return {
      schema: 1,
      operation: guard.operation,
      scope,
      state: 'running',
      owner: this.#owner,
      revision: system.nonce(),
      token: claim.token,
      attempt: claim.attempt,
      leaseMs,
      retentionMs,
      createdAtMs: claim.attempt > 1 && claim.over ? claim.over.record.createdAtMs : guard.store.clock.nowMs(),
      ...(label === undefined ? {} : { label }),
      ...(fingerprint === undefined ? {} : { fingerprint }),
      ...(holder === undefined ? {} : { holder }),
      ...(claim.steps === undefined ? {} : { steps: claim.steps }),
    };
  }

  #held({ record, version }: Stored): Held {
    return { record, version, sentAt: this.#sentAt(record.revision) };
  }

  #claimed(held: Held): ClaimResult {
    return { kind: 'claimed', held, takenOver: this.#takenOver, ask: this.#ask };
  }

  #sentAt(revision: string): Instant {
    const sentAt = this.#sends.get(revision);
    if (sentAt === undefined) throw new RerunSafeError('WRITE_UNKNOWN', 'A record stands under our owner that this call did not send.');
    return sentAt;
  }
}

const TIME_IS_UP = Symbol('the wait is over');
