/**
 * A step: a part of the work whose value is kept in the record, addressed by name, never by position.
 *
 * @module
 */
import type { Attempt } from './attempt.ts';
import { decode, encode } from './codec.ts';
import { RerunSafeError } from './errors.ts';
import { fingerprintsDiffer } from './fingerprint.ts';
import type { StoredStep } from './record.ts';
import { opened, type Seal, sealed } from './seal.ts';

export interface StepFacts {
  readonly name: string;
  /** Of its declared input. */
  readonly fingerprint: string | undefined;
  readonly seal: Seal | undefined;
  /** What its sealed value is bound to. */
  readonly place: string;
}

export async function runStep<S>(owner: Attempt, step: StepFacts, work: () => S | Promise<S>): Promise<S> {
  const { name, fingerprint, seal, place } = step;
  const kept = owner.steps[name];
  if (kept !== undefined) return fromKept<S>(step, kept);
  // The work of a step never starts on a lease that is over: somebody else may be doing it.
  owner.lifetime.assertHeld();
  const value = await work();
  const encoding = encode(value);
  const plain: StoredStep['outcome'] = encoding.ok ? { kind: 'value', value: encoding.encoded } : { kind: 'not-stored', reason: 'not-serializable' };
  const outcome = sealed(plain, seal, place);
  const withFingerprint = fingerprint === undefined ? {} : { fingerprint };
  let result = await owner.keepStep(name, { outcome, ...withFingerprint });
  if (result.kind === 'too-large') result = await owner.keepStep(name, { outcome: { kind: 'not-stored', reason: 'too-large' }, ...withFingerprint });
  if (result.kind === 'written') return value;
  if (result.kind === 'no-answer' || result.kind === 'too-large') {
    throw new RerunSafeError('WRITE_UNKNOWN', `The step "${name}" was done, but nobody knows whether its value was kept.`, {
      cause: result.kind === 'no-answer' ? result.error : undefined,
      facts: { step: name },
    });
  }
  if (owner.over && !owner.lifetime.lost) throw outlived(name);
  throw owner.lifetime.lossError();
}

/** The likeliest cause is a missing `await`; then nobody is there to be told by the rejection. */
function outlived(name: string): RerunSafeError {
  const message = `The step "${name}" was still going on when its run ended, so its value was not kept. Was it awaited?`;
  process.emitWarning(message, { code: 'RERUNSAFE_STEP_NOT_AWAITED' });
  return new RerunSafeError('LEASE_LOST', message, { facts: { step: name } });
}

function fromKept<S>({ name, fingerprint, seal, place }: StepFacts, { outcome: stored, fingerprint: before }: StoredStep): S {
  if (fingerprintsDiffer(before, fingerprint)) {
    throw new RerunSafeError('STEP_CHANGED', `The step "${name}" was done before with another input. Nothing of it was run.`, {
      facts: { step: name },
    });
  }
  const outcome = opened(stored, seal, place);
  if (outcome.kind === 'value') return decode(outcome.value) as S;
  throw new RerunSafeError(
    'RESULT_NOT_STORED',
    `The step "${name}" was done, but its value could not be kept (${outcome.reason}). It is not run again.`,
    {
      facts: { step: name, reason: outcome.reason },
    },
  );
}
