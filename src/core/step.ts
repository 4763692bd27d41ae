/**
 * A step: a part of the work whose value is kept in the record, addressed by name, never by position.
 *
 * @module
 */
import type { Attempt } from './attempt.ts';
import { decode, encode } from './codec.ts';
import { isNotDoneError, RerunSafeError } from './errors.ts';
import { fingerprintsDiffer } from './fingerprint.ts';
import type { UnknownAnswer } from './guard.ts';
import type { MoveResult } from './move.ts';
import { invalidOptions } from './options.ts';
import type { BegunStep, FinishedStep, NotKept } from './record.ts';
import { mustBeNotStored } from './replay.ts';
import type { Step } from './run.ts';
import { opened, type Seal, sealed } from './seal.ts';

export interface StepFacts<S> {
  /** What it is kept under: its name, and its key where it has one. */
  readonly name: string;
  /** Of its declared input. */
  readonly fingerprint: string | undefined;
  readonly seal: Seal | undefined;
  /** What its sealed value is bound to. */
  readonly place: string;
  readonly atMostOnce: boolean;
  readonly onInterrupted: ((step: Step) => UnknownAnswer<S> | Promise<UnknownAnswer<S>>) | undefined;
  /** It is done, and a later attempt will not have its value. */
  readonly onNotKept: (reason: NotKept, value: S) => void;
  /** What its work is handed. */
  readonly step: Step;
}

/** Attempts in whose record there is no room for another note: the work of a step that begins now could leave no trace, and would be done again. */
const FULL = new WeakSet<Attempt>();

export const isFull = (owner: Attempt): boolean => FULL.has(owner);

/** @throws {@link Thrown} for what `work` or `onInterrupted` throws; RerunSafeError for what the step itself has to say. */
export async function runStep<S>(owner: Attempt, facts: StepFacts<S>, work: (step: Step) => S | Promise<S>): Promise<S> {
  const { name, fingerprint, atMostOnce, step } = facts;
  // A step may be named as a property that every object has.
  const kept = Object.hasOwn(owner.steps, name) ? owner.steps[name] : undefined;
  if (kept !== undefined && fingerprintsDiffer(kept.fingerprint, fingerprint)) {
    throw new RerunSafeError('STEP_CHANGED', `The step "${name}" was begun before with another input. Nothing of it was run.`, {
      facts: { step: name },
    });
  }
  if (kept !== undefined && 'outcome' in kept) return fromKept<S>(facts, kept);
  if (isFull(owner)) throw tooLarge(name);
  owner.lifetime.assertHeld();
  if (kept !== undefined) {
    const answer = await ask(facts);
    if (answer !== 'not-done') return keep(owner, facts, answer.done);
  } else if (atMostOnce) await begin(owner, facts);
  // The work of a step never starts on a lease that is over: somebody else may be doing it. In the same turn, or it could be lost in between.
  owner.lifetime.assertHeld();
  let value: S;
  try {
    value = await work(step);
  } catch (thrown) {
    // It says of itself that nothing has happened: the next attempt may begin it anew.
    // Where the mark stays after all, it is asked about; what was thrown matters more.
    if (atMostOnce && isNotDoneError(thrown)) await owner.keepStep(name, undefined).catch(() => {});
    throw new Thrown(thrown);
  }
  return keep(owner, facts, value);
}

/** What came out of the user's own functions, and is told from what the step says itself: that may be an error of the same kind, of another run. */
export class Thrown {
  readonly error: unknown;
  constructor(error: unknown) {
    this.error = error;
  }
}

/** The mark stands before the work starts, or the work does not start. */
async function begin<S>(owner: Attempt, { name, fingerprint }: StepFacts<S>): Promise<void> {
  const mark: BegunStep = { begun: owner.attempt, ...(fingerprint === undefined ? {} : { fingerprint }) };
  const result = await owner.keepStep(name, mark);
  if (result.kind === 'too-large') {
    FULL.add(owner);
    throw tooLarge(name);
  }
  mustBeWritten(owner, name, result, 'was not begun: nobody knows whether its mark was kept');
}

