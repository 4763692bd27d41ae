/**
 * Two owners on the same steps: the first stalls, the second takes over, and the first goes on as if nothing had happened.
 *
 * @module
 */
import { expect, it } from 'vitest';
import { isRerunSafeError, type Run } from '../../src/index.ts';
import { byLength } from '../support/long.ts';
import { type Case, type Fresh, gate, LONG_MS, SHORT_MS } from '../support/promises-case.ts';
import { STEPS } from './plan.ts';

interface Stalled {
  /** Its step, and whether it stalls before it asks for it, or inside of the work, after the effect. */
  readonly where: 'before' | 'in';
  readonly step: string;
  /** Its lease runs out; or its clock stands still, and it believes in its lease for as long as nobody tells it. */
  readonly by: 'its lease runs out' | 'its clock stands still';
  /** What the second has come to when the first goes on. */
  readonly second: 'has ended' | 'is at work';
  /** The work of the first lets its refusal through, or goes on all the same. */
  readonly first: 'lets it through' | 'goes on';
}

const PLACES = [
  ['in', 'pack'],
  ['in', 'charge'],
  ['before', 'pack'],
  ['before', 'ship'],
] as const;

const ALL_STALLS: readonly Stalled[] = PLACES.flatMap(([where, step]) =>
  (['has ended', 'is at work'] as const).flatMap((second): Stalled[] => [
    { where, step, by: 'its clock stands still', second, first: 'goes on' },
    { where, step, by: 'its clock stands still', second, first: 'lets it through' },
    { where, step, by: 'its lease runs out', second, first: second === 'has ended' ? 'goes on' : 'lets it through' },
  ]),
);

/** Each lease that runs out by itself takes its time. */
const STALLS = byLength(
  ALL_STALLS.filter(({ by, second }) => by === 'its clock stands still' || second === 'has ended'),
  ALL_STALLS,
  ALL_STALLS,
);

const titleOf = ({ where, step, by, second, first }: Stalled): string =>
  `an owner that stalls ${where} "${step}", while ${by}; the second ${second}, the first ${first}`;

const LAST = 'mail';

interface Scene {
  /** What each owner asked for last, and in which attempt. A claim that took too long on a busy machine is one too. */
  readonly asked: Record<string, { step: string; attempt: number }>;
  readonly effects: { readonly who: string; readonly step: string; readonly key: string }[];
  /** Each owner comes by here, before and in each step. */
  at(who: string, where: Stalled['where'], step: string): Promise<void>;
}

const allSteps =
  (who: string, { asked, effects, at }: Scene) =>
  async (run: Run) => {
    const values: string[] = [];
    for (const { name, mode } of STEPS) {
      await at(who, 'before', name);
      const work: Parameters<typeof run.step<string>>[1] = async (step) => {
        effects.push({ who, step: name, key: step.key });
        await at(who, 'in', name);
        return `${name} by the ${who}`;
      };
      const onInterrupted = ({ key }: { key: string }) => {
        const found = effects.find((effect) => effect.key === key);
        return found === undefined ? ('not-done' as const) : { done: `${name} by the ${found.who}` };
      };
      asked[who] = { step: name, attempt: run.attempt };
      values.push(await run.step(name, work, mode === 'atMostOnce' ? { mode, onInterrupted } : {}));
    }
    return values;
  };

/** What the takeover is decided by, as a caller sees it whose clock is ahead. */
async function lapsed(c: Case, by: Stalled['by']): Promise<void> {
  if (by === 'its lease runs out') return c.lapse();
  const standing = await c.stands();
  if (standing === undefined) throw new Error('there is no record');
  const { writtenAtMs: _, ...record } = standing.record;
  expect(await c.direct.replace(c.id, { ...record, leaseMs: 0 }, standing.version)).toMatchObject({ ok: true });
}

const codeOf = (error: unknown): string => (isRerunSafeError(error) ? error.code : String(error));

