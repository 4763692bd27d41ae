/**
 * Wrong stores and wrong engines, each made of the right one: the search has to find them all.
 *
 * @module
 */
import { isRerunSafeError, storeUnavailable } from '../../src/core/errors.ts';
import type { RecordStore, Stored, WriteResult } from '../../src/core/ports.ts';
import type { RecordToWrite } from '../../src/core/record.ts';
import type { Caller } from './caller.ts';
import type { Fault, Scope } from './scope.ts';
import { leases, records } from './scopes.ts';

export interface Control {
  readonly scope: Scope;
  /** What is said of it. */
  readonly finds: RegExp;
}

type Client = (store: RecordStore, caller: Caller) => RecordStore;
type Over = (current: Stored, record: RecordToWrite) => RecordToWrite;

/** A write that is refused because somebody else's stands there, is sent again over that. */
const refusedBy =
  (isMeant: (record: RecordToWrite) => boolean, over: Over): Client =>
  (store) => ({
    ...store,
    replace: async (id, record, version, options) => {
      const result = await store.replace(id, record, version, options);
      if (result.ok || result.reason !== 'conflict' || result.current === undefined || !isMeant(record)) return result;
      if (result.current.record.owner === record.owner) return result;
      return store.replace(id, over(result.current, record), result.current.version, options);
    },
  });

/** What a refused write is told that stands there. */
const toldAs =
  (tell: (current: Stored, caller: Caller) => Stored): Client =>
  (store, caller) => {
    const told = (result: WriteResult): WriteResult =>
      result.ok || result.reason !== 'conflict' || result.current === undefined ? result : { ...result, current: tell(result.current, caller) };
    return {
      ...store,
      create: async (id, record, options) => told(await store.create(id, record, options)),
      replace: async (id, record, version, options) => told(await store.replace(id, record, version, options)),
    };
  };

const isOwn = ({ record }: Stored, { name }: Caller): boolean => record.owner.startsWith(name);

/** Each claim over another's has the token that stood there. */
const tokenKept: Client = (store) => {
  let before: Stored | undefined;
  return {
    ...store,
    read: async (id, options) => {
      before = await store.read(id, options);
      return before;
    },
    create: async (id, record, options) => {
      const result = await store.create(id, record, options);
      if (!result.ok && result.reason === 'conflict') before = result.current;
      return result;
    },
    replace: async (id, record, version, options) => {
      const token = before === undefined || record.owner === before.record.owner ? record.token : before.record.token;
      const result = await store.replace(id, { ...record, token }, version, options);
      return result.ok ? { ...result, token } : result;
    },
  };
};

/** What has no answer is said not to have happened. */
const doubtDenied: Client = (store) => {
  const denied = (error: unknown): never => {
    throw isRerunSafeError(error, 'WRITE_UNKNOWN') ? storeUnavailable('no answer', error) : error;
  };
  return {
    ...store,
    create: (id, record, options) => store.create(id, record, options).catch(denied),
    replace: (id, record, version, options) => store.replace(id, record, version, options).catch(denied),
  };
};

const timerLeft: Client = (store, { timers }) => ({
  ...store,
  replace: (id, record, version, options) => {
    timers.after(10_000, () => {});
    return store.replace(id, record, version, options);
  },
});

const stopped = (caller: Caller) => {
  const { timers, nonce, random } = caller;
  const [monotonicMs, wallMs] = [caller.clock.monotonicMs(), caller.clock.wallMs()];
  return { clock: { monotonicMs: () => monotonicMs, wallMs: () => wallMs }, timers, nonce, random };
};

const ignoresVersion = (store: RecordStore): RecordStore => ({
  ...store,
  replace: async (id, record) => store.replace(id, record, (await store.read(id))?.version ?? ''),
});
const createsOver = (store: RecordStore): RecordStore => ({
  ...store,
  create: async (id, record) => {
    const standing = await store.read(id);
    return standing === undefined ? store.create(id, record) : store.replace(id, record, standing.version);
  },
});
const saysAbsent = (store: RecordStore): RecordStore => ({
  ...store,
  create: async (id, record) => {
    const result = await store.create(id, record);
    return result.ok ? result : { ok: false, reason: 'conflict', current: undefined };
  },
});

const retry = { onUnknown: 'retry' } as const;
const faults = (...some: Fault[]) => ({ faults: some });
const isA = (state: RecordToWrite['state']) => (record: RecordToWrite) => record.state === state;

export const CONTROLS: readonly Control[] = [
  { scope: { ...records('a store that ignores the version', retry, faults('pause')), store: ignoresVersion }, finds: /^I/ },
  { scope: { ...leases('a store that ignores the version, for leases', {}, faults('pause')), store: ignoresVersion }, finds: /^I/ },
  { scope: { ...records('a store that creates over what stands', retry), store: createsOver }, finds: /^I/ },
  { scope: { ...records('a store that says of what stands that it is absent', retry), store: saysAbsent }, finds: /^I10/ },
  {
    scope: records('a completion without a condition', { ...retry, client: refusedBy(isA('completed'), (_, record) => record) }, faults('pause')),
    finds: /^I[34]/,
  },
  {
    scope: records(
      'a failure declared without a condition',
      { ...retry, throws: 'plain', client: refusedBy(isA('released'), (_, record) => record) },
      faults('pause'),
    ),
    finds: /^I[34]/,
  },
  {
    scope: leases(
      'a release that does not ask whose it is',
      { client: refusedBy(isA('released'), ({ record }, own) => ({ ...own, token: record.token })) },
      faults('pause'),
    ),
    finds: /^I[45]/,
  },
  {
    scope: records(
      'an own claim that is not recognised',
      {
        ...retry,
        client: toldAs((current, caller) =>
          isOwn(current, caller) ? { ...current, record: { ...current.record, owner: 'who', revision: 'what' } } : current,
        ),
      },
      faults('lost-answer'),
    ),
    finds: /^I7/,
  },
  {
    scope: records('a takeover that does not wait', { ...retry, client: toldAs((current) => ({ ...current, ageMs: current.ageMs + 2_000 })) }),
    finds: /^I6/,
  },
  { scope: records('a takeover that keeps the token', { ...retry, client: tokenKept }, faults('crash')), finds: /^I5/ },
  { scope: leases('a lease that keeps the token', { client: tokenKept }), finds: /^I5/ },
  { scope: records('work that begins however late its claim was answered', { ...retry, system: stopped }, faults('pause')), finds: /^I6/ },
  { scope: records('a lost answer taken for a refusal', { ...retry, client: doubtDenied }, faults('lost-answer')), finds: /^I/ },
  { scope: records('an unknown outcome that is tried again', { onUnknown: 'block', guard: retry }, faults('crash')), finds: /^I8/ },
  {
    scope: records(
      'a step that is forgotten',
      { ...retry, step: true, client: toldAs((current) => ({ ...current, record: withoutSteps(current.record) })) },
      faults('crash'),
    ),
    finds: /^I3/,
  },
  { scope: records('a timer that is left', { ...retry, client: timerLeft }), finds: /^I12/ },
];

function withoutSteps<R extends RecordToWrite>({ steps: _, ...record }: R): Omit<R, 'steps'> {
  return record;
}
