import { describe, expect, it } from 'vitest';
import type { Ended, Event } from '../history/format.ts';
import { judge } from './judge.ts';
import { courseOf, type Plan, type Point, type PointPlan, STEPS } from './plan.ts';
import { plansOf, TRIPLES } from './plans.ts';

const AFTER_PACK: Point = { step: 2, phase: 'resolved' };
const CHARGED: Point = { step: 1, phase: 'done' };
const PLAN: PointPlan = { run: 'r', asks: true, kills: [AFTER_PACK] };

const keyOf = (run: string, step: string): string => `key of ${step} of ${run}`;
const seenOf = (run: string, child: number) => ({ atMs: child, key: run, caller: String(child) });
const effect = (step: string, attempt: number, run = PLAN.run): Event => ({
  ...seenOf(run, attempt),
  what: 'effect',
  attempt,
  step,
  sent: keyOf(run, step),
  value: `${step} ${attempt}`,
});
const completed = (value: string[], attempt: number): Ended => ({
  what: 'ok',
  answer: { kind: 'completed', value, attempt, replayed: true, saved: true },
});
const blocked = (attempt: number): Ended => ({ what: 'fail', code: 'BLOCKED', attempt });

/** What is seen where all goes well. */
function seen(plan: PointPlan): Event[] {
  const { effects, end, attempts } = courseOf(plan);
  const last = (step: string): string => `${step} ${effects.findLast((one) => one.step === step)?.attempt}`;
  const told =
    end === 'completed'
      ? completed(
          STEPS.map(({ name }) => last(name)),
          attempts,
        )
      : blocked(attempts);
  const killed = plan.kills.flatMap((_, n): Event[] => [
    { ...seenOf(plan.run, n + 1), what: 'invoke', op: 'run', n: `${plan.run} ${n + 1}` },
    { ...seenOf('', n + 1), what: 'struck', signal: 'SIGKILL', point: '' },
  ]);
  const ends = [attempts, attempts + 1].flatMap((child) => ended(child, told, plan.run));
  return [...killed, ...effects.map(({ step, attempt }) => effect(step, attempt, plan.run)), ...ends];
}

const ended = (child: number, told: Ended, run = PLAN.run): Event[] => [
  { ...seenOf(run, child), what: 'invoke', op: 'run', n: `${run} ${child} end` },
  { ...seenOf(run, child), atMs: 100 + child, n: `${run} ${child} end`, ...told } as Event,
];
const resolved = (step: string, attempt: number, value = `${step} ${attempt}`): Event => ({
  ...seenOf(PLAN.run, attempt),
  what: 'resolved',
  attempt,
  step,
  value,
});
/** These too, where they come after the effects and before the ends. */
const withMore = (...more: Event[]): Event[] => [...seen(PLAN).slice(0, -4), ...more, ...seen(PLAN).slice(-4)];
const complaints = (lines: readonly Event[], plan: Plan = PLAN): string => judge([plan], lines).join('\n');

