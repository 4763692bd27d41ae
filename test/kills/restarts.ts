/**
 * Servers that are killed and started again while processes work: what was answered stands, and what was under way is told as it is.
 *
 * @module
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type Event, of } from '../history/format.ts';
import { fileHistory, readHistory } from '../history/log.ts';
import type { Violation } from '../history/violation.ts';
import { Gate } from './gate.ts';
import { judgeLife } from './judge.ts';
import { live, rowOf } from './live.ts';
import { type Life, livesOf } from './lives.ts';
import type { Mortal } from './mortal.ts';
import { openPlace } from './place.ts';
import { Workers } from './workers.ts';

export interface RestartPlan {
  readonly store: string;
  /** How often the server dies. */
  readonly deaths: number;
  /** Keys between two deaths, for each life. */
  readonly keys: number;
  /** While they are worked at (default), or when all of them have ended. */
  readonly when?: 'meanwhile' | 'afterwards';
}

export interface RestartShown {
  readonly runs: number;
  readonly deaths: number;
  /** Calls that were told that the store is away, or that nobody knows: the server died under them. */
  readonly hit: number;
  readonly violations: readonly Violation[];
  readonly seconds: number;
}

const NAMES: ReadonlySet<string> = new Set(['first run', 'steps', 'renewal', 'lease']);
const LEASE_MS = 2_000;
const PROCESSES = 2;
/** Half of what a call leaves in the history when nothing fails. */
const EVENTS = 6;
const WAIT_MS = 20_000;
const TRIES = 12;
const LAST = 'the last';

export async function withServerKilled(mortal: Mortal, { deaths, keys, when = 'meanwhile' }: RestartPlan): Promise<RestartShown> {
  const began = performance.now();
  const folder = await mkdtemp(join(tmpdir(), 'rerunsafe-restarts-'));
  const path = join(folder, 'history');
  const history = fileHistory(path);
  const opened = await openPlace(mortal.place);
  const workers = new Workers(mortal.place, folder);
  const lives = livesOf({ records: true, parts: false, commits: false }).filter(({ name }) => NAMES.has(name));
  try {
    await opened.store.setUp?.();
    const all: { life: Life; key: string }[] = [];
    for (let death = 1; death <= deaths; death++) {
      const own = lives.flatMap((life) => Array.from({ length: keys }, (_, n) => ({ life, key: `${life.name} ${death}.${n}` })));
      all.push(...own);
      const playing = await Promise.all(Array.from({ length: PROCESSES }, () => workers.take(PROCESSES)));
      const before = readHistory(path).events.length;
      for (const [n, worker] of playing.entries()) {
        const errands = own.map(({ life, key }) => ({ life: life.name, key, caller: `process ${death}.${n + 1}` }));
        worker.perform({ history: path, leaseMs: LEASE_MS, errands, strike: 'nothing', role: 'after it', waitMs: WAIT_MS, tries: TRIES });
      }
      const ended = Promise.all(playing.map((worker) => worker.ended));
      ended.catch(() => {});
      if (when === 'afterwards') await ended;
      // By what has happened and not by time: a fast machine would be done before.
      const moment = when === 'meanwhile' ? before + 1 + Math.floor(Math.random() * own.length * PROCESSES * EVENTS) : 0;
      while (readHistory(path).events.length < moment) await pause(1);
      await mortal.die();
      await mortal.rise();
      await ended;
    }
    const again = all.map(({ life, key }) =>
      live(life, { opened, history, caller: LAST, role: 'after it', key, leaseMs: LEASE_MS, gate: new Gate(), waitMs: WAIT_MS, tries: TRIES }),
    );
    await Promise.all(again);
    const { events } = readHistory(path);
    const uncertaintyMs = opened.store.clock.uncertaintyMs;
    const violations = all.flatMap(({ life, key }) => {
      const own = events.filter((event) => event.key === key || event.key === rowOf(life, key));
      return judgeLife(own, { life, key, place: mortal.place.kind, leaseMs: LEASE_MS, uncertaintyMs, last: LAST, other: 'nobody' });
    });
    return { runs: all.length, deaths, hit: hitsIn(events), violations, seconds: (performance.now() - began) / 1_000 };
  } finally {
    await workers.endAll();
    history.close();
    await opened.close();
    await rm(folder, { recursive: true, force: true });
  }
}

const AWAY: ReadonlySet<string | undefined> = new Set(['STORE_UNAVAILABLE', 'WRITE_UNKNOWN']);
const hitsIn = (events: readonly Event[]): number => of(events, 'fail', 'unknown').filter(({ code }) => AWAY.has(code)).length;
