/**
 * What core asks of the world: stores, leases, time, timers and random ids. A store is four conditional operations; all logic is in core.
 *
 * @module
 */
import type { Owner, RecordId, RecordToWrite, State, StoredRecord, Version } from './record.ts';

export interface CallOptions {
  /** Aborts the request. A write that was aborted after it was sent is `WRITE_UNKNOWN`. */
  readonly signal?: AbortSignal;
}

export interface Stored {
  readonly record: StoredRecord;
  readonly version: Version;
  /** max(0, now − writtenAtMs), by the clock that stamped it. */
  readonly ageMs: number;
}

export interface Written {
  readonly ok: true;
  readonly version: Version;
  /** The token as written, where the store raised it. */
  readonly token?: number;
}

/** The condition did not hold. `current` is what stands there; undefined = known to be absent (never: "not told"). */
export interface Conflict {
  readonly ok: false;
  readonly reason: 'conflict';
  readonly current: Stored | undefined;
}

/** The value was refused for its size; nothing was written. */
export interface TooLarge {
  readonly ok: false;
  readonly reason: 'too-large';
}

export type WriteResult = Written | Conflict | TooLarge;

export interface ListQuery {
  readonly operation?: string;
  /** The hash that the record keeps of its scope. */
  readonly scope?: string;
  readonly state?: State;
  /** Only records written longer ago than this. */
  readonly olderThanMs?: number;
}

export interface Listed extends Stored {
  readonly id: RecordId;
  /** Where it is read and changed, if that is not the store that listed it. */
  readonly store?: RecordStore;
}

export interface PurgeQuery {
  readonly operation?: string;
  /** Also remove running records that lapsed longer ago than this. Without it they stay: their outcome is unknown. */
  readonly lapsedOlderThanMs?: number;
  /** Stop after so many. Default: no limit. */
  readonly limit?: number;
}

/** Purge never touches what was written less than this ago: a late copy of an old request must not find its row gone. */
export const PURGE_MIN_AGE_MS = 3_600_000;

/** How large a part may be, and how many one outcome may have. */
export interface PartLimits {
  readonly bytesEach: number;
  readonly most: number;
}

export interface PartOptions extends CallOptions {
  /** For a store's own clean-up: to be kept for at least so long, ms. */
  readonly keepMs: number;
}

/** One of several writes: as `create`, or as `replace` where a version is given. */
export interface RecordWrite extends CallOptions {
  readonly id: RecordId;
  readonly record: RecordToWrite;
  readonly version?: Version | undefined;
}

/** A store without parts and batches: nothing of it is optional. */
export type PlainStore = Required<Omit<RecordStore, 'putPart' | 'readPart' | 'batch'>>;

/** A store with parts. */
export type PartsStore = PlainStore & Required<Pick<RecordStore, 'putPart' | 'readPart'>>;

/** A store that takes several writes in one request. */
export type BatchStore = PlainStore & Required<Pick<RecordStore, 'batch'>>;

/**
 * A place for records. Failures are of three kinds only: a refusal (a value, above); `STORE_UNAVAILABLE` (did not happen; `STORE_MISCONFIGURED`
 * where a person has to act); `WRITE_UNKNOWN` (may have happened). A store that cannot tell says unknown.
 */
