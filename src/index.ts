/**
 * `rerunsafe`: if this operation runs again, what happens? The same thing as when it ran once.
 *
 * @module
 */
export {
  type ErrorCode,
  type ErrorDetails,
  isRerunSafeError,
  NotDoneError,
  PermanentError,
  RerunSafeError,
} from './core/errors.ts';
export type { LeaseEvent, LeaseEventName, RunEvent, RunEventName } from './core/events.ts';
export { type ForgetScopeOptions, type ForgottenScope, forgetScope } from './core/forget-scope.ts';
export type { GuardOptions, NotedVerdict, RunOnceOptions, ThrowVerdict, UnknownAnswer } from './core/guard.ts';
export type { Key, KeyPart } from './core/key.ts';
export { type Lease, type LeaseOptions, type LeaseResult, type NotAcquired, type TryAcquired, tryAcquire, withLease } from './core/lease.ts';
export type { LocalReplay } from './core/local-replay.ts';
export type { CallMessage, ObservedCall } from './core/observed.ts';
export type { Outbox, OutboxMessage, PendingMessage } from './core/outbox.ts';
export { forgetRun, type PersonOptions, type PersonResult, type PersonsAnswer, type RunOf, resolveRun } from './core/person.ts';
export type * from './core/ports.ts';
export type { BlockedWhy, Outcome, Owner, PersonsWord, RecordId, RecordToWrite, State, StoredRecord, StoredStep, Version } from './core/record.ts';
export type { Retention } from './core/retention.ts';
export { type CommitRequest, currentRun, type Run, type Step, type StepOptions } from './core/run.ts';
export { type RunResult, runOnce, tryRunOnce, type Work } from './core/run-once.ts';
export { type AesSealOptions, aesSeal, type Seal } from './core/seal.ts';
export { storeLeases } from './core/store-leases.ts';
export { type Found, type SweepAnswer, type SweepOptions, type SweepResult, sweep } from './core/sweep.ts';
export type { ReplayFacts, ValueCodec, ValueForms, ValueSchema } from './core/value-forms.ts';
export { memoryStore } from './stores/memory/index.ts';
