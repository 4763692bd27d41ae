/**
 * Named leases kept in any record store: one row a name, never deleted, so that its token only grows.
 *
 * @module
 */
import { randomUUID } from 'node:crypto';
import { storeUnavailable } from './errors.ts';
import { labelOf, recordId } from './key.ts';
import { checkOptions, has } from './options.ts';
import type { Acquired, AcquireRequest, CallOptions, LeaseProvider, LeaseState, RecordStore, Stored, WriteResult } from './ports.ts';
import { FOREVER_MS, isLapsed, type Owner, type RecordId, type RecordToWrite, SCHEMA } from './record.ts';

/** The operation of all lease rows, for `list`. */
export const LEASE_OPERATION = 'rerunsafe/lease';

/** The row of the lease of this name. */
export const leaseRowId = (name: string): RecordId => recordId(LEASE_OPERATION, [], [name]);

/** Under contention a row changes between the look and the write; somebody got on each time. */
const MOST_ROUNDS = 50;

type AcquireDecision = { readonly kind: 'claim'; readonly over: Stored | undefined; readonly token: number } | Acquired;

/** Free: never taken, lapsed, or released and past its minimum hold (kept as the lease of a released row). */
export function decideAcquire(standing: Stored | undefined, request: AcquireRequest, nowMs: number, uncertaintyMs: number): AcquireDecision {
  const { slot } = request;
  if (standing === undefined) return { kind: 'claim', over: undefined, token: nowMs };
  const { record, ageMs } = standing;
  const leftMs = record.leaseMs === 0 ? 0 : record.leaseMs + uncertaintyMs - ageMs;
  const lapsed = isLapsed(record, ageMs, uncertaintyMs);
  if (record.state === 'running' && !lapsed && record.owner === request.owner)
    return { kind: 'acquired', token: record.token, ...lastSlotOf(record) };
  // Asked only of a free row: while somebody holds it, the slot may be getting done.
  const taken = record.state === 'running' ? !lapsed : leftMs > 0;
  if (taken) {
    const label = record.holder === undefined ? {} : { label: record.holder };
    return { kind: 'held', retryAfterMs: Math.max(1, Math.ceil(leftMs)), ...label, ...lastSlotOf(record) };
  }
  if (slot !== undefined && record.slot !== undefined) {
    if (record.slot === slot) return { kind: 'slot-done' };
    if (record.slot > slot) return { kind: 'slot-passed', lastSlot: record.slot };
  }
  return { kind: 'claim', over: standing, token: Math.max(record.token + 1, nowMs) };
}

/**
 * A lease provider over a record store. Two requests to acquire, one to renew, one to release.
 *
 * @example const leases = storeLeases(dynamodbStore({ tableName: 'rerunsafe' }));
 */
export function storeLeases(store: RecordStore): Required<LeaseProvider> {
  checkOptions('storeLeases', { store }, { store: has('read', 'create', 'replace') }, ['store']);
  return new StoreLeases(store);
}

class StoreLeases implements Required<LeaseProvider> {
  readonly name: string;
  readonly limits = { minLeaseMs: 100, maxLeaseMs: 2_147_483_647 };
  readonly #store: RecordStore;
  /** What this process's holders last knew of their rows, and when: saves the read before a renewal. */
  readonly #known = new Map<Owner, { readonly stored: Stored; readonly atMs: number }>();

  constructor(store: RecordStore) {
    this.#store = store;
    this.name = store.name;
  }

  async acquire(name: string, request: AcquireRequest, options?: CallOptions): Promise<Acquired> {
    const { clock } = this.#store;
    let standing = await this.#read(name, options);
    for (let round = 0; round < MOST_ROUNDS; round++) {
      const decision = decideAcquire(standing, request, clock.nowMs(), clock.uncertaintyMs);
      if (decision.kind === 'acquired' && standing !== undefined) this.#remember(standing);
      if (decision.kind !== 'claim') return decision;
      const record = leaseRow(name, request, decision.over?.record, decision.token, clock.nowMs());
      const result = await this.#write(name, record, decision.over, options);
      if (result.ok) {
        const token = result.token ?? record.token;
        this.#remember({ record: { ...record, token, writtenAtMs: 0 }, version: result.version, ageMs: 0 });
        return { kind: 'acquired', token, ...lastSlotOf(record) };
      }
      standing = conflictOf(result);
    }
    throw tooBusy(name);
  }

