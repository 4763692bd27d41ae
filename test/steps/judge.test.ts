import { describe, expect, it } from 'vitest';
import { judge } from './judge.ts';
import { courseOf, type Plan, type Point, type PointPlan, STEPS } from './plan.ts';
import { plansOf, TRIPLES } from './plans.ts';
import type { End, Line } from './witness.ts';

const AFTER_PACK: Point = { step: 2, phase: 'resolved' };
const CHARGED: Point = { step: 1, phase: 'done' };
const PLAN: PointPlan = { run: 'r', asks: true, kills: [AFTER_PACK] };

const keyOf = (run: string, step: string): string => `key of ${step} of ${run}`;
const effect = (step: string, attempt: number, run = PLAN.run): Line => ({
  what: 'effect',
  run,
  child: attempt,
  attempt,
  step,
  key: keyOf(run, step),
  value: `${step} ${attempt}`,
});

/** What is seen where all goes well. */
function seen(plan: PointPlan): Line[] {
  const { effects, end, attempts } = courseOf(plan);
  const last = (step: string): string => `${step} ${effects.findLast((one) => one.step === step)?.attempt}`;
  const told: End =
    end === 'completed' ? { kind: end, value: STEPS.map(({ name }) => last(name)), attempt: attempts } : { kind: end, attempt: attempts };
  const ended = [attempts, attempts + 1].map((child): Line => ({ what: 'ended', run: plan.run, child, end: told }));
  return [...effects.map(({ step, attempt }) => effect(step, attempt, plan.run)), ...ended];
}

const ended = (child: number, end: End): Line => ({ what: 'ended', run: PLAN.run, child, end });
const resolved = (step: string, attempt: number, value = `${step} ${attempt}`): Line => ({
  what: 'resolved',
  run: PLAN.run,
  child: attempt,
  attempt,
  step,
  value,
});
/** These too, where they come after the effects and before the ends. */
const withMore = (...more: Line[]): Line[] => [...seen(PLAN).slice(0, -2), ...more, ...seen(PLAN).slice(-2)];
const complaints = (lines: readonly Line[], plan: Plan = PLAN): string => judge([plan], lines).join('\n');

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
    const other = { ...effect('reserve', 2), key: 'another' } as Line;
    expect(complaints(withMore(other))).toContain(`reserve of r had the key ${keyOf('r', 'reserve')}, and in attempt 2 another`);
    const shared = { ...effect('pack', 2), key: keyOf('r', 'reserve') } as Line;
    expect(complaints(withMore(shared))).toContain('reserve of r and pack of r have the same key');
    const asked: Line = { what: 'asked', run: 'q', child: 1, attempt: 1, step: 'charge', key: keyOf('r', 'charge') };
    expect(complaints(withMore(asked))).toContain('charge of r and charge of q have the same key');
  });

  it('finds callers that were told different things, and one that was told nothing', () => {
    const value = ['reserve 1', 'charge 1', 'pack 1', 'ship 2', 'mail 3'];
    const wrong = complaints([...seen(PLAN), ended(4, { kind: 'completed', value, attempt: 2 })]);
    expect(wrong).toContain('its callers were told different things');
    expect(wrong).toContain('mail was last done as "mail 2", and somebody was given "mail 3"');
    expect(complaints([...seen(PLAN), ended(4, { kind: 'other', why: 'IN_FLIGHT' })])).toContain('a caller was told: IN_FLIGHT');
    expect(complaints(seen(PLAN).slice(0, -2))).toContain('it did not end');
  });

  it('finds a step whose value is not what was done', () => {
    expect(complaints(withMore(resolved('ship', 2, 'ship 1')))).toContain('ship was last done as "ship 2", and somebody was given "ship 1"');
    expect(complaints([...seen(PLAN), ended(4, { kind: 'completed', value: [], attempt: 2 })])).toContain('it completed with 0 values');
  });

  it('finds steps that are missing or in another order, and another number of attempts', () => {
    expect(complaints(seen(PLAN).slice(1))).toContain('it should have been reserve in 1, charge in 1, pack in 1, ship in 2, mail in 2');
    const [first, second, ...others] = seen(PLAN) as [Line, Line, ...Line[]];
    expect(complaints([second, first, ...others])).toContain('done were charge in 1, reserve in 1');
    const late = seen(PLAN).map(
      (line): Line => (line.what === 'ended' && line.end.kind !== 'other' ? { ...line, end: { ...line.end, attempt: 3 } } : line),
    );
    expect(complaints(late)).toContain('it ended as completed in attempt 3; it should have completed in 2');
    expect(complaints(withMore({ ...effect('mail', 2), child: 1 } as Line))).toContain('the 1. process was in attempt 2');
  });

  it('finds a run that was blocked with somebody to ask, and one that was not blocked with nobody', () => {
    const blocked = [effect('reserve', 1), effect('charge', 1), ended(2, { kind: 'blocked', attempt: 2 })];
    expect(complaints(blocked, { ...PLAN, asks: false, kills: [CHARGED] })).toBe('');
    expect(complaints(blocked, { ...PLAN, kills: 'any moment' })).toContain('it was blocked, though there was somebody to ask');
    const past = [...blocked, resolved('charge', 1), resolved('ship', 1)];
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
