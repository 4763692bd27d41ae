import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { Acquired, AcquireRequest, LeaseProvider } from '../../core/ports.ts';
import { type Case, sleep } from '../suite.ts';

/** What a case works on. */
export interface LeaseSubject {
  readonly leases: LeaseProvider;
  /** Moves the provider's clock, where a test can. */
  readonly advance?: (ms: number) => Promise<void> | void;
  readonly cleanUp?: () => Promise<void>;
}

export interface LeaseCaseSubject extends LeaseSubject {
  /** Short: for cases in which a lease runs out. */
  readonly leaseMs: number;
  /** Long enough to outlast a slow machine: for cases in which none may run out. */
  readonly longMs: number;
}

export type LeaseCase = Case<LeaseCaseSubject>;

/** Plain, and fresh: several cases may share one container. */
export const freshName = (): string => `conformance-${randomUUID()}`;
export const freshOwner = (): string => randomUUID();

export function acquired(result: Acquired): number {
  assert.equal(result.kind, 'acquired', `expected to acquire, got ${JSON.stringify(result)}`);
  const { token } = result as Extract<Acquired, { kind: 'acquired' }>;
  assert.ok(Number.isSafeInteger(token) && token > 0, `a token has to be a whole number above 0, is ${token}`);
  return token;
}

export function held(result: Acquired, longestMs: number): void {
  assert.equal(result.kind, 'held', `expected it to be held, got ${JSON.stringify(result)}`);
  const { retryAfterMs } = result as Extract<Acquired, { kind: 'held' }>;
  if (retryAfterMs !== undefined) assert.ok(retryAfterMs >= 0 && retryAfterMs <= longestMs, `retryAfterMs is ${retryAfterMs}`);
}

/** One more than the long lease is still a hint that somebody may follow: providers add what clocks may differ by. */
export const SLACK_MS = 10_000;

/** Asks on behalf of somebody new. */
export const ask = ({ leases, longMs }: LeaseCaseSubject, name: string, changes: Partial<AcquireRequest> = {}): Promise<Acquired> =>
  leases.acquire(name, { owner: freshOwner(), leaseMs: longMs, ...changes });

export async function assertHeld(subject: LeaseCaseSubject, name: string): Promise<void> {
  held(await ask(subject, name), subject.longMs + SLACK_MS);
}

export interface Holder {
  readonly owner: string;
  readonly token: number;
}

/** Acquires and gives what is needed to renew and release. */
export async function hold(subject: LeaseCaseSubject, name: string, changes: Partial<AcquireRequest> = {}): Promise<Holder> {
  const owner = changes.owner ?? freshOwner();
  return { owner, token: acquired(await ask(subject, name, { ...changes, owner })) };
}

/** Lets time pass by the subject's clock. */
export const pass = async ({ advance }: LeaseSubject, ms: number): Promise<void> => (advance === undefined ? sleep(ms) : advance(ms));

/** Asks again and again until it is acquired, and gives how long that took; fails when it takes longer than `withinMs`. */
export async function untilAcquired(subject: LeaseCaseSubject, name: string, withinMs: number): Promise<Holder & { waitedMs: number }> {
  const owner = freshOwner();
  const stepMs = Math.max(20, Math.ceil(withinMs / 200));
  for (let waitedMs = 0; waitedMs <= withinMs + SLACK_MS; waitedMs += stepMs) {
    const result = await ask(subject, name, { owner });
    if (result.kind === 'acquired') return { owner, token: acquired(result), waitedMs };
    await pass(subject, stepMs);
  }
  return assert.fail(`not acquired within ${withinMs + SLACK_MS} ms`);
}