  async renew(
    name: string,
    { owner, leaseMs }: { owner: Owner; token: number; leaseMs: number },
    options?: CallOptions,
  ): Promise<'renewed' | 'lost'> {
    const renewed = (record: RecordToWrite): RecordToWrite => ({ ...record, leaseMs });
    // A lease that ran out is lost, even while nobody has taken it: somebody may have held it in between.
    return (await this.#own(name, owner, renewed, (record, ageMs) => record.state === 'running' && !isLapsed(record, ageMs, 0), options))
      ? 'renewed'
      : 'lost';
  }

  async release(
    name: string,
    { owner, slotDone, holdMs = 0 }: { owner: Owner; token: number; slotDone?: number; holdMs?: number },
    options?: CallOptions,
  ): Promise<'released' | 'lost'> {
    const release = (record: RecordToWrite): RecordToWrite => (record.state === 'released' ? record : released(record, holdMs, slotDone));
    const done = await this.#own(name, owner, release, () => true, options);
    this.#known.delete(owner);
    return done ? 'released' : 'lost';
  }

  async read(name: string, options?: CallOptions): Promise<LeaseState | undefined> {
    const standing = await this.#read(name, options);
    if (standing === undefined) return undefined;
    const { record, ageMs } = standing;
    const { uncertaintyMs } = this.#store.clock;
    const isOwned = record.state === 'running' && !isLapsed(record, ageMs, uncertaintyMs);
    // A minimum hold: nobody has it, and nobody gets it.
    const held = isOwned || (record.state === 'released' && record.leaseMs > 0 && ageMs < record.leaseMs + uncertaintyMs);
    return {
      held,
      token: record.token,
      ...(isOwned ? { owner: record.owner } : {}),
      ...(held ? { remainingMs: Math.max(0, record.leaseMs - ageMs) } : {}),
      ...(record.holder === undefined ? {} : { label: record.holder }),
      ...lastSlotOf(record),
    };
  }

  async break(name: string, options?: CallOptions): Promise<void> {
    let standing = await this.#read(name, options);
    for (let round = 0; round < MOST_ROUNDS && standing !== undefined; round++) {
      const { record } = standing;
      const broken = { ...released(record, 0, undefined), owner: randomUUID(), token: Math.max(record.token + 1, this.#store.clock.nowMs()) };
      const result = await this.#write(name, broken, standing, options);
      if (result.ok) return;
      standing = conflictOf(result);
    }
    if (standing !== undefined) throw tooBusy(name);
  }

  async setUp(): Promise<void> {
    await this.#store.setUp?.();
  }

  /** An owner's own change. False: the row is somebody else's, or gone: never made anew, a late request must not bring it back. */
  async #own(
    name: string,
    owner: Owner,
    change: (record: RecordToWrite) => RecordToWrite,
    allowed: (record: RecordToWrite, ageMs: number) => boolean,
    options: CallOptions | undefined,
  ): Promise<boolean> {
    const sent = new Set<string>();
    let standing = this.#recall(owner) ?? (await this.#read(name, options));
    for (let round = 0; round < MOST_ROUNDS; round++) {
      if (standing === undefined || standing.record.owner !== owner || !allowed(standing.record, standing.ageMs)) {
        this.#known.delete(owner);
        return false;
      }
      const changed = change(standing.record);
      // Our own release stands: it had succeeded, its answer was lost.
      if (changed === standing.record) return true;
      const record = { ...changed, revision: randomUUID() };
      sent.add(record.revision);
      const result = await this.#write(name, record, standing, options);
      if (result.ok) {
        this.#remember({ record: { ...record, writtenAtMs: 0 }, version: result.version, ageMs: 0 });
        return true;
      }
      standing = conflictOf(result);
      if (standing !== undefined && sent.has(standing.record.revision)) {
        this.#remember(standing);
        return true;
      }
    }
    throw tooBusy(name);
  }

  #remember(stored: Stored): void {
    this.#known.set(stored.record.owner, { stored, atMs: this.#store.clock.nowMs() });
  }

  #recall(owner: Owner): Stored | undefined {
    const known = this.#known.get(owner);
    return known && { ...known.stored, ageMs: known.stored.ageMs + Math.max(0, this.#store.clock.nowMs() - known.atMs) };
  }

  #read(name: string, options: CallOptions | undefined): Promise<Stored | undefined> {
    return this.#store.read(leaseRowId(name), options);
  }

  async #write(name: string, record: RecordToWrite, over: Stored | undefined, options: CallOptions | undefined): Promise<WriteResult> {
    const id = leaseRowId(name);
    // Whoever asked has gone: what a slow look brings up now must not be taken for him.
    options?.signal?.throwIfAborted();
    return over === undefined ? this.#store.create(id, record, options) : this.#store.replace(id, record, over.version, options);
  }
}

const lastSlotOf = ({ slot }: RecordToWrite): { lastSlot?: number } => (slot === undefined ? {} : { lastSlot: slot });
const tooBusy = (name: string) => storeUnavailable(`the lease "${name}" changed under each of ${MOST_ROUNDS} tries`, undefined);

function conflictOf(result: Exclude<WriteResult, { ok: true }>): Stored | undefined {
  if (result.reason === 'too-large') throw storeUnavailable('a lease row is too large for the store', undefined);
  return result.current;
}

function leaseRow(name: string, request: AcquireRequest, before: RecordToWrite | undefined, token: number, nowMs: number): RecordToWrite {
  return {
    schema: SCHEMA,
    operation: LEASE_OPERATION,
    scope: '',
    label: labelOf([name]),
    state: 'running',
    owner: request.owner,
    revision: randomUUID(),
    token,
    attempt: (before?.attempt ?? 0) + 1,
    leaseMs: request.leaseMs,
    retentionMs: FOREVER_MS,
    createdAtMs: before?.createdAtMs ?? nowMs,
    ...(before?.slot === undefined ? {} : { slot: before.slot }),
    ...(request.label === undefined ? {} : { holder: request.label }),
  };
}

/** Keeps the row and the token. A minimum hold is the lease of the released row. */
function released(record: RecordToWrite, holdMs: number, slotDone: number | undefined): RecordToWrite {
  const slot = slotDone === undefined ? record.slot : Math.max(slotDone, record.slot ?? slotDone);
  return { ...record, state: 'released', leaseMs: Math.max(0, Math.ceil(holdMs)), revision: randomUUID(), ...(slot === undefined ? {} : { slot }) };
}
