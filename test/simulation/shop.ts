import type { RecordStore, WriteResult } from '../../src/core/ports.ts';
import type { RecordToWrite } from '../../src/core/record.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';
import { type FaultPlan, type FaultyStore, faultyStore, type StoreFault } from '../../src/testing/index.ts';
import type { Process, World } from './world.ts';

/** A write that the store accepted. */
export interface Accepted {
  readonly atMs: number;
  /** From when its lease counts: when it was sent, where callers stamp what they write. */
  readonly fromMs: number;
  /** undefined: deleted. */
  readonly record: RecordToWrite | undefined;
}

export interface Weather {
  /** How likely a request meets a fault. */
  readonly rate: number;
  readonly untilMs: number;
  readonly longestMs: number;
}

/** One memory store with its history, and for each process a client of it that meets faults. */
export class Shop {
  readonly history: Accepted[] = [];
  readonly faults = new Map<string, number>();
  readonly uncertaintyMs: number;
  readonly #world: World;
  readonly #store: RecordStore;
  /** A store without a clock is stamped by its callers, when the write is first sent. */
  readonly #stamps = new WeakMap<RecordToWrite, { readonly clockMs: number; readonly fromMs: number }>();
  #clockMs: number | undefined;
  #queue: Promise<unknown> = Promise.resolve();

  constructor(world: World, uncertaintyMs: number, maxRecordBytes: number) {
    this.#world = world;
    this.uncertaintyMs = uncertaintyMs;
    this.#store = memoryStore({ clock: { nowMs: () => this.#clockMs ?? world.nowMs() }, maxRecordBytes });
  }

  get #atMs(): number {
    return Math.floor(this.#world.elapsedMs);
  }

  get standing(): Accepted | undefined {
    return this.history.at(-1);
  }

  /** What is left of an owner's lease by true time; undefined where it does not hold the row. */
  leaseLeftMs(owner: string | undefined): number | undefined {
    const { standing } = this;
    if (standing?.record?.state !== 'running' || standing.record.owner !== owner) return undefined;
    return Math.max(0, standing.record.leaseMs - (this.#world.elapsedMs - standing.fromMs));
  }

  /** Removes the row, as a person might. */
  async vanish(): Promise<void> {
    for await (const found of this.#store.list({})) {
      const removed = await this.#store.delete(found.id, found.version);
      if (removed.ok) this.history.push({ atMs: this.#atMs, fromMs: this.#atMs, record: undefined });
    }
  }

  client(process: Process, weather: () => Weather, onSend: (record: RecordToWrite) => void = () => {}): FaultyStore {
    const { dice } = this.#world;
    const choose = (write: boolean): StoreFault | undefined => {
      const { rate, untilMs, longestMs } = weather();
      if (this.#world.elapsedMs >= untilMs || !dice.chance(rate)) return undefined;
      const kinds = write ? WRITE_FAULTS : READ_FAULTS;
      const kind = dice.pick(kinds);
      this.faults.set(kind, (this.faults.get(kind) ?? 0) + 1);
      if (kind === 'delay') return { delayMs: dice.between(1, longestMs) };
      return kind === 'late-copy' ? { landsAfterMs: dice.between(1, longestMs) } : kind;
    };
    const plan: FaultPlan = {
      timers: this.#world.timers,
      read: () => choose(false),
      create: () => choose(true),
      replace: () => choose(true),
      before: async (_, __, { record }) => {
        if (record !== undefined) onSend(record);
        // What a dead process was about to send is never sent.
        if (process.dead || process.paused) await process.awake();
        if (dice.chance(0.3)) await this.#world.sleep(dice.between(1, 20));
      },
      after: async () => {
        // An answer may be slow as well: the lease has begun long before the caller learns of it.
        if (dice.chance(0.3)) await this.#world.sleep(dice.between(1, dice.chance(0.1) ? weather().longestMs / 12 : 20));
        if (process.dead || process.paused) await process.awake();
      },
    };
    const client = faultyStore(this.#asSeenBy(process), plan);
    if (this.uncertaintyMs === 0) return client;
    const stamp = (record: RecordToWrite): RecordToWrite => {
      this.#stamps.set(record, { clockMs: client.clock.nowMs(), fromMs: this.#atMs });
      return record;
    };
    return {
      ...client,
      create: (id, record, options) => client.create(id, stamp(record), options),
      replace: (id, record, version, options) => client.replace(id, stamp(record), version, options),
    };
  }

  #asSeenBy(process: Process): RecordStore {
    const store = this.#store;
    const nowMs = (): number => this.#world.nowMs() + process.skewMs;
    const kept = async (record: RecordToWrite, write: Promise<WriteResult>): Promise<WriteResult> => {
      const result = await write;
      if (result.ok) this.history.push({ atMs: this.#atMs, fromMs: this.#stamps.get(record)?.fromMs ?? this.#atMs, record });
      return result;
    };
    return {
      ...store,
      clock: { source: this.uncertaintyMs === 0 ? 'store' : 'caller', uncertaintyMs: this.uncertaintyMs, nowMs },
      read: (id, options) => this.#by(nowMs(), () => store.read(id, options)),
      create: (id, record, options) => this.#by(this.#stamps.get(record)?.clockMs ?? nowMs(), () => kept(record, store.create(id, record, options))),
      replace: (id, record, version, options) =>
        this.#by(this.#stamps.get(record)?.clockMs ?? nowMs(), () => kept(record, store.replace(id, record, version, options))),
    };
  }

  /** One after the other, each by its caller's clock. */
  #by<T>(clockMs: number, operation: () => Promise<T>): Promise<T> {
    if (this.uncertaintyMs === 0) return operation();
    const next = this.#queue.then(() => {
      this.#clockMs = clockMs;
      return operation();
    });
    this.#queue = next.catch(() => {});
    return next;
  }
}

const READ_FAULTS = ['unavailable', 'hang', 'delay'] as const;
const WRITE_FAULTS = ['lost-answer', 'lost-request', 'retried-lost-answer', 'unavailable', 'hang', 'hang-applied', 'delay', 'late-copy'] as const;