export interface RecordStore {
  readonly name: string;
  readonly limits: {
    readonly maxRecordBytes: number;
    /** An outcome whose JSON is larger lies in parts beside the record, where the store has them. */
    readonly inlineBytes: number;
    readonly parts?: PartLimits;
    readonly maxKeyBytes: number;
    /** What was answered can be lost when another server takes over, so nobody can be promised that nothing starts again: `onUnknown: 'block'` is refused. */
    readonly losesOnFailover?: boolean;
  };
  readonly clock: {
    /** Who stamps `writtenAtMs`. */
    readonly source: 'store' | 'caller';
    /** How far the clocks of two callers may be apart. */
    readonly uncertaintyMs: number;
    /** The best knowledge of the store's time, epoch ms, without a request. */
    nowMs(): number;
  };
  /** Strongly consistent. */
  read(id: RecordId, options?: CallOptions): Promise<Stored | undefined>;
  /** Writes only when absent. */
  create(id: RecordId, record: RecordToWrite, options?: CallOptions): Promise<WriteResult>;
  /** Writes only when that version stands. */
  replace(id: RecordId, record: RecordToWrite, version: Version, options?: CallOptions): Promise<WriteResult>;
  /**
   * Where several writes fit into one request. Asked only as long as `create` and `replace` of the store are these two, so that whoever spreads a store and
   * puts something around them is not passed by.
   */
  readonly batch?: Pick<RecordStore, 'create' | 'replace'> & {
    /**
     * Writes of different records, each on its own condition: what one of them meets, or how long it has to wait, changes nothing for the others. An answer
     * for each, in their order; undefined where nothing has happened and it is to be asked by itself. One whose signal has aborted is not written any more.
     */
    writeAll(writes: readonly RecordWrite[]): readonly Promise<WriteResult | undefined>[];
  };
  /** Removes only when that version stands. */
  delete(id: RecordId, version: Version, options?: CallOptions): Promise<Written | Conflict>;
  /** For people, sweepers and clean-up; never on the hot path. */
  list(query: ListQuery): AsyncIterable<Listed>;
  /** Removes what has expired, each row on condition of the version it saw; parts with the record that names them, and those that no record names any more. */
  purge(query: PurgeQuery): Promise<{ removed: number }>;
  /** Writes a part beside the record, whatever stands there: the same name always has the same bytes. Part names: `[A-Za-z0-9._-]`, at most 128 characters. */
  putPart?(id: RecordId, name: string, bytes: Uint8Array, options: PartOptions): Promise<void>;
  /** undefined = known to be absent. */
  readPart?(id: RecordId, name: string, options?: CallOptions): Promise<Uint8Array | undefined>;
  /** Makes the table. Idempotent; never on the hot path. */
  setUp?(): Promise<void>;
  close?(): Promise<void>;
}

export type Acquired =
  /** `lastSlot`: the last one that is done, epoch ms; absent where none is, or where to know it would cost another request. */
  | { readonly kind: 'acquired'; readonly token: number; readonly lastSlot?: number }
  | { readonly kind: 'held'; readonly retryAfterMs?: number; readonly label?: string; readonly lastSlot?: number }
  | { readonly kind: 'slot-done' }
  | { readonly kind: 'slot-passed'; readonly lastSlot: number };

export interface AcquireRequest {
  /** A nonce per acquisition. Acquiring again with the same owner gives the same lease: that is how a lost answer is mended. */
  readonly owner: Owner;
  readonly leaseMs: number;
  /** Who holds it, for people only. */
  readonly label?: string;
  /** The scheduled moment this run stands for, epoch ms. */
  readonly slot?: number;
}

export interface LeaseState {
  readonly held: boolean;
  readonly token: number;
  readonly owner?: Owner;
  readonly label?: string;
  readonly remainingMs?: number;
  readonly lastSlot?: number;
}

/** Named locks with a fencing token. Doubt is thrown (`WRITE_UNKNOWN`), never called `held`. */
export interface LeaseProvider {
  readonly name: string;
  readonly limits: { readonly minLeaseMs: number; readonly maxLeaseMs: number };
  acquire(name: string, request: AcquireRequest, options?: CallOptions): Promise<Acquired>;
  renew(name: string, holder: { owner: Owner; token: number; leaseMs: number }, options?: CallOptions): Promise<'renewed' | 'lost'>;
  /** Keeps the row and the token. `holdMs`: stay taken for so long after the release (minimum hold). `slotDone`: mark this slot. */
  release(
    name: string,
    holder: { owner: Owner; token: number; slotDone?: number; holdMs?: number },
    options?: CallOptions,
  ): Promise<'released' | 'lost'>;
  read(name: string, options?: CallOptions): Promise<LeaseState | undefined>;
  /** For operators: frees it and raises the token, so that the old holder is fenced. */
  break(name: string, options?: CallOptions): Promise<void>;
  setUp?(): Promise<void>;
}

/** What a fenced write is checked against. Plain JSON: it can travel in a message. */
export interface Fence {
  /** The record's id, or the lease's name. */
  readonly id: string;
  readonly owner: Owner;
  readonly token: number;
}

/** Two clocks: one that never steps, one that moves on while a sandbox is frozen. Both in ms. */
export interface Clock {
  monotonicMs(): number;
  wallMs(): number;
}

export interface Timers {
  /**
   * Calls back once after `ms`; returns what cancels it. Keeps the process alive only when asked to: somebody awaits a pause, nobody awaits a
   * renewal.
   */
  after(ms: number, callback: () => void, options?: { keepAlive?: boolean }): () => void;
}

/** Where core takes time and randomness from. */
export interface System {
  readonly clock: Clock;
  readonly timers: Timers;
  /** A nonce of at least 120 random bits. */
  nonce(): string;
  /** In [0, 1). For jitter only. */
  random(): number;
}
