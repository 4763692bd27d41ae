/**
 * Callers of one version on keys that they share with another: they crash, stall past their leases, fail and come again, until they have each outcome.
 *
 * @module
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { RunOnceOptions } from '../../src/index.ts';
import type { Engine, Version } from './engines.ts';
import type { Line } from './judge.ts';
import type { Opened } from './place.ts';

export interface Calls {
  readonly version: Version;
  readonly seed: number;
  readonly keys: number;
  /** So many attempts of each key go wrong, some of them in silence. */
  readonly fails: number;
  readonly lanes: number;
  /** For all of it, ms. */
  readonly withinMs: number;
  /** How often the lease is taken. */
  readonly turns: number;
  readonly leaseMs: number;
  /** `none`: whoever stalls for longer is overtaken, also where a stall lets others of the same process go on. */
  readonly renew?: 'none';
}

/** How the process ends, or seems to. */
export interface Ways {
  crash(): Promise<never> | never;
  /** For so long nobody hears of it. */
  stall(ms: number): Promise<void> | void;
}

type Action = 'crash' | 'crash after its step' | 'stall' | 'throw' | 'lapse' | 'done';
const ACTIONS: readonly Action[] = ['crash after its step', 'stall', 'throw', 'lapse', 'crash', 'done'];

/** With it, all versions keep the value in one form: of what is plain JSON, those before issue 6 read only what they have written (see README.md). */
const AT = new Date(0);

/** Of each key one side begins what the other ends, so that every run has both in both parts. */
const isEndedBy = (version: Version, key: number): boolean => (version === 'today') === (key % 2 === 0);

/** The same for whoever makes that attempt. */
const actionOf = ({ seed, fails }: Calls, key: number, attempt: number): Action =>
  attempt > fails ? 'done' : (ACTIONS[(seed + key * 5 + attempt * 7 + key * attempt) % ACTIONS.length] as Action);

interface Value {
  readonly id: string;
  readonly charge: string;
  readonly token: number;
  readonly at: Date;
}

type Told = Line extends infer L ? (L extends Line ? Omit<L, 'version'> : never) : never;

export async function callAll(engine: Engine, { store, write }: Opened, calls: Calls, ways: Ways, tell: (line: Line) => void): Promise<void> {
  const { version, keys, leaseMs, withinMs, renew = 'auto' } = calls;
  const endMs = performance.now() + withinMs;
  const isLate = (): boolean => performance.now() > endMs;
  const say = (line: Told): void => tell({ version, ...line } as Line);
  const got = new Set<number>();

  /** A stale holder tries as well: that it is refused is the point. */
  const writeFenced = async (fence: Parameters<NonNullable<Opened['write']>>[0] | undefined, key: string): Promise<void> => {
    if (write === undefined || fence === undefined) return;
    await write(fence, key).catch((error: { code?: string }) => say({ told: 'refused', key, code: String(error.code) }));
  };

  async function call(n: number): Promise<void> {
    const key = `key ${n}`;
    const options: RunOnceOptions<Value> = {
      store,
      operation: 'versions/work',
      key,
      leaseMs,
      renew,
      onInFlight: { waitMs: Math.floor(leaseMs / 3) },
      onThrow: judged,
    };
    const result = await engine.tryRunOnce(options, async (run) => {
      const token = run.token ?? Number.NaN;
      say({ told: 'started', key, attempt: run.attempt, token });
      const action = actionOf(calls, n, run.attempt);
      if (action === 'crash') return ways.crash();
      const { id: charge } = await run.step('charge', () => {
        if (isEndedBy(version, n)) throw new engine.NotDoneError('the other side is to charge');
        const id = randomUUID();
        say({ told: 'charging', key, token, id });
        return { id, at: AT };
      });
      say({ told: 'charged', key, token, id: charge });
      if (action === 'crash after its step') return ways.crash();
      await writeFenced(run.fence, key);
      if (action === 'done' && !isEndedBy(version, n)) throw new engine.NotDoneError('the other side is to end it');
      if (action === 'throw') throw new engine.NotDoneError('not this time');
      if (action === 'lapse') throw new Error('lapse');
      if (action === 'stall') await ways.stall(leaseMs * 2);
      if (action === 'stall') await writeFenced(run.fence, key);
      return { id: randomUUID(), charge, token, at: AT };
    });
    if (result.kind !== 'completed') return;
    const { id, charge, token } = result.value;
    if (result.saved) say({ told: 'got', key, replayed: result.replayed, id, charge, token });
    if (result.saved) got.add(n);
  }

  async function lane(first: number): Promise<void> {
    for (let n = first; got.size < keys && !isLate(); n++) {
      await call(n % keys).catch((error: { code?: string }) => say({ told: 'refused', key: `key ${n % keys}`, code: String(error.code ?? error) }));
      await pause(10);
    }
  }

  async function turns(): Promise<void> {
    const leases = engine.storeLeases(store);
    for (let left = calls.turns; left > 0 && !isLate(); ) {
      const owner = randomUUID();
      const answer = await leases.acquire('versions/turn', { owner, leaseMs }).catch(() => undefined);
      if (answer?.kind === 'acquired') {
        left -= 1;
        say({ told: 'leased', key: 'a lease', token: answer.token });
        const abandoned = left % 3 === 0;
        if (!abandoned) await leases.release('versions/turn', { owner, token: answer.token }).catch(() => {});
      }
      await pause(20);
    }
  }

  const step = Math.ceil(keys / calls.lanes);
  // The versions begin at different ends, so that each has some first.
  const begin = version === 'today' ? Math.floor(keys / 2) : 0;
  await Promise.all([...Array.from({ length: calls.lanes }, (_, n) => lane(begin + n * step)), turns()]);
  if (isLate()) throw new Error(`${version}: ${keys - got.size} of ${keys} keys have come to no outcome within ${withinMs} ms`);
  // What the other has made of them.
  for (let n = 0; n < keys; n++) await call(n).catch(() => {});
}

const judged = (error: unknown): 'lapse' | undefined => ((error as Error).message === 'lapse' ? 'lapse' : undefined);
