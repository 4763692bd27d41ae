/**
 * What a relay can be told, and its defaults.
 *
 * @module
 */
import { LEASE_RULES, type Lease } from '../core/lease.ts';
import { checkOptions, has, invalidOptions, isFunction, isInteger, isName, isOneOf, type Rule, type Rules } from '../core/options.ts';
import type { LeaseProvider } from '../core/ports.ts';
import type { OutboxPlace, RelayedMessage } from './port.ts';

/** `signal` aborts when the delivery has taken too long, the relay has lost its lease, or the caller cancels. */
export type Deliver = (message: RelayedMessage, call: { readonly signal: AbortSignal }) => unknown;

export interface Backoff {
  /** Before the second try, ms; then twice as long each time, give or take half. Default 1000. */
  readonly firstMs?: number;
  /** The longest pause, ms. Default 600,000. */
  readonly mostMs?: number;
}

export interface RelayOptions {
  /** `postgresOutbox({ pool })`, `dynamodbOutbox({ client, tableName })`. */
  readonly outbox: OutboxPlace;
  /** Where the relay's own lease is kept: one relay works at a time. Or `lease`, where the caller holds one already (`singleton`, `withLease`). */
  readonly leases?: LeaseProvider;
  readonly lease?: Lease;
  /** The lease's name: one for each outbox. Default `rerunsafe/outbox/` and the outbox's name. */
  readonly name?: string;
  /** After a crash the next relay begins after this long, ms. Renewed while the relay works. Default 60,000, or the most the provider allows. */
  readonly leaseMs?: number;
  /** Sends a message on. Done when it resolves; to throw is to be asked again later, a `PermanentError` parks the message at once. */
  readonly deliver: Deliver;
  /** How many are read at once. Default 100. */
  readonly batchSize?: number;
  /** How many keys (or messages without one) are on their way at once. Default 10. */
  readonly concurrency?: number;
  /** The longest one delivery may take, ms; then its signal aborts and it has failed. Default 30,000. */
  readonly deliverTimeoutMs?: number;
  /** After so many failed tries a message is parked: kept, with the last error, for people. Default 20, which takes about two hours. */
  readonly maxAttempts?: number;
  readonly backoff?: Backoff;
  /** A parked message's key goes on without it (`skip`, default), or waits until a person has unparked or dropped it (`hold`). */
  readonly onParked?: 'skip' | 'hold';
  /** Time left to the whole invocation, ms: near its end nothing new begins. */
  readonly remainingMs?: () => number;
  /** Ends the relay. What is on its way is told by its own signal, and comes again. */
  readonly signal?: AbortSignal;
}

export interface Relaying {
  readonly outbox: OutboxPlace;
  readonly deliver: Deliver;
  readonly batchSize: number;
  readonly concurrency: number;
  readonly deliverTimeoutMs: number;
  readonly maxAttempts: number;
  readonly backoff: { readonly firstMs: number; readonly mostMs: number };
  readonly onParked: 'skip' | 'hold';
  readonly remainingMs: () => number;
  readonly signal: AbortSignal | undefined;
}

const DEFAULTS = { batchSize: 100, concurrency: 10, deliverTimeoutMs: 30_000, maxAttempts: 20, onParked: 'skip' } as const;
const DEFAULT_BACKOFF = { firstMs: 1_000, mostMs: 600_000 };
/** A year: what is due later is rather parked. */
const MOST_BACKOFF_MS = 31_536_000_000;
/** The longest a timer can be set for. */
const MOST_TIMER_MS = 2_147_483_647;

const BACKOFF_RULES: Rules = { firstMs: isInteger(1, MOST_BACKOFF_MS), mostMs: isInteger(1, MOST_BACKOFF_MS) };

const isBackoff: Rule = (value) => {
  if (typeof value !== 'object' || value === null) return 'must be an object with firstMs, mostMs';
  const wrong = Object.entries(value).flatMap(([name, given]) => {
    const rule = Object.hasOwn(BACKOFF_RULES, name) ? BACKOFF_RULES[name] : undefined;
    const problem = rule === undefined ? 'is not an option' : given === undefined ? undefined : rule(given);
    return problem === undefined ? [] : [`${name} ${problem}`];
  });
  const { firstMs = DEFAULT_BACKOFF.firstMs, mostMs = DEFAULT_BACKOFF.mostMs } = value as Backoff;
  if (wrong.length === 0 && firstMs > mostMs) wrong.push('firstMs must not be more than mostMs');
  return wrong.length === 0 ? undefined : `(${wrong.join(', ')})`;
};

const RULES: Rules = {
  outbox: has('enter', 'take', 'settle', 'waiting'),
  leases: has('acquire', 'renew', 'release'),
  lease: has('assertHeld', 'release'),
  name: isName(512),
  leaseMs: LEASE_RULES.leaseMs as Rule,
  deliver: isFunction,
  batchSize: isInteger(1, 1_000),
  concurrency: isInteger(1, 1_000),
  deliverTimeoutMs: isInteger(1, MOST_TIMER_MS),
  maxAttempts: isInteger(1, 1_000_000),
  backoff: isBackoff,
  onParked: isOneOf('skip', 'hold'),
  remainingMs: isFunction,
  signal: LEASE_RULES.signal as Rule,
};

/** @throws RerunSafeError `INVALID_OPTIONS`, with everything that is wrong. */
export function checkRelay(options: RelayOptions, what = 'relayOutbox', more: Rules = {}, required: readonly string[] = []): Relaying {
  checkOptions(what, options, { ...RULES, ...more }, ['outbox', 'deliver', ...required]);
  const { leases, lease, name, leaseMs, remainingMs = () => Number.POSITIVE_INFINITY, signal } = options;
  if ((leases === undefined) === (lease === undefined)) throw invalidOptions(what, ['either leases or lease must be given']);
  if (lease !== undefined && (name ?? leaseMs) !== undefined) throw invalidOptions(what, ['name and leaseMs belong to leases, not to a lease']);
  const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as unknown as RelayOptions;
  return { ...DEFAULTS, ...given, backoff: { ...DEFAULT_BACKOFF, ...given.backoff }, remainingMs, signal };
}
