/**
 * The {@link Run} of a guarded attempt, and the one of an unguarded run.
 *
 * @module
 */
import type { Attempt } from './attempt.ts';
import type { CallFacts } from './claim.ts';
import { encode } from './codec.ts';
import { isRerunSafeError, RerunSafeError, writeUnknown } from './errors.ts';
import { tellRun } from './events.ts';
import { fingerprintOf } from './fingerprint.ts';
import type { FormedGuard } from './guard.ts';
import { derivedKey, hashParts, keyParts } from './key.ts';
import { notKeptAt } from './not-kept.ts';
import { observedStep } from './observed.ts';
import { anything, checkOptions, invalidOptions, isFunction, isName, isOneOf } from './options.ts';
import { type Collected, collectMessages } from './outbox.ts';
import type { NotKept, RecordId, Whole } from './record.ts';
import { withCodec } from './replay.ts';
import type { CommitRequest, Run, Step, StepOptions } from './run.ts';
import { sealed, stepPlace } from './seal.ts';
import { isFull, runStep, Thrown } from './step.ts';
import { settledWithin } from './system.ts';
import { atOnce, type ValueCodec } from './value-forms.ts';

/** What `run.commit` brought about; the end of the run asks for it. */
export type Committed<T> =
  | { readonly kind: 'open' }
  | { readonly kind: 'committed'; readonly value: T }
  | { readonly kind: 'in-doubt'; readonly error: unknown };

const MOMENT_MS = 100;

export class LiveRun<T> implements Run<T> {
  readonly operation: string;
  readonly attempt: number;
  readonly token: number;
  readonly fence: Run['fence'];
  readonly outbox: Collected;
  committed: Committed<T> = { kind: 'open' };
  readonly #facts: CallFacts;
  readonly #owner: Attempt;
  readonly #stepNames = new Set<string>();
  readonly #underWay = new Set<Promise<unknown>>();
  /** What a step was refused with, that every later attempt would be refused with too. */
  readonly #stuck = new Set<unknown>();
  #isCommitting = false;
  #committing: Promise<unknown> = Promise.resolve();

