/**
 * One record for each state and each kind of outcome, left in a store by the public functions.
 *
 * @module
 */
import { recordId } from '../../src/core/key.ts';
import type { RecordStore } from '../../src/core/ports.ts';
import type { RecordId } from '../../src/core/record.ts';
import { leaseRowId } from '../../src/core/store-leases.ts';
import {
  aesSeal,
  forgetRun,
  NotDoneError,
  PermanentError,
  RerunSafeError,
  type RunOf,
  type RunOnceOptions,
  resolveRun,
  storeLeases,
  tryRunOnce,
  type Work,
} from '../../src/index.ts';

export const seal = aesSeal({ keys: { golden: Buffer.alloc(32, 7) }, current: 'golden' });
const KEY = 'order-1';
const SCOPE = 'tenant-1';
/** Of a lease, epoch ms. */
export const SLOT = 1_767_225_600_000;
/** For rows that have to be there for as long as there are tests. */
const CENTURY_MS = 3_155_760_000_000;
const LEASE_MS = 60_000;

export const JSON_VALUE = { id: 'ch_1', total: 12.5, tags: ['a', null, true] };
export const richValue = (): unknown => ({
  at: new Date(0),
  none: undefined,
  big: 2n ** 70n,
  bytes: Buffer.from([0, 255]),
  of: new Map([[1, new Set([-0])]]),
});
export const LARGE_VALUE = Array.from({ length: 200 }, (_, n) => ({ id: `order ${n}`, state: 'shipped' }));
/** Larger than what {@link withSmallRecords} keeps in the record, and nothing to compress. */
export function hugeValue(): string {
  let state = 1;
  const word = (): string => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return state.toString(36);
  };
  return Array.from({ length: 2_000 }, word).join('');
}
const SMALL = { inlineBytes: 4_000, parts: { bytesEach: 4_000, most: 40 } };
/** Parts as they always are, and files of golden rows that are not megabytes. */
const withSmallRecords = (store: RecordStore): RecordStore => ({ ...store, limits: { ...store.limits, ...SMALL } });
const takingNoParts = (store: RecordStore): RecordStore => ({
  ...withSmallRecords(store),
  putPart: () => Promise.reject(new RerunSafeError('STORE_MISCONFIGURED', 'no parts today')),
});
const takingNoValues = (store: RecordStore): RecordStore => ({
  ...store,
  replace: async (id, record, version) =>
    record.outcome?.kind === 'value' ? { ok: false, reason: 'too-large' } : store.replace(id, record, version),
});
/** Compresses, and not to so little that the record could hold it. */
export const HALF_RANDOM = (): unknown => [hugeValue(), ...LARGE_VALUE];

export interface Scenario {
  readonly name: string;
  readonly id: RecordId;
  readonly needsParts: boolean;
  leave(store: RecordStore): Promise<unknown>;
}

const boom = (): never => {
  throw new Error('boom');
};
const operationOf = (name: string): string => `golden/${name}`;
export const idOf = (name: string): RecordId =>
  name.startsWith('lease') ? leaseRowId(operationOf(name)) : recordId(operationOf(name), name.includes('scoped') ? [SCOPE] : [], [KEY]);

type More = Partial<RunOnceOptions<unknown>>;

/** The next caller, whatever the record says. `store` with its rows as old as they are. */
export const next = (store: RecordStore, name: string, work: Work<unknown>, more: More = {}) =>
  tryRunOnce<unknown>({ store, operation: operationOf(name), key: KEY, leaseMs: LEASE_MS, retentionMs: CENTURY_MS, ...formOf(name), ...more }, work);

export const runOf = (store: RecordStore, name: string): RunOf => ({ store, operation: operationOf(name), key: KEY, ...formOf(name) });
/** What every caller of that run says. */
const formOf = (name: string): Pick<RunOnceOptions<unknown>, 'seal' | 'scope'> => ({
  ...(name.includes('sealed') ? { seal } : {}),
  ...(name.includes('scoped') ? { scope: SCOPE } : {}),
});

const person = { by: 'ann', why: 'ticket 4711' };
const thrown = (error: unknown) => () => {
  throw error;
};
const declined = (data: unknown): PermanentError => new PermanentError('card was declined', { code: 'card_declined', data });
/** As a process that died leaves it. */
const left = (store: RecordStore, name: string, work: Work<unknown> = boom, more: More = {}) =>
  next(store, name, work, { onThrow: () => 'lapse', ...more }).catch(() => {});

const steps: Work<unknown> = async (run) => {
  await run.step('charge', () => JSON_VALUE, { input: { total: 12.5 } });
  await run.step('rich', richValue, { key: 'a' });
  await run.step('large', () => LARGE_VALUE);
  await run.step('lost', () => boom);
  await run.step('ship', boom, { mode: 'atMostOnce', input: 'parcel' });
};
const doubt: More = { onUnknown: 'block' };
const blocked = async (store: RecordStore, name: string): Promise<void> => {
  await next(store, name, boom, doubt).catch(() => {});
  await next(store, name, boom, doubt);
};

