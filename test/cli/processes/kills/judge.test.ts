import { describe, expect, it } from 'vitest';
import type { Seen } from '../witness.ts';
import { judge, type Observed } from './judge.ts';
import { ALL, courseOf, EXIT_OF, nameOf, ON_SERVERS, type Plan, type State } from './plan.ts';
import { table } from './table.ts';

const asked = (state: State) => ({ state, code: EXIT_OF[state] });
const FIRST = { pid: 10, attempt: 1, token: 100 };

/** What is seen where all goes well. */
function good(plan: Plan): Observed {
  const { first, command, now, later, next, last } = courseOf(plan);
  // Modes slot and lock count none.
  const firstOne = plan.mode === 'once' ? FIRST : { ...FIRST, attempt: 0 };
  const mine: Seen[] = command === 'not begun' ? [] : [{ what: 'in', ...firstOne }];
  if (command === 'ended') mine.push({ what: 'out', ...firstOne });
  const nextOne = { pid: 20, attempt: next.attempt ?? 0, token: 200 };
  const theirs: Seen[] =
    next.attempt === undefined
      ? []
      : [
          { what: 'in', ...nextOne },
          { what: 'out', ...nextOne },
        ];
  return {
    first,
    now: { ...asked(now), inTime: true },
    later: asked(later),
    next: { code: next.code, ran: next.attempt !== undefined },
    last: asked(last),
    leftRunning: plan.who === 'watcher, then wrapper' ? 2 : 0,
    seen: [...mine, ...theirs],
  };
}

const planOf = (part: Partial<Plan>): Plan => ({
  mode: 'once',
  who: 'wrapper',
  moment: 'running',
  onUnknown: 'block',
  code: 0,
  isMissing: false,
  ...part,
});
const found = (plan: Plan, wrong: Partial<Observed>): string => judge(plan, { ...good(plan), ...wrong }).join('\n');

describe('the judge of kills', () => {
  it('has nothing to say where every promise is held', () => {
    for (const plan of [...ALL, ...ON_SERVERS]) expect(judge(plan, good(plan)), nameOf(plan)).toEqual([]);
  });

  it('finds a record that says done of a command that was killed, failed, or did not bring about what it was to', () => {
    const wrong = { last: asked('done'), next: { code: 0, ran: false } };
    expect(found(planOf({}), wrong)).toContain('status says that it is done, and no command has ended well');
    expect(found(planOf({ moment: 'ended', code: 3 }), wrong)).toContain('no command has ended well');
    expect(found(planOf({ moment: 'ended', isMissing: true }), wrong)).toContain('no command has ended well');
    expect(found(planOf({ moment: 'ended' }), wrong)).toContain('the state at last: done, and should be blocked');
  });

  it('finds a status that does not tell the truth', () => {
    expect(found(planOf({}), { now: { ...asked('lapsed'), inTime: true } })).toContain('the state right after: lapsed, and should be running');
    expect(found(planOf({}), { now: { ...asked('lapsed'), inTime: false } })).toBe('');
    expect(found(planOf({}), { later: asked('running') })).toContain('status says that it is running when its lease is over');
    expect(found(planOf({ moment: 'written' }), { now: { ...asked('failed'), inTime: false } })).toContain('the state right after: failed');
    expect(found(planOf({}), { last: { state: 'blocked', code: 0 } })).toContain('status says blocked, and exits with 0');
  });

  it('finds a next run that ran against the policy, and one that did not run', () => {
    const plan = planOf({});
    const again: Seen = { what: 'in', pid: 20, attempt: 2, token: 200 };
    expect(found(plan, { seen: [...good(plan).seen, again] })).toContain('the commands of the next: 1, and should be 0');
    expect(found(plan, { next: { code: 0, ran: false } })).toContain('the exit code of the next: 0, and should be 76');
    const retry = planOf({ onUnknown: 'retry' });
    expect(found(retry, { seen: good(retry).seen.slice(0, 1) })).toContain('the commands of the next: 0, and should be 1');
    expect(found(retry, { seen: good(retry).seen.map((one) => ({ ...one, attempt: 1 })) })).toContain('the attempt of the next');
  });

  it('finds a command that goes on unguarded, beside the next one or alone', () => {
    expect(found(planOf({}), { leftRunning: 1 })).toContain('processes that nobody ended: 1');
    const retry = planOf({ onUnknown: 'retry' });
    const late: Seen = { what: 'tick', ...FIRST };
    expect(found(retry, { seen: [...good(retry).seen, late] })).toContain('a command went on when the next one had begun');
  });

  it('finds a token that does not grow', () => {
    const retry = planOf({ onUnknown: 'retry' });
    expect(found(retry, { seen: good(retry).seen.map((one) => ({ ...one, token: 100 })) })).toContain(
      'is no higher than that of a command before it',
    );
  });

  it('finds an exit code of the first that is not what came of it', () => {
    expect(found(planOf({ who: 'command' }), { first: 0 })).toContain('the exit code of the first: 0, and should be 137');
  });

  it('counts what came of each kill', () => {
    const plans = [planOf({}), planOf({}), planOf({ onUnknown: 'retry' })];
    const text = table(plans.map((plan) => ({ plan, observed: good(plan), complaints: [] })));
    expect(text.split('\n').at(-1)).toBe(
      '| once | wrapper | running | 3 | killed ×3 | running ×3 | lapsed ×3 | 76, not run ×2 | 0, ran as attempt 2 | 0 |',
    );
  });
});