  constructor(facts: CallFacts, owner: Attempt) {
    this.#facts = facts;
    this.#owner = owner;
    this.operation = facts.guard.operation;
    this.attempt = owner.attempt;
    this.token = owner.token;
    this.fence = { id: facts.id, owner: owner.owner, token: owner.token };
    this.outbox = collectMessages(facts.id, () => this.#mustBeOpen());
  }

  get key(): string {
    return derivedKey(this.#facts.id, '');
  }

  get signal(): AbortSignal {
    return this.#owner.lifetime.signal;
  }

  /** A step has begun: it may have done something, whether or not its value was kept. */
  get hasBegunSteps(): boolean {
    return this.#stepNames.size > 0;
  }

  /** A step was done that left no trace, for want of room: it would be done again, whatever the work makes of that. */
  get isFull(): boolean {
    return isFull(this.#owner);
  }

  /** Thrown by a step that no later attempt can get past either. */
  isStuck(thrown: unknown): boolean {
    return this.#stuck.has(thrown);
  }

  // Arrows, so that the work may take its run apart: `async ({ step, keyFor }) => …`.
  readonly remainingMs = (): number => this.#owner.lifetime.remainingMs();

  readonly assertHeld = (minMs = 0): void => this.#owner.lifetime.assertHeld(minMs);

  readonly keyFor = (name: string): string => keyFor(this.#facts.id, name);

  readonly step = <S>(name: string, work: (step: Step) => S | Promise<S>, options: StepOptions<S> = {}): Promise<S> => {
    const step = told(this.#step(name, work, options));
    this.#underWay.add(step);
    const ended = (): void => void this.#underWay.delete(step);
    step.then(ended, ended);
    return step;
  };

  async #step<S>(given: string, work: (step: Step) => S | Promise<S>, options: StepOptions<S>): Promise<S> {
    const name = stepName(given, work, options);
    this.#mustNotBeCommitting();
    if (this.#stepNames.has(name)) {
      throw new RerunSafeError(
        'DUPLICATE_STEP',
        `The step "${given}" was already used in this attempt. In a loop, give each round a key of its own: { key: item.id }.`,
        { facts: { step: given } },
      );
    }
    this.#stepNames.add(name);
    const { input, mode, onInterrupted } = options;
    const { id, guard } = this.#facts;
    if (mode === 'atMostOnce' && guard.store.limits?.losesOnFailover) throw marksCanBeLost(given, guard.store.name);
    const step: Step = { name: given, key: derivedKey(id, `step/${name}`), attempt: this.attempt, signal: this.signal };
    const seen = observedStep({ operation: this.operation, id, store: guard.store.name, step: given }, work);
    const fingerprint = input === undefined ? undefined : fingerprintOf(input);
    const atMostOnce = mode === 'atMostOnce';
    const onNotKept = (notKept: NotKept, value: S): void => this.#tellNotKept(given, notKept, value);
    const place = stepPlace(id, name);
    try {
      return await runStep(this.#owner, { name, fingerprint, seal: guard.seal, place, atMostOnce, onInterrupted, onNotKept, step }, seen);
    } catch (error) {
      if (error instanceof Thrown) throw error.error;
      if (isRerunSafeError(error, 'RESULT_NOT_STORED') || isRerunSafeError(error, 'BLOCKED')) this.#stuck.add(error);
      throw error;
    }
  }

  #tellNotKept(step: string, notKept: NotKept, value: unknown): void {
    const { operation, attempt, token } = this;
    const { id, guard } = this.#facts;
    tellRun({ event: 'step-not-kept', operation, id, store: guard.store.name, attempt, token, step, notKept, ...notKeptAt(notKept, value) });
  }

  /** Inside of a commit, a step or another commit would wait for that one to end. */
  #mustNotBeCommitting(): void {
    if (this.#isCommitting)
      throw invalidOptions(this.operation, ['the run is being committed: no step and no second commit can begin until that has ended']);
  }

  readonly commit = (value: T, send: (request: CommitRequest) => ReturnType<Parameters<Attempt['commit']>[1]>): Promise<void> => {
    const committing = told(this.#commit(value, send));
    // One that is refused ends before the one under way.
    this.#committing = Promise.allSettled([this.#committing, committing]);
    return committing;
  };

  #mustBeOpen(): void {
    if (this.committed.kind !== 'open') throw new RerunSafeError('DUPLICATE_STEP', 'The run was already committed.');
  }

  /**
   * The work has thrown, and beside what it awaited other steps go on: to give up would let the next attempt begin them again. They have what is left
   * of the lease, which is not renewed any more, and of the invocation; told to stop, they have a moment for it.
   */
  async stepsEnded(): Promise<void> {
    if (!this.hasStepsUnderWay) return;
    await this.#owner.settled();
    // One that ends may begin another.
    const leftMs = (): number => (this.signal.aborted ? 0 : this.remainingMs() - 2 * MOMENT_MS);
    while (this.hasStepsUnderWay && leftMs() > 0) await settledWithin(this.#facts.system, this.#ended(), leftMs(), this.signal);
    if (this.hasStepsUnderWay) await settledWithin(this.#facts.system, this.#ended(), MOMENT_MS);
  }

  get hasStepsUnderWay(): boolean {
    return this.#underWay.size > 0;
  }

  #ended(): Promise<unknown> {
    return Promise.allSettled(this.#underWay);
  }

  /** The work has returned or thrown; a commit under way is part of it. */
  async commitEnded(): Promise<void> {
    await this.#committing;
  }

  async #commit(value: T, send: Parameters<Run<T>['commit']>[1]): Promise<void> {
    this.#mustBeOpen();
    this.#mustNotBeCommitting();
    this.#isCommitting = true;
    try {
      await this.#committed(value, send);
    } finally {
      this.#isCommitting = false;
    }
  }

  async #committed(value: T, send: Parameters<Run<T>['commit']>[1]): Promise<void> {
    const { id, guard } = this.#facts;
    const { store } = guard;
    const messages = [...this.outbox.pending];
    const write: Parameters<Attempt['commit']>[1] = (record, version) => send({ id, record, version, store, messages });
    const { codec } = guard as FormedGuard<T>;
    const whole = outcomeOf(value, codec);
    let result = await this.#owner.commit(sealed(whole, guard.seal, id), write);
    if (result.kind === 'too-large') result = await this.#owner.commit({ kind: 'not-stored', reason: 'too-large' }, write);
    if (result.kind === 'written') {
      this.committed = { kind: 'committed', value: whole.kind === 'value' ? withCodec(codec, whole.value, value) : value };
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

const STEP_RULES = { input: anything, key: anything, mode: isOneOf('atLeastOnce', 'atMostOnce'), onInterrupted: isFunction };

function stepName(name: string, work: unknown, options: Omit<StepOptions, 'onInterrupted'> & { readonly onInterrupted?: unknown }): string {
  const wrong = isName(200)(name);
  if (wrong !== undefined) throw invalidOptions('run.step', [`the name ${wrong}`]);
  checkOptions(`run.step "${name}"`, options, STEP_RULES);
  const wrongWork = isFunction(work);
  if (wrongWork !== undefined) throw invalidOptions(`run.step "${name}"`, [`the work ${wrongWork}`]);
  const { key, mode, onInterrupted } = options;
  if (onInterrupted !== undefined && mode !== 'atMostOnce') {
    throw invalidOptions(`run.step "${name}"`, ["onInterrupted is only ever asked about a step with mode: 'atMostOnce'"]);
  }
  return 'key' in options ? `${name}#${hashParts('step', keyParts(key, `run.step "${name}"`))}` : name;
}

/** Whoever awaits it is told; a step or a commit that nobody awaits must not end the process. */
export function told<R>(promise: Promise<R>): Promise<R> {
  promise.catch(() => {});
  return promise;
}

export function outcomeOf<T>(value: T, codec?: Pick<ValueCodec<T>, 'encode'>): Whole {
  const encoding = codec === undefined ? encode(value) : encodeBy(codec, value);
  return encoding.ok ? { kind: 'value', value: encoding.encoded } : { kind: 'not-stored', reason: 'not-serializable' };
}

/** A codec that cannot take the value must not turn done work into a failure. */
function encodeBy<T>(codec: Pick<ValueCodec<T>, 'encode'>, value: T): ReturnType<typeof encode> {
  try {
    return encode(atOnce(codec.encode(value), 'codec.encode'));
  } catch (error) {
    process.emitWarning(`The codec could not encode what is to be stored; it is done, and not kept. ${error}`, { code: 'RERUNSAFE_CODEC' });
    return { ok: false };
  }
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
    step: async (name, work) => work({ name, key: derivedKey(id, `step/${name}`), attempt: 1, signal }),
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

const marksCanBeLost = (name: string, store: string): RerunSafeError =>
  invalidOptions(`run.step "${name}"`, [
    `mode: 'atMostOnce' promises that its work never starts twice, and the store "${store}" can lose the mark when another server takes over: use another store, or say that you accept the loss where the store is made`,
  ]);

const noRecord = (): RerunSafeError => new RerunSafeError('STORE_UNAVAILABLE', 'An unguarded run has no record to commit with.');