const LEAVE: Readonly<Record<string, (store: RecordStore, name: string) => Promise<unknown>>> = {
  running: (store, name) => left(store, name, boom, { input: JSON_VALUE }),
  'running-with-steps': (store, name) => left(store, name, steps),
  'running-with-sealed-steps': (store, name) => left(store, name, steps),
  'running-again': async (store, name) => {
    await left(store, name, (run) => run.step('charge', () => JSON_VALUE).then(boom), { onThrow: () => 'release' });
    await left(store, name);
  },
  'running-unknown': (store, name) => next(store, name, boom, doubt).catch(() => {}),
  completed: (store, name) => next(store, name, () => JSON_VALUE, { input: JSON_VALUE }),
  'completed-scoped': (store, name) => next(store, name, () => JSON_VALUE),
  'completed-without-label': (store, name) => next(store, name, () => 1, { label: false }),
  'completed-with-label': (store, name) => next(store, name, () => 1, { label: 'the first order' }),
  'completed-undefined': (store, name) => next(store, name, () => undefined),
  'completed-rich': (store, name) => next(store, name, richValue),
  'completed-packed': (store, name) => next(store, name, () => LARGE_VALUE),
  'completed-sealed': (store, name) => next(store, name, richValue),
  'completed-sealed-packed': (store, name) => next(store, name, () => LARGE_VALUE),
  'completed-parts': (store, name) => next(withSmallRecords(store), name, hugeValue),
  'completed-sealed-parts': (store, name) => next(withSmallRecords(store), name, hugeValue),
  'completed-packed-parts': (store, name) => next(withSmallRecords(store), name, HALF_RANDOM),
  failed: (store, name) => next(store, name, thrown(declined(richValue()))),
  'failed-packed': (store, name) => next(store, name, thrown(declined(LARGE_VALUE))),
  'failed-sealed': (store, name) => next(store, name, thrown(declined(richValue()))),
  'failed-bare': (store, name) => next(store, name, thrown(new PermanentError('card was declined', { code: 402 }))),
  'failed-parts': (store, name) => next(withSmallRecords(store), name, thrown(declined(hugeValue()))),
  'not-stored': (store, name) => next(store, name, () => boom),
  'not-stored-too-large': (store, name) => next(takingNoValues(store), name, () => 1),
  'not-stored-not-taken': (store, name) => next(takingNoParts(store), name, hugeValue),
  released: (store, name) =>
    next(store, name, async (run) => {
      await run.step('charge', () => JSON_VALUE);
      throw new NotDoneError('no luck');
    }).catch(() => {}),
  'released-with-note': (store, name) => next(store, name, boom, { onThrow: () => ({ as: 'release', note: 'exit code 3' }) }).catch(() => {}),
  withdrawn: (store, name) => next(store, name, boom, { input: 1, onThrow: () => 'withdraw' }).catch(() => {}),
  'blocked-unknown': blocked,
  'blocked-attempts': async (store, name) => {
    await next(store, name, boom).catch(() => {});
    await next(store, name, boom, { maxAttempts: 1 });
  },
  'blocked-failed': (store, name) => next(store, name, boom, { onThrow: () => ({ as: 'block', note: 'exit code 3' }) }).catch(() => {}),
  'blocked-step-not-stored': async (store, name) => {
    const lost: Work<unknown> = (run) => run.step('lost', () => boom).then(boom);
    await next(store, name, lost).catch(() => {});
    await next(store, name, lost).catch(() => {});
  },
  // No function leaves one like this; a reader must not mind.
  'blocked-with-word': async (store, name) => {
    await blocked(store, name);
    const standing = await store.read(idOf(name));
    if (standing === undefined) return;
    const word = { did: 'resolve', ...person, atMs: store.clock.nowMs() } as const;
    await store.replace(idOf(name), { ...standing.record, revision: `${standing.record.revision}.`, word }, standing.version);
  },
  'resolved-done': async (store, name) => {
    await blocked(store, name);
    await resolveRun({ ...runOf(store, name), ...person }, { done: JSON_VALUE });
  },
  'resolved-sealed': async (store, name) => {
    await blocked(store, name);
    await resolveRun({ ...runOf(store, name), ...person }, { done: richValue() });
  },
  'resolved-packed': async (store, name) => {
    await blocked(store, name);
    await resolveRun({ ...runOf(store, name), ...person }, { done: LARGE_VALUE });
  },
  'resolved-parts': async (store, name) => {
    await blocked(store, name);
    await resolveRun({ ...runOf(withSmallRecords(store), name), ...person }, { done: hugeValue() });
  },
  'resolved-not-done': async (store, name) => {
    await blocked(store, name);
    await resolveRun({ ...runOf(store, name), ...person }, 'not-done');
  },
  forgotten: async (store, name) => {
    await next(store, name, () => JSON_VALUE);
    await forgetRun({ ...runOf(store, name), ...person });
  },
  expired: (store, name) => next(store, name, () => JSON_VALUE, { retentionMs: 2 * LEASE_MS }),
  'lease-held': (store, name) => storeLeases(store).acquire(operationOf(name), { owner: 'golden-holder', leaseMs: LEASE_MS, label: 'host 1' }),
  'lease-broken': async (store, name) => {
    await storeLeases(store).acquire(operationOf(name), { owner: 'golden-holder', leaseMs: LEASE_MS });
    await storeLeases(store).break(operationOf(name));
  },
  'lease-with-slot': async (store, name) => {
    const leases = storeLeases(store);
    const owner = 'golden-holder';
    const got = await leases.acquire(operationOf(name), { owner, leaseMs: LEASE_MS, slot: SLOT });
    if (got.kind === 'acquired') await leases.release(operationOf(name), { owner, token: got.token, slotDone: SLOT, holdMs: 500 });
  },
};

export const SCENARIOS: readonly Scenario[] = Object.entries(LEAVE).map(([name, leave]) => ({
  name,
  id: idOf(name),
  needsParts: name.includes('parts'),
  leave: (store) => leave(store, name),
}));

/** Those that this store can have. */
export const scenariosOf = ({ limits }: RecordStore): readonly Scenario[] =>
  SCENARIOS.filter(({ needsParts }) => !needsParts || limits.parts !== undefined);
