import { type LeasePlayOptions, leasePlay } from './leases.ts';
import { type RecordOptions, recordPlay } from './records.ts';
import type { Fault, Scope } from './scope.ts';

const LEASE_MS = 1_000;

interface More {
  readonly callers?: number;
  readonly faults?: readonly Fault[];
  readonly mostFaults?: number;
  readonly calls?: number;
  readonly horizonMs?: number;
}

const common = { callers: 2, faults: [], mostFaults: 1, calls: 1, leaseMs: LEASE_MS, store: (store) => store } satisfies Partial<Scope>;

export const records = (name: string, options: Omit<RecordOptions, 'leaseMs'>, more: More = {}): Scope => ({
  ...common,
  ...more,
  name,
  kind: 'record',
  play: recordPlay({ leaseMs: LEASE_MS, ...options }),
});

export const leases = (name: string, options: Omit<LeasePlayOptions, 'leaseMs'> = {}, more: More = {}): Scope => ({
  ...common,
  ...more,
  name,
  kind: 'lease',
  play: leasePlay({ leaseMs: LEASE_MS, ...options }),
});

const WORKS = {
  retry: { onUnknown: 'retry' },
  block: { onUnknown: 'block' },
  ask: { onUnknown: 'ask' },
  throws: { onUnknown: 'retry', throws: 'plain' },
  'not-done': { onUnknown: 'block', throws: 'not-done' },
  unknown: { onUnknown: 'block', throws: 'plain' },
  permanent: { onUnknown: 'retry', throws: 'permanent' },
  step: { onUnknown: 'retry', step: true },
} satisfies Record<string, Omit<RecordOptions, 'leaseMs'>>;

const each = (suffix: string, more: More = {}, options: { waitMs?: number; renew?: 'auto' } = {}): Scope[] => [
  ...Object.entries(WORKS).map(([work, own]) => records(`${work}${suffix}`, { ...own, ...options }, more)),
  leases(`lease${suffix}`, options, more),
];

/** Of leases there are more requests, and with them more than can be gone through. */
const eachRecord = (...all: Parameters<typeof each>): Scope[] => each(...all).filter(({ kind }) => kind === 'record');

const calm = [...each('-2'), ...each('-3', { callers: 3 })];
const byFault = (...faults: Fault[]): Scope[] => faults.flatMap((fault) => each(`-2-${fault}`, { faults: [fault] }));

/** Two callers and three without a fault; two with one lost answer at each point. */
export const USUAL: readonly Scope[] = [...calm, ...byFault('lost-answer')];

const later = byFault('pause', 'freeze', 'late', 'slow');
const SOONER: ReadonlySet<string> = new Set(['retry-2-pause', 'block-2-pause', 'throws-2-pause']);

/** And two with one fault of each of these kinds, at each point. */
export const IN_CI: readonly Scope[] = [
  ...USUAL,
  ...byFault('lost-request', 'unavailable', 'duplicate', 'crash', 'slow-work'),
  ...later.filter(({ name }) => SOONER.has(name)),
];

/** Everything that has been gone through to its end. */
export const SCOPES: readonly Scope[] = [
  ...IN_CI,
  ...later.filter(({ name }) => !SOONER.has(name)),
  ...each('-2-waits', {}, { waitMs: 120 }),
  ...each('-2-outwaits', {}, { waitMs: 1_200 }),
  ...each('-2-again', { calls: 2 }),
  ...each('-2-renews', { horizonMs: 700 }, { renew: 'auto' }),
  ...each('-2-again-lost-answer', { calls: 2, faults: ['lost-answer'] }),
  ...each('-2-again-crash', { calls: 2, faults: ['crash'] }),
  ...eachRecord('-2-waits-crash', { faults: ['crash'] }, { waitMs: 1_200 }).filter(({ name }) => !name.startsWith('step')),
  ...eachRecord('-2-two-lost', { faults: ['lost-answer', 'lost-request', 'unavailable', 'crash'], mostFaults: 2 }),
  leases('lease-2-doubt', {}, { faults: ['lost-answer', 'unavailable'], mostFaults: 2 }),
  ...eachRecord('-2-crash-pause', { faults: ['crash', 'pause'], mostFaults: 2 }),
  ...eachRecord('-3-lost-answer', { callers: 3, faults: ['lost-answer'] }),
  ...eachRecord('-3-crash', { callers: 3, faults: ['crash'] }),
];
