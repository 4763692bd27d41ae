import { mustHold } from '../../src/core/fence.ts';
import type { Fence, Stored, WriteResult } from '../../src/core/ports.ts';
import { fromRow, type RecordId, type RecordToWrite, type StoredRecord, toRow } from '../../src/core/record.ts';
import type { World } from './world.ts';

/** A state that the row has taken. */
export interface Accepted {
  readonly atMs: number;
  /** From when its lease counts: when it was sent, where callers stamp what they write. */
  readonly fromMs: number;
  /** undefined: deleted. */
  readonly record: RecordToWrite | undefined;
  /** Not written by anybody: a person removed the row, or a server took over that had not seen the last writes. */
  readonly how?: 'removed' | 'set-back';
}

/** A write to somebody's data that a fence has let through. */
export interface Effect {
  readonly fence: Fence;
  /** How many states the row had taken by then. */
  readonly after: number;
  /** `row`: checked against the row of the lease, in one transaction. `target`: against the highest token that this target has seen. */
  readonly by: 'row' | 'target';
}

export interface Stamp {
  readonly writtenAtMs: number;
  readonly fromMs: number;
}

export interface ShelfOptions {
  readonly uncertaintyMs: number;
  readonly maxRecordBytes: number;
  /** Everything goes through the columns of a row, as in a real store. */
  readonly asRows: boolean;
  /** Takes completions over whatever stands there. */
  readonly broken: boolean;
}

const UNLIMITED = 1_000_000;

/** The one row of a run as an ideal store keeps it, with all that it ever was, and the data that fenced writes go to. */
export class Shelf {
  readonly history: Accepted[] = [];
  readonly effects: Effect[] = [];
  readonly options: ShelfOptions;
  /** Nothing is answered until then; what was under way when it began is not answered either. */
  downUntilMs = -1;
  downs = 0;
  readonly #world: World;
  #row: StoredRecord | undefined;
  #highestAtTarget: Fence | undefined;
  readonly #byRevision = new Map<string, RecordToWrite>();
  readonly id: RecordId;

  constructor(world: World, id: RecordId, options: ShelfOptions) {
    this.#world = world;
    this.id = id;
    this.options = options;
  }

  get atMs(): number {
    return Math.floor(this.#world.elapsedMs);
  }

  get isDown(): boolean {
    return this.downUntilMs > this.#world.elapsedMs;
  }

  get standing(): Accepted | undefined {
    return this.history.at(-1);
  }

  /** Age by `nowMs`, which is the store's own time unless callers stamp. */
  seen(row: StoredRecord | undefined, nowMs: number): Stored | undefined {
    if (row === undefined) return undefined;
    const record = this.options.asRows ? fromRow(JSON.parse(JSON.stringify(toRow(row)))) : row;
    return { record, version: row.revision, ageMs: Math.max(0, nowMs - row.writtenAtMs) };
  }

  get row(): StoredRecord | undefined {
    return this.#row;
  }

  /** Only over that version; undefined: only when absent. Says what stands there otherwise. */
  write(record: RecordToWrite, over: string | undefined, stamp: Stamp): Extract<WriteResult, { ok: true } | { reason: 'too-large' }> | 'conflict' {
    const ignores = this.options.broken && record.state === 'completed';
    if (this.#row?.revision !== over && !ignores) return 'conflict';
    const row: StoredRecord = Object.freeze({ ...record, writtenAtMs: stamp.writtenAtMs });
    if (this.options.maxRecordBytes < UNLIMITED && JSON.stringify(row).length > this.options.maxRecordBytes)
      return { ok: false, reason: 'too-large' };
    this.#row = row;
    this.#byRevision.set(row.revision, row);
    this.history.push({ atMs: this.atMs, fromMs: stamp.fromMs, record: row });
    return { ok: true, version: record.revision };
  }

  /** As a person might. */
  remove(): boolean {
    if (this.#row === undefined) return false;
    this.#row = undefined;
    this.history.push({ atMs: this.atMs, fromMs: this.atMs, record: undefined, how: 'removed' });
    return true;
  }

  /** Then a late copy of a claim may find its place free. */
  get wasRemoved(): boolean {
    return this.history.some(({ how }) => how === 'removed');
  }

  /** Another server takes over, to which the last so many writes have not come. */
  loseLast(writes: number): boolean {
    const { history } = this;
    if (history.length === 0) return false;
    const kept = history[history.length - 1 - writes];
    this.#row = kept?.record as StoredRecord | undefined;
    history.push({ atMs: this.atMs, fromMs: kept?.fromMs ?? this.atMs, record: this.#row, how: 'set-back' });
    return true;
  }

  /** The refusal, if any. */
  fenced(fence: Fence, by: Effect['by']): unknown {
    const highest = this.#highestAtTarget;
    try {
      if (by === 'row') mustHold(fence, this.#row, 'the simulation');
      else if (highest !== undefined && highest.token > fence.token) mustHold(fence, highest, 'the target');
      else this.#highestAtTarget = fence;
    } catch (refusal) {
      return refusal;
    }
    this.effects.push({ fence, after: this.history.length, by });
    return undefined;
  }

  byRevision(revision: string | undefined): RecordToWrite | undefined {
    return revision === undefined ? undefined : this.#byRevision.get(revision);
  }

  /** Where this owner took the row; -1 where it never did. */
  claimOf(owner: string | undefined): number {
    return this.history.findIndex(({ record }) => record?.owner === owner);
  }

  /** Whether an outcome of this owner's was ever accepted. */
  hasCompleted(owner: string | undefined): boolean {
    return this.history.some(({ record }) => record?.owner === owner && record?.state === 'completed');
  }

  /** Whether this owner took the row after the last loss of writes; those before it, and those after, may hold it at once. */
  isSinceLoss(owner: string | undefined): boolean {
    const claimed = this.claimOf(owner);
    return claimed === -1 || claimed > this.history.findLastIndex(({ how }) => how === 'set-back');
  }

  /** What is left of an owner's lease by true time; undefined where it does not hold the row. */
  leaseLeftMs(owner: string | undefined): number | undefined {
    const { standing } = this;
    if (standing?.record?.state !== 'running' || standing.record.owner !== owner) return undefined;
    return Math.max(0, standing.record.leaseMs - (this.#world.elapsedMs - standing.fromMs));
  }
}
