/**
 * The {@link Run} of a guarded attempt, and the one of an unguarded run.
 *
 * @module
 */
import type { Attempt } from './attempt.ts';
import type { CallFacts } from './claim.ts';
import { encode } from './codec.ts';
import { isRerunSafeError, RerunSafeError, writeUnknown } from './errors.ts';
import { fingerprintOf } from './fingerprint.ts';
import { derivedKey } from './key.ts';
import { invalidOptions, isName } from './options.ts';
import { type Collected, collectMessages } from './outbox.ts';
import type { Outcome, RecordId } from './record.ts';
import type { CommitRequest, Run, StepOptions } from './run.ts';
import { sealed, stepPlace } from './seal.ts';
import { runStep } from './step.ts';

/** What `run.commit` brought about; the end of the run asks for it. */
export type Committed<T> =
  | { readonly kind: 'open' }
  | { readonly kind: 'committed'; readonly value: T }
  | { readonly kind: 'in-doubt'; readonly error: unknown };

export class LiveRun<T> implements Run<T> {
  readonly key: string;
  readonly operation: string;
  readonly attempt: number;
  readonly token: number;
  readonly fence: Run['fence'];
  readonly signal: AbortSignal;
  readonly outbox: Collected;
  committed: Committed<T> = { kind: 'open' };
  readonly #facts: CallFacts;
  readonly #owner: Attempt;
  readonly #stepNames = new Set<string>();
  #committing: Promise<void> = Promise.resolve();

  constructor(facts: CallFacts, owner: Attempt) {
    this.#facts = facts;
    this.#owner = owner;
    this.key = derivedKey(facts.id, '');
    this.operation = facts.guard.operation;
    this.attempt = owner.attempt;
    this.token = owner.token;
    this.fence = { id: facts.id, owner: owner.owner, token: owner.token };
    this.signal = owner.lifetime.signal;
    this.outbox = collectMessages(facts.id, () => this.#mustBeOpen());
  }

  /** A step has begun: it may have done something, whether or not its value was kept. */
  get hasBegunSteps(): boolean {
    return this.#stepNames.size > 0;
  }

  remainingMs(): number {
    return this.#owner.lifetime.remainingMs();
  }

  assertHeld(minMs = 0): void {
    this.#owner.lifetime.assertHeld(minMs);
  }

  keyFor(name: string): string {
    return keyFor(this.#facts.id, name);
  }

  step<S>(name: string, work: () => S | Promise<S>, options: StepOptions = {}): Promise<S> {
    return told(this.#step(name, work, options));
  }

  async #step<S>(name: string, work: () => S | Promise<S>, options: StepOptions): Promise<S> {
    const wrong = isName(200)(name);
    if (wrong !== undefined) throw invalidOptions('run.step', [`the name ${wrong}`]);
    if (this.#stepNames.has(name)) {
      throw new RerunSafeError(
        'DUPLICATE_STEP',
        `The step "${name}" was already used in this attempt. In a loop, make the item's id part of the name.`,
        { facts: { step: name } },
      );
    }
    this.#stepNames.add(name);
    const fingerprint = options.input === undefined ? undefined : fingerprintOf(options.input);
    const { id, guard } = this.#facts;
    return runStep(this.#owner, { name, fingerprint, seal: guard.seal, place: stepPlace(id, name) }, work);
  }

  commit(value: T, send: (request: CommitRequest) => ReturnType<Parameters<Attempt['commit']>[1]>): Promise<void> {
    const committing = told(this.#commit(value, send));
    this.#committing = committing.catch(() => {});
    return committing;
  }

  #mustBeOpen(): void {
    if (this.committed.kind !== 'open') throw new RerunSafeError('DUPLICATE_STEP', 'The run was already committed.');
  }

  /** The work has returned or thrown; a commit under way is part of it. */
  async settled(): Promise<void> {
    await this.#committing;
    await this.#owner.settled();
  }

  async #commit(value: T, send: Parameters<Run<T>['commit']>[1]): Promise<void> {
    this.#mustBeOpen();
    const { id, guard } = this.#facts;
    const { store } = guard;
    const messages = [...this.outbox.pending];
    const write: Parameters<Attempt['commit']>[1] = (record, version) => send({ id, record, version, store, messages });
    let result = await this.#owner.commit(sealed(outcomeOf(value), guard.seal, id), write);
    if (result.kind === 'too-large') result = await this.#owner.commit({ kind: 'not-stored', reason: 'too-large' }, write);
    if (result.kind === 'written') {
      this.committed = { kind: 'committed', value };
      // Nothing is held any more, so nothing can be lost.
      this.#owner.lifetime.end();
      await this.#owner.settled();
      return;
    }
    if (result.kind === 'no-answer') {
      const { error } = result;
      if (!isRerunSafeError(error, 'WRITE_UNKNOWN')) throw error;
      this.committed = { kind: 'in-doubt', error };
      throw writeUnknown('the commit', error);
    }
    this.#owner.lifetime.lose('somebody else took it over');
    throw this.#owner.lifetime.lossError();
  }
}

/** Whoever awaits it is told; a step or a commit that nobody awaits must not end the process. */
export function told<R>(promise: Promise<R>): Promise<R> {
  promise.catch(() => {});
  return promise;
}

export function outcomeOf(value: unknown): Outcome {
  const encoding = encode(value);
  return encoding.ok ? { kind: 'value', value: encoding.encoded } : { kind: 'not-stored', reason: 'not-serializable' };
}

function keyFor(id: RecordId, name: string): string {
  if (typeof name !== 'string' || name === '') throw invalidOptions('run.keyFor', ['the name must be a string that is not empty']);
  return derivedKey(id, name);
}

/** What an unguarded run still knows. */
export interface Unguarded {
  readonly operation: string;
  /** What derived keys are derived from. */
  readonly id: RecordId;
  readonly remainingMs: () => number;
  readonly signal: AbortSignal | undefined;
}

/** A run without a record: nothing was to be guarded, guarding is switched off, or the store did not answer and the user chose to go on. */
export function unguardedRun<T>({ operation, id, remainingMs, signal = new AbortController().signal }: Unguarded): Run<T> {
  return {
    key: derivedKey(id, ''),
    operation,
    attempt: 1,
    token: undefined,
    fence: undefined,
    signal,
    remainingMs: () => Math.max(0, remainingMs()),
    assertHeld: (minMs = 0) => {
      if (remainingMs() < minMs) throw new RerunSafeError('LEASE_LOST', `Less than ${minMs} ms are left to this invocation.`);
    },
    keyFor: (name) => keyFor(id, name),
    step: async (_name, work) => work(),
    commit: async () => {
      throw noRecord();
    },
    outbox: {
      add: () => {
        throw noRecord();
      },
    },
  };
}

const noRecord = (): RerunSafeError => new RerunSafeError('STORE_UNAVAILABLE', 'An unguarded run has no record to commit with.');