/** The first, as far as its stall. undefined: on a busy machine its lease was over before that. */
async function stalledFirst(fresh: Fresh, stall: Stalled, leaseMs: number) {
  const c = fresh({ renew: 'none' });
  const [stalled, goesOn, secondIsThere, secondGoesOn] = [gate(), gate(), gate(), gate()];
  const scene: Scene = {
    asked: {},
    effects: [],
    async at(who, where, step) {
      if (who === 'first' && where === stall.where && step === stall.step) {
        stalled.open();
        await goesOn.opened;
      }
      if (who === 'second' && where === 'in' && step === LAST && stall.second === 'is at work') {
        secondIsThere.open();
        await secondGoesOn.opened;
      }
    },
  };
  const found: Record<string, unknown> = {};
  const work = async (run: Run): Promise<string[]> => {
    try {
      return await allSteps('first', scene)(run);
    } catch (error) {
      let begun = false;
      Object.assign(found, { step: scene.asked.first?.step, refused: codeOf(error), aborted: run.signal.aborted, reason: codeOf(run.signal.reason) });
      const more = run.step('one more', () => {
        begun = true;
      });
      Object.assign(found, { more: await more.catch(codeOf), begun });
      if (stall.first === 'lets it through') throw error;
      return ['the stale value'];
    }
  };
  const first = c.run(work, { leaseMs }).catch(codeOf);
  const isThere = await Promise.race([stalled.opened.then(() => true), first.then(() => false)]);
  return isThere ? { c, scene, found, first, goesOn, secondIsThere, secondGoesOn } : undefined;
}

async function stage(fresh: Fresh, stall: Stalled) {
  for (let leaseMs = stall.by === 'its lease runs out' ? SHORT_MS : LONG_MS; ; leaseMs *= 2) {
    const staged = await stalledFirst(fresh, stall, leaseMs);
    if (staged !== undefined) return staged;
  }
}

export function staleOwners(fresh: Fresh): void {
  it.concurrent.each(STALLS.map((stall) => [titleOf(stall), stall] as const))(
    'I2 I4 %s: its step is refused, its signal aborts, nothing of it lands',
    async (_, stall) => {
      const { c, scene, found, first, goesOn, secondIsThere, secondGoesOn } = await stage(fresh, stall);
      await lapsed(c, stall.by);
      const second = c.run(allSteps('second', scene), { onInFlight: { waitMs: 20_000 } });
      await (stall.second === 'is at work' ? secondIsThere.opened : second);

      const before = await c.row();
      goesOn.open();
      const told = await first;
      expect(found).toEqual({ step: stall.step, refused: 'LEASE_LOST', aborted: true, reason: 'LEASE_LOST', more: 'LEASE_LOST', begun: false });
      expect(await c.row()).toBe(before);
      secondGoesOn.open();

      const place = STEPS.findIndex(({ name }) => name === stall.step);
      const isFirsts = (n: number): boolean => n < place || (n === place && stall.step === 'charge');
      const value = STEPS.map(({ name }, n) => `${name} by the ${isFirsts(n) ? 'first' : 'second'}`);
      const attempt = (scene.asked.first?.attempt ?? 0) + 1;
      expect(await second).toMatchObject({ kind: 'completed', value, replayed: false, attempt });
      const adopted = { kind: 'completed', value, replayed: true, attempt };
      if (stall.first === 'goes on' && stall.second === 'has ended') expect(told).toMatchObject(adopted);
      else expect(told).toBe('LEASE_LOST');
      expect(await c.run(() => ['a third'])).toMatchObject(adopted);

      for (const { name, mode } of STEPS) {
        const effects = scene.effects.filter(({ step }) => step === name);
        expect(new Set(effects.map(({ key }) => key)).size, `keys of ${name}`).toBe(1);
        if (mode === 'atMostOnce') expect(effects, `effects of ${name}`).toHaveLength(1);
      }
      expect(new Set(scene.effects.map(({ key }) => key)).size).toBe(STEPS.length);
    },
    byLength(60_000, 120_000, 600_000),
  );
}
