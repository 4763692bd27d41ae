/**
 * What only a person can say of a run: what became of it, or that it is to be forgotten.
 *
 * @module
 */

import { putBeside } from './beside.ts';
import { decide, type PersonDecision, type PersonIntent } from './decide.ts';
import { isRerunSafeError, RerunSafeError, storeUnavailable } from './errors.ts';
import { GUARD_RULES } from './guard.ts';
import { type Key, keyParts, recordId, scopeParts } from './key.ts';
import { outcomeOf } from './live-run.ts';
import { forgetLocally } from './local-replay.ts';
import { anything, checkOptions, has, invalidOptions, isBoolean, isName, type Rules } from './options.ts';
import { packed } from './pack.ts';
import type { RecordStore, Stored } from './ports.ts';
import type { Outcome, RecordId, RecordToWrite, Whole } from './record.ts';
import { closed, type Seal } from './seal.ts';
import { realSystem } from './system.ts';
import { VALUE_RULES, type ValueCodec } from './value-forms.ts';

/** What a person says of a run, and who it was. */
export interface PersonOptions {
  /** As the wrapper's own: what is resolved as done is sealed with it. */
  readonly seal?: Seal;
  /** As the operation's own: `{ done: value }` is then what the work would have returned, and is kept as the codec encodes it. */
  readonly codec?: Pick<ValueCodec<never>, 'encode'>;
  /** Also while it is still running (the present owner is fenced, but its work may go on), and over a person's earlier word; and `'not-done'` where a step
   * is known to be done, whose value could not be kept: it then runs again. Default false. */
  readonly force?: boolean;
  /** Who says so, and why: kept in the record for those who look at it later. At most 200 and 1000 characters. */
  readonly by?: string;
  readonly why?: string;
}

/** A run by its key, as in `runOnce`. */
export interface RunOf extends PersonOptions {
  readonly store: RecordStore;
  readonly operation: string;
  readonly key: Key;
  readonly scope?: Key;
}

export type PersonsAnswer = 'not-done' | { readonly done: unknown };

/**
 * `running`: it is left alone; wait, or use `force`. `not-needed`: it has an outcome, or may run again anyway. `changed`: somebody else has written it
 * while this was said, and that stands; look again, and say what is to become of it now. Never with `force`.
 */
export type PersonResult = { readonly kind: 'written' } | { readonly kind: 'changed' } | Exclude<PersonDecision, { kind: 'write' }>;

export const WORD_RULES: Rules = { seal: has('close', 'open'), codec: has('encode'), by: isName(200), why: isName(1_000) };
/** What people have in one object with the rest, for `runOnce`: of no use here, and no mistake. */
export const PASSED_ALONG: Rules = { ...GUARD_RULES, ...VALUE_RULES };
const RULES = { ...PASSED_ALONG, ...WORD_RULES, store: has('read', 'replace'), key: anything, scope: anything, force: isBoolean };
const TOMBSTONE_RETENTION_MS = 3_600_000;
const MOST_ROUNDS = 20;
const PART_LIMIT_MS = 15_000;

/**
 * Resolves a run that is blocked, or whose attempt ended with no outcome: `'not-done'` lets it run again (its attempts are counted anew, its steps
 * kept), `{ done: value }` makes that the outcome everybody gets. `value` is what the work would have returned: of an HTTP function an answer in the
 * shape of its platform, as plain data. With `force` a person's earlier word is corrected; what the work itself returned never is.
 *
 * @throws RerunSafeError `INVALID_OPTIONS` (a value that cannot be kept), `STORE_UNAVAILABLE`, `WRITE_UNKNOWN`, …
 * @example
 * await resolveRun({ store, operation: 'payments/charge', key: orderId }, { done: receipt }); // the provider says it was charged
 */
export async function resolveRun(run: RunOf, as: PersonsAnswer): Promise<PersonResult> {
  return resolveById(run.store, idOf('resolveRun', run), run, as);
}

/**
 * By its id. `options` are checked already. `seen`: what the answer is about, where somebody has looked at it before; without `force` nothing else is
 * written over. `'block'` keeps it for a person.
 */