describe('the judge of killed runs', () => {
  it('has nothing to say of a course that holds every promise', () => {
    const plans = [PLAN, ...plansOf(TRIPLES.length, 1)];
    expect(judge(plans, plans.flatMap(seen))).toEqual([]);
    expect(complaints(seen(PLAN), { ...PLAN, kills: 'any moment' })).toBe('');
  });

  it('finds an at-most-once step that was done twice, at whatever point the run was killed', () => {
    expect(complaints(withMore(effect('charge', 2)))).toContain('charge is at most once, and was done 2 times');
    const plan: Plan = { ...PLAN, kills: 'any moment' };
    expect(complaints(withMore(effect('charge', 2)), plan)).toContain('charge is at most once, and was done 2 times');
  });

  it('finds a step that was done again after it had resolved, or was kept', () => {
    expect(complaints([...seen(PLAN), resolved('reserve', 1), effect('reserve', 2)])).toContain(
      'reserve had resolved, and was done again in attempt 2',
    );
    expect(complaints(withMore(effect('pack', 2)))).toContain(
      'pack was kept when the run was killed at "pack resolved", and was done again in attempt 2',
    );
    const kept: PointPlan = { ...PLAN, kills: [{ step: 2, phase: 'kept' }] };
    expect(complaints(withMore(effect('pack', 2)), kept)).toContain('pack was kept when the run was killed at "pack kept"');
    const done: PointPlan = { ...PLAN, kills: [{ step: 2, phase: 'done' }] };
    expect(complaints(seen(done), done)).toBe('');
  });

  it('finds a key that changed, and one that two steps or two runs have', () => {
    const other = { ...effect('reserve', 2), sent: 'another' } as Event;
    expect(complaints(withMore(other))).toContain(`reserve of r had the key ${keyOf('r', 'reserve')}, and in attempt 2 another`);
    const shared = { ...effect('pack', 2), sent: keyOf('r', 'reserve') } as Event;
    expect(complaints(withMore(shared))).toContain('reserve of r and pack of r have the same key');
    const asked: Event = { ...seenOf('q', 1), what: 'asked', attempt: 1, step: 'charge', sent: keyOf('r', 'charge') };
    expect(complaints(withMore(asked))).toContain('charge of r and charge of q have the same key');
  });

  it('finds callers that were told different things, and one that was told nothing', () => {
    const value = ['reserve 1', 'charge 1', 'pack 1', 'ship 2', 'mail 3'];
    const wrong = complaints([...seen(PLAN), ...ended(4, completed(value, 2))]);
    expect(wrong).toContain('its callers were told different things');
    expect(wrong).toContain('mail was last done as "mail 2", and somebody was given "mail 3"');
    expect(complaints([...seen(PLAN), ...ended(4, { what: 'fail', code: 'IN_FLIGHT' })])).toContain('a caller was told: IN_FLIGHT');
    expect(complaints(seen(PLAN).slice(0, -4))).toContain('it did not end');
  });

  it('finds a step whose value is not what was done', () => {
    expect(complaints(withMore(resolved('ship', 2, 'ship 1')))).toContain('ship was last done as "ship 2", and somebody was given "ship 1"');
    expect(complaints([...seen(PLAN), ...ended(4, completed([], 2))])).toContain('it completed with 0 values');
  });

  it('finds steps that are missing or in another order, and another number of attempts', () => {
    const [dead, gone, first, second, ...others] = seen(PLAN) as [Event, Event, Event, Event, ...Event[]];
    expect(complaints([dead, gone, second, ...others])).toContain('it should have been reserve in 1, charge in 1, pack in 1, ship in 2, mail in 2');
    expect(complaints([dead, gone, second, first, ...others])).toContain('done were charge in 1, reserve in 1');
    const late = [
      ...seen(PLAN).slice(0, -4),
      ...[2, 3].flatMap((child) =>
        ended(
          child,
          completed(
            STEPS.map(({ name }) => name),
            3,
          ),
        ),
      ),
    ];
    expect(complaints(late)).toContain('it ended as completed in attempt 3; it should have completed in 2');
    expect(complaints(withMore({ ...effect('mail', 2), caller: '1' } as Event))).toContain('the 1. process was in attempt 2');
  });

  it('finds a run that was blocked with somebody to ask, and one that was not blocked with nobody', () => {
    const wasBlocked = [...seen(PLAN).slice(0, 2), effect('reserve', 1), effect('charge', 1), ...ended(2, blocked(2))];
    expect(complaints(wasBlocked, { ...PLAN, asks: false, kills: [CHARGED] })).toBe('');
    expect(complaints(wasBlocked, { ...PLAN, kills: 'any moment' })).toContain('it was blocked, though there was somebody to ask');
    const past = [...wasBlocked, resolved('charge', 1), resolved('ship', 1)];
    expect(complaints(past, { ...PLAN, asks: false, kills: 'any moment' })).toContain('though all that could block it had resolved');
    expect(complaints(seen({ ...PLAN, kills: [CHARGED] }), { ...PLAN, asks: false, kills: [CHARGED] })).toContain('it should have blocked in 2');
  });

  it('knows what becomes of each point', () => {
    const effects = (plan: Omit<PointPlan, 'run'>): string =>
      courseOf(plan)
        .effects.map(({ attempt, step }) => `${step}${attempt}`)
        .join(' ');
    const before: Point = { step: 1, phase: 'before' };
    expect(effects({ asks: true, kills: [{ step: 0, phase: 'done' }, before, CHARGED] })).toBe('reserve1 reserve2 charge3 pack4 ship4 mail4');
    expect(courseOf({ asks: false, kills: [before] })).toMatchObject({ end: 'blocked', attempts: 2, meetsAll: true });
    expect(courseOf({ asks: true, kills: [CHARGED, CHARGED] })).toMatchObject({ end: 'completed', attempts: 2, meetsAll: false });
    expect(TRIPLES.length).toBeGreaterThan(1_000);
    expect(new Set(plansOf(50, 7).map(({ kills }) => JSON.stringify(kills))).size).toBeGreaterThan(60);
    expect(plansOf(50, 7)).toEqual(plansOf(50, 7));
  });
});
