import { storeUnavailable, writeUnknown } from '../../src/core/errors.ts';
import type { CallOptions, Fence, Listed, ListQuery, RecordStore, Stored, WriteResult } from '../../src/core/ports.ts';
import type { RecordToWrite, StoredRecord } from '../../src/core/record.ts';
import { type Fault, type Purpose, purposeOf, type Weather } from './faults.ts';
import type { Process } from './process.ts';
import type { Effect, Shelf, Stamp } from './shelf.ts';
import type { Tally } from './tally.ts';

export interface Client extends RecordStore {
  /** Writes to somebody's data under a fence. @throws RerunSafeError `STALE_TOKEN` */
  fenced(fence: Fence, by: Effect['by'], options: CallOptions): Promise<void>;
}

export interface Link {
  readonly process: Process;
  readonly shelf: Shelf;
  /** undefined: nothing goes wrong. */
  readonly weather: Weather | undefined;
  readonly tally: Tally;
  readonly losesOnFailover?: boolean;
  /** Told of each record as it leaves. */
  readonly onSend?: (record: RecordToWrite) => void;
}

/** Of an SDK, where the caller sets none. */
const OWN_LIMIT_MS = 5_000;
const INJECTED = new Error('injected');
const never = (): Promise<never> => new Promise(() => {});

/** The store as one process reaches it: a request leaves, is applied, and its answer arrives; in between anything may happen to it. */
export function clientOf(link: Link): Client {
  const { process, shelf, weather, tally, losesOnFailover = false, onSend } = link;
  const { world } = process;
  const dice = process.dice.fork('network');
  const { uncertaintyMs, maxRecordBytes } = shelf.options;
  /** Callers stamp what they write, and judge the age of what they read. */
  const byCaller = uncertaintyMs > 0;
  let requests = 0;
  let lastApplied = 0;

  const judgeMs = (): number => (byCaller ? process.storeNowMs() : world.nowMs());

  async function send<A, T>(purpose: Purpose, options: CallOptions | undefined, apply: () => A, answer: (applied: A) => T): Promise<T> {
    requests += 1;
    const n = requests;
    const isWrite = purpose !== 'look';
    const fault = faultOf(isWrite, purpose, n);
    const inDoubt = (why: string): Error => (isWrite ? writeUnknown(why, INJECTED) : storeUnavailable(why, INJECTED));
    const signal = options?.signal;
    const unanswered = (): Promise<never> =>
      signal === undefined
        ? world.sleep(OWN_LIMIT_MS).then(() => {
            throw inDoubt('no answer');
          })
        : never();

    if (process.dead || process.paused) await process.awake();
    if (dice.chance(0.3)) await world.sleep(dice.between(1, 20));
    else await undefined;
    if (signal?.aborted === true && dice.chance(0.5)) throw storeUnavailable('aborted before it was sent', signal.reason);

    const applied = (): A => {
      if (n < lastApplied) tally.saw('reordered');
      lastApplied = Math.max(lastApplied, n);
      const result = apply();
      world.trace.add(world.elapsedMs);
      world.trace.add(`${process.name}.${n} ${purpose} ${shelf.history.length}`);
      return result;
    };
    const later = (): void => {
      if (!shelf.isDown) applied();
    };
    switch (fault) {
      case 'lost-request':
        throw inDoubt(fault);
      case 'unavailable':
        throw storeUnavailable('unavailable', INJECTED);
      case 'hang':
        return unanswered();
      case 'late-copy':
        world.after(dice.between(1, weather?.longestMs ?? 1), later);
        throw inDoubt(fault);
      case 'slow-request':
        await world.sleep(dice.between(1, weather?.longestMs ?? 1));
    }
    if (shelf.isDown) {
      tally.saw('met a store that was down');
      if (dice.chance(0.5)) throw storeUnavailable('the store is down', INJECTED);
      return unanswered();
    }
    const { downs } = shelf;
    let result = applied();
    if (fault === 'sent-twice') result = applied();
    if (fault === 'duplicate') world.after(dice.between(1, weather?.longestMs ?? 1), later);

    // An answer may be slow as well: the lease has begun long before the caller learns of it.
    if (fault === 'slow-answer') await world.sleep(dice.between(1, weather?.longestMs ?? 1));
    else if (dice.chance(0.3)) await world.sleep(dice.between(1, 20));
    if (process.dead || process.paused) await process.awake();
    if (shelf.downs !== downs) {
      tally.saw('lost an answer to a restart');
      return unanswered();
    }
    if (fault === 'lost-answer') throw inDoubt(fault);
    if (fault === 'hang-applied') return unanswered();
    return answer(result);
  }

  function faultOf(isWrite: boolean, purpose: Purpose, n: number): Fault | undefined {
    if (weather === undefined || world.elapsedMs >= weather.untilMs) return undefined;
    const fault = weather.faultOf(dice, isWrite);
    if (fault === undefined || !world.happenings.allows(`${process.name}.${n}:${fault}`)) return undefined;
    tally.fault(fault, purpose);
    return fault;
  }

  function write(record: RecordToWrite, over: string | undefined, options: CallOptions | undefined): Promise<WriteResult> {
    const sent: Stamp = { writtenAtMs: process.storeNowMs(), fromMs: shelf.atMs };
    const purpose = purposeOf(record, shelf.byRevision(over));
    onSend?.(record);
    return send(
      purpose,
      options,
      () => {
        const result = shelf.write(record, over, byCaller ? sent : { writtenAtMs: world.nowMs(), fromMs: shelf.atMs });
        return result === 'conflict' ? { row: shelf.row, atMs: judgeMs() } : result;
      },
      (applied) => ('ok' in applied ? applied : { ok: false, reason: 'conflict', current: seen(applied) }),
    );
  }

  /** Callers who stamp judge the age when the answer is there, stores when they give it. */
  const seen = ({ row, atMs }: { readonly row: StoredRecord | undefined; readonly atMs: number }): Stored | undefined =>
    shelf.seen(row, byCaller ? judgeMs() : atMs);

  const read = (options?: CallOptions): Promise<Stored | undefined> => send('look', options, () => ({ row: shelf.row, atMs: judgeMs() }), seen);

  async function* list({ state }: ListQuery): AsyncGenerator<Listed> {
    const found = await read();
    if (found !== undefined && found.record.state === state) yield { id: shelf.id, ...found };
  }

  return {
    name: 'simulated',
    limits: { maxRecordBytes, inlineBytes: maxRecordBytes, maxKeyBytes: 1_024, losesOnFailover },
    clock: { source: byCaller ? 'caller' : 'store', uncertaintyMs, nowMs: () => process.storeNowMs() },
    read: (_, options) => read(options),
    create: (_, record, options) => write(record, undefined, options),
    replace: (_, record, version, options) => write(record, version, options),
    delete: () => Promise.reject(new Error('nobody deletes here')),
    list,
    purge: () => Promise.reject(new Error('nobody purges here')),
    fenced: (fence, by, options) => send('fenced', options, () => shelf.fenced(fence, by), throwIf),
  };
}

function throwIf(refusal: unknown): void {
  if (refusal !== undefined) throw refusal;
}