export async function resolveById(
  store: RecordStore,
  id: RecordId,
  options: PersonOptions,
  as: PersonsAnswer | 'block',
  seen?: Stored,
): Promise<PersonResult> {
  const word = { store, id, options, ...(seen === undefined ? {} : { seen }) };
  if (as === 'block') return write({ ...word, kind: 'block' }, (record) => ({ ...record, state: 'blocked', blockedWhy: 'unknown' }));
  if (as === 'not-done') {
    const { force = false } = options;
    return write({ ...word, kind: 'resolve' }, (record) => ({ ...open(record, force), state: 'released', attempt: 0 }));
  }
  const outcome = packed(outcomeBy(as, options.codec as Pick<ValueCodec<unknown>, 'encode'> | undefined));
  const kept = options.seal === undefined ? outcome : closed(outcome, options.seal, id);
  return write({ ...word, kind: 'resolve' }, (record) => ({ ...done(record), state: 'completed' }), kept);
}

/**
 * Forgets a run: the next call with its key runs the work again. Leaves a tombstone for an hour, so that a live owner is fenced.
 *
 * @throws RerunSafeError as {@link resolveRun}.
 */
export async function forgetRun(run: RunOf): Promise<PersonResult> {
  return forgetById(run.store, idOf('forgetRun', run), run);
}

/** By its id. `options` are checked already. `seen`: as of {@link resolveById}. */
export async function forgetById(store: RecordStore, id: RecordId, options: PersonOptions, seen?: Stored): Promise<PersonResult> {
  return write({ store, id, kind: 'forget', options, ...(seen === undefined ? {} : { seen }) }, tombstone);
}

/** As {@link forgetById}, of whatever stands there, be it expired: it is not about what became of the run. */
export const eraseById = (store: RecordStore, id: RecordId, options: PersonOptions, seen: Stored): Promise<PersonResult> =>
  write({ store, id, kind: 'erase', options, seen }, tombstone);

function tombstone(record: RecordToWrite): RecordToWrite {
  const {
    label: _,
    fingerprint: __,
    outcome: ___,
    steps: ____,
    holder: _____,
    blockedWhy: ______,
    note: _______,
    beyond: ________,
    ...rest
  } = record;
  return { ...rest, state: 'released', attempt: 0, retentionMs: Math.max(TOMBSTONE_RETENTION_MS, rest.leaseMs + 1) };
}

function idOf(what: string, run: RunOf): RecordId {
  checkOptions(what, run, RULES, ['store', 'operation']);
  const { operation, scope, key } = run;
  return recordId(operation, scopeParts(scope, operation), keyParts(key, operation));
}

/** Not done, a person says: neither is a step that was only begun. One that is done does not run again for that, unless they insist. */
function open({ blockedWhy: _, note: __, steps, ...record }: RecordToWrite, force: boolean): RecordToWrite {
  const begun = Object.entries(steps ?? {});
  const lost = begun.filter(([, step]) => 'outcome' in step && step.outcome.kind === 'not-stored').map(([name]) => name);
  if (lost.length > 0 && !force) {
    throw new RerunSafeError(
      'INVALID_OPTIONS',
      `resolveRun: 'not-done' would run again what is done: of the step(s) ${lost.join(', ')} only the value could not be kept. Say { done: value } of the whole run, forget it, or use force.`,
      { facts: { steps: lost } },
    );
  }
  const finished = begun.filter(([, step]) => 'outcome' in step && step.outcome.kind !== 'not-stored');
  return finished.length === 0 ? record : { ...record, steps: Object.fromEntries(finished) };
}

/** As a completion does: steps are for attempts to come, and there are none. */
const done = ({ blockedWhy: _, steps: __, note: ___, ...record }: RecordToWrite): RecordToWrite => record;

const holdsSealed = ({ outcome, steps = {} }: RecordToWrite): boolean =>
  outcome?.kind === 'sealed' ||
  (outcome?.kind === 'parts' && outcome.of === 'sealed') ||
  Object.values(steps).some((step) => 'outcome' in step && step.outcome.kind === 'sealed');

interface Word {
  readonly store: RecordStore;
  readonly id: RecordId;
  readonly kind: PersonIntent['kind'] | 'block';
  readonly options: PersonOptions;
  readonly seen?: Stored;
}

