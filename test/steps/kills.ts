/**
 * A run of five steps whose process is killed, on a store that several processes reach.
 *
 * @module
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { keyParts, recordId } from '../../src/core/key.ts';
import { type RunOnceOptions, tryRunOnce } from '../../src/index.ts';
import { type Opened, openPlace, type Place } from '../crash/place.ts';
import { type Event, of } from '../history/format.ts';
import { fileHistory, readHistory } from '../history/log.ts';
import { byLength } from '../support/long.ts';
import { endOf, fiveSteps, OPERATION } from './five-steps.ts';
import { judge } from './judge.ts';
import type { Plan, PointPlan } from './plan.ts';
import { anyMoment, plansOf, randomOf, TRIPLES } from './plans.ts';
import { Workers } from './processes.ts';

const KILLS = 3;
/** As many of the triples that can be met. */
const DEPTHS = byLength(12, 80, TRIPLES.length);
/** At once in one process. */
const MOST_AT_ONCE = 120;
/** Ended by the test itself: a lease that ran out on a busy machine would only be another interruption. */
const LONG_LEASE_MS = 60_000;
/** Ends by itself. */
const SHORT_LEASE_MS = 1_500;
const ANY_MOMENT_RUNS = byLength(12, 30, 60);
const ANY_MOMENT_KILLS = byLength(1, 3, 3);
const ANY_MOMENT_ROUNDS = byLength(1, 1, 12);
/** From the first effect that is seen: about what a run takes. */
const LATEST_KILL_MS = 250;

/** A process may die in the middle of its line, once. */
function eventsOf(path: string): Event[] {
  const { events, torn } = readHistory(path);
  expect(torn.length).toBeLessThanOrEqual(KILLS);
  return events;
}

export function killSuite(name: string, start: () => Promise<{ place: Place; stop(): Promise<void> }>): void {
  describe(`five steps on ${name}, in processes that are killed`, () => {
    let stop: () => Promise<void>;
    let place: Place;
    let opened: Opened;
    let folder: string;
    const workers = new Workers();
    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'rerunsafe-steps-'));
      const started = await start();
      ({ place, stop } = started);
      opened = openPlace(place);
      await opened.store.setUp?.();
    });
    afterAll(async () => {
      await workers.endAll();
      opened?.close();
      await stop?.();
      await rm(folder, { recursive: true, force: true });
    });

    /** As if the time of its lease had passed. */
    async function lapse(run: string): Promise<void> {
      const id = recordId(OPERATION, [], keyParts(run));
      const standing = await opened.store.read(id);
      if (standing?.record.state !== 'running') return;
      const { writtenAtMs: _, ...record } = standing.record;
      const result = await opened.store.replace(id, { ...record, leaseMs: 0 }, standing.version);
      if (!result.ok) throw new Error(`somebody is still writing ${run}`);
    }

    /** Later callers in another process, that is this one. */
    async function callLater(plans: readonly Plan[], path: string): Promise<Event[]> {
      const history = fileHistory(path);
      for (const child of [KILLS + 2, KILLS + 3]) {
        await Promise.all(
          plans.map(async (plan) => {
            const options: RunOnceOptions<string[]> = { store: opened.store, operation: OPERATION, key: plan.run };
            await endOf({ plan, child, history }, () => tryRunOnce(options, fiveSteps({ plan, child, history, at: async () => {} })));
          }),
        );
      }
      history.close();
      return eventsOf(path);
    }

    async function killAtPoints(plans: readonly PointPlan[], path: string): Promise<Event[]> {
      for (let child = 1; child <= KILLS; child++) {
        expect(await workers.start(place, { child, history: path, plans, leaseMs: LONG_LEASE_MS }).ended).toBe('killed');
        await Promise.all(plans.filter(({ kills }) => kills.length >= child).map(({ run }) => lapse(run)));
      }
      expect(await workers.start(place, { child: KILLS + 1, history: path, plans, leaseMs: LONG_LEASE_MS }).ended).toBe('by itself');
      return callLater(plans, path);
    }

    async function killAtAnyMoment(plans: readonly Plan[], path: string, random: () => number): Promise<Event[]> {
      const history = fileHistory(path);
      const effects = (): number => of(history.events(), 'effect').length;
      for (let child = 1; child <= ANY_MOMENT_KILLS; child++) {
        const before = effects();
        const worker = workers.start(place, { child, history: path, plans, leaseMs: SHORT_LEASE_MS });
        const ended = worker.ended.then(() => true);
        while (effects() === before && !(await Promise.race([ended, pause(5, false)])));
        await pause(random() * LATEST_KILL_MS);
        history.note({ what: 'struck', caller: String(child), key: '', signal: 'SIGKILL', point: 'outside' });
        worker.kill();
        await worker.ended;
      }
      await workers.start(place, { child: KILLS + 1, history: path, plans, leaseMs: SHORT_LEASE_MS }).ended;
      history.close();
      return callLater(plans, path);
    }

    it.concurrent(
      'I3 I8 killed before and after each step, three attempts deep: only what was not kept is done again, at most once is at most once, and all are told the same',
      async () => {
        const seed = (Math.random() * 2 ** 31) | 0;
        const plans = plansOf(DEPTHS, seed);
        console.log(`${name}: ${plans.length} runs, ${Math.min(DEPTHS, TRIPLES.length)} of ${TRIPLES.length} triples, seed ${seed}`);
        for (let from = 0; from < plans.length; from += MOST_AT_ONCE) {
          const some = plans.slice(from, from + MOST_AT_ONCE);
          const path = join(folder, `points-${from}`);
          expect(judge(some, await killAtPoints(some, path)).join('\n')).toBe('');
        }
      },
      byLength(60_000, 120_000, 1_800_000),
    );

    it.concurrent(
      'I3 I8 I10 killed at any moment, until its lease has run out by itself: a step that resolved is not done again, and all are told the same',
      async () => {
        const seed = (Math.random() * 2 ** 31) | 0;
        const random = randomOf(seed);
        console.log(`${name}: ${ANY_MOMENT_ROUNDS * ANY_MOMENT_RUNS} runs killed at any moment, seed ${seed}`);
        for (let round = 0; round < ANY_MOMENT_ROUNDS; round++) {
          const plans = anyMoment(round, ANY_MOMENT_RUNS);
          const events = await killAtAnyMoment(plans, join(folder, `any-${round}`), random);
          expect(judge(plans, events).join('\n')).toBe('');
          // Else it would have shown nothing.
          expect(of(events, 'effect', 'asked', 'resolved').filter(({ attempt }) => attempt > 1).length).toBeGreaterThan(0);
        }
      },
      byLength(60_000, 120_000, 1_800_000),
    );
  });
}