async function ask<S>({ name, onInterrupted, step }: StepFacts<S>): Promise<'not-done' | { readonly done: S }> {
  const answer = onInterrupted === undefined ? 'block' : await asked(onInterrupted, step);
  if (answer === 'not-done') return answer;
  if (typeof answer === 'object' && answer !== null && 'done' in answer) return answer;
  if (answer === 'block') {
    throw new RerunSafeError(
      'BLOCKED',
      `The step "${name}" was begun by an earlier attempt, and nobody knows what it did. It is not run again before a person has said so (resolveRun).`,
      { facts: { step: name } },
    );
  }
  throw invalidOptions(`run.step "${name}"`, ["onInterrupted must answer { done: value }, 'not-done' or 'block'"]);
}

async function asked<S>(onInterrupted: NonNullable<StepFacts<S>['onInterrupted']>, step: Step): Promise<UnknownAnswer<S>> {
  try {
    return await onInterrupted(step);
  } catch (thrown) {
    throw new Thrown(thrown);
  }
}

async function keep<S>(owner: Attempt, { name, fingerprint, seal, place, onNotKept }: StepFacts<S>, value: S): Promise<S> {
  const encoding = encode(value);
  const plain: FinishedStep['outcome'] = encoding.ok
    ? { kind: 'value', value: encoding.encoded }
    : { kind: 'not-stored', reason: 'not-serializable' };
  let outcome = sealed(plain, seal, place);
  const withFingerprint = fingerprint === undefined ? {} : { fingerprint };
  let result = await owner.keepStep(name, { outcome, ...withFingerprint });
  if (result.kind === 'too-large') {
    outcome = { kind: 'not-stored', reason: 'too-large' };
    result = await owner.keepStep(name, { outcome, ...withFingerprint });
  }
  if (result.kind === 'too-large') {
    FULL.add(owner);
    onNotKept('too-large', value);
    throw notStored(name, 'too-large');
  }
  mustBeWritten(owner, name, result, 'was done, but nobody knows whether its value was kept');
  if (outcome.kind === 'not-stored') onNotKept(outcome.reason, value);
  return value;
}

function mustBeWritten(owner: Attempt, name: string, result: Exclude<MoveResult, { kind: 'too-large' }>, otherwise: string): void {
  if (result.kind === 'written') return;
  if (result.kind === 'no-answer') {
    throw new RerunSafeError('WRITE_UNKNOWN', `The step "${name}" ${otherwise}.`, { cause: result.error, facts: { step: name } });
  }
  throw owner.over && !owner.lifetime.lost ? outlived(name) : owner.lifetime.lossError();
}

/** The likeliest cause is a missing `await`; then nobody is there to be told by the rejection. */
function outlived(name: string): RerunSafeError {
  const message = `The step "${name}" was still going on when its run ended, so its value was not kept. Was it awaited?`;
  process.emitWarning(message, { code: 'RERUNSAFE_STEP_NOT_AWAITED' });
  return new RerunSafeError('LEASE_LOST', message, { facts: { step: name } });
}

function fromKept<S>({ name, seal, place }: StepFacts<S>, { outcome: stored }: FinishedStep): S {
  const outcome = opened(stored, seal, place);
  if (outcome.kind === 'value') return decode(outcome.value) as S;
  mustBeNotStored(outcome);
  throw notStored(name, outcome.reason);
}

const notStored = (name: string, reason: NotKept): RerunSafeError =>
  new RerunSafeError('RESULT_NOT_STORED', `The step "${name}" was done, but its value could not be kept (${reason}). It is not run again.`, {
    facts: { step: name, reason },
  });

const tooLarge = (name: string): RerunSafeError =>
  new RerunSafeError('RESULT_NOT_STORED', `There is no room left in the record to note anything of the step "${name}". It was not begun.`, {
    facts: { step: name, reason: 'too-large' },
  });