async function write(word: Word, change: (record: RecordToWrite) => RecordToWrite, outcome?: Whole): Promise<PersonResult> {
  const { store, id } = word;
  // Before: a word that never gets its answer may have landed. After, however it ends: so may one in doubt, and what says that there is nothing to do
  // shows that this process may remember what no longer stands.
  forgetLocally(store, id);
  try {
    return await writeOverSeen(word, change, outcome);
  } finally {
    forgetLocally(store, id);
  }
}

async function writeOverSeen(word: Word, change: (record: RecordToWrite) => RecordToWrite, outcome: Whole | undefined): Promise<PersonResult> {
  const { store, id, kind, options } = word;
  const { force = false, seal } = options;
  const seen = word.seen ?? (await store.read(id));
  let standing = seen;
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const intent = { kind: kind === 'block' ? 'resolve' : kind, force } as const;
    const decision = decide(standing, intent, { nowMs: store.clock.nowMs(), uncertaintyMs: store.clock.uncertaintyMs });
    if (decision.kind !== 'write') return decision;
    const { over, token } = decision;
    // What they say is about what they saw: of an attempt that came since, or of its outcome, they know nothing.
    if (!force && kind !== 'erase' && !isSame(over, seen)) return { kind: 'changed' };
    if (kind === 'resolve' && seal === undefined && holdsSealed(over.record)) {
      throw invalidOptions('resolveRun', ['what this run keeps is sealed: pass its seal, or the outcome would lie there in the open']);
    }
    const changed: RecordToWrite = { ...change(over.record), owner: realSystem.nonce(), revision: realSystem.nonce(), token, ...saidBy(word) };
    const record = outcome === undefined ? changed : { ...changed, outcome: await beside(store, id, changed, outcome) };
    const result = await replaced(word, over, record);
    if (result === 'written') return { kind: 'written' };
    standing = result.current;
  }
  throw storeUnavailable(`the record ${id} changed under each of ${MOST_ROUNDS} tries`, undefined);
}

const isSame = ({ record }: Stored, seen: Stored | undefined): boolean =>
  record.owner === seen?.record.owner && record.revision === seen.record.revision;

/** To block is not to say what became of it. */
const saidBy = ({ store, kind, options: { by, why } }: Word): Pick<RecordToWrite, 'word'> =>
  kind === 'block'
    ? {}
    : {
        word: {
          did: kind === 'resolve' ? kind : 'forget',
          atMs: store.clock.nowMs(),
          ...(by === undefined ? {} : { by }),
          ...(why === undefined ? {} : { why }),
        },
      };

/** On condition of the version; otherwise what stands. An own write is known by its revision, when its answer was lost or it was sent twice. */
async function replaced(
  { store, id, kind }: Word,
  over: Stored,
  record: RecordToWrite,
): Promise<'written' | { readonly current: Stored | undefined }> {
  const isOwn = (stored: Stored | undefined): boolean => stored?.record.revision === record.revision;
  try {
    const result = await store.replace(id, record, over.version);
    if (result.ok) return 'written';
    if (result.reason === 'too-large') throw invalidOptions(`${kind}Run`, ['the value is too large for the store']);
    return isOwn(result.current) ? 'written' : result;
  } catch (error) {
    if (isRerunSafeError(error, 'WRITE_UNKNOWN') && isOwn(await store.read(id).catch(() => undefined))) return 'written';
    // Whatever else stands there now: it may have been written and then overtaken, or land late.
    throw error;
  }
}

const beside = (store: RecordStore, id: RecordId, { owner, retentionMs: keepMs }: RecordToWrite, outcome: Whole): Promise<Outcome> =>
  putBeside({ system: realSystem, store, id, owner, keepMs }, outcome, { limitMs: () => PART_LIMIT_MS, remainingMs: () => 0 });

function outcomeBy(as: Exclude<PersonsAnswer, 'not-done'>, codec: Pick<ValueCodec<unknown>, 'encode'> | undefined): Whole {
  if (typeof as !== 'object' || as === null || !('done' in as)) throw invalidOptions('resolveRun', ["say 'not-done' or { done: value }"]);
  const outcome = outcomeOf(as.done, codec);
  if (outcome.kind !== 'value') throw invalidOptions('resolveRun', ['the value cannot be kept: give plain data, or the codec of the operation']);
  return { ...outcome, resolved: true };
}
