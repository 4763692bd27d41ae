import { describe, expect, it } from 'vitest';
import { byLength } from '../support/long.ts';
import { CONTROLS } from './controls.ts';
import { line, told } from './run.ts';
import type { Scope } from './scope.ts';
import { IN_CI, SCOPES, USUAL } from './scopes.ts';
import { type Found, search } from './search.ts';

const LIMIT_MS = byLength(120_000, 300_000, 7_200_000);
const scopes = byLength(USUAL, IN_CI, SCOPES);

async function gone(scope: Scope): Promise<Found> {
  const found = await search(scope);
  expect(found.violation, await told(scope, found)).toBeUndefined();
  expect(found.complete, line(found)).toBe(true);
  for (const fault of scope.faults) expect(found.faults.get(fault), `${fault} happened`).toBeGreaterThan(0);
  return found;
}

const named = (name: string): Scope => SCOPES.find((scope) => scope.name === name) as Scope;

describe('every interleaving, over the real engine', { timeout: LIMIT_MS }, () => {
  const outcomes = new Set<string>();
  /** By what comes after the kind of work in their name. */
  const kindOf = ({ name }: Scope): string => name.replace(/^[a-z-]+?(?=-\d)/, '');

  for (const kind of new Set(scopes.map(kindOf))) {
    const some = scopes.filter((scope) => kindOf(scope) === kind);
    const [first] = some as [Scope];
    const faults = first.faults.length === 0 ? 'no fault' : `${first.mostFaults} fault at any point: ${first.faults.join(', ')}`;
    it(`I1 I2 I3 I4 I5 I6 I7 I8 I10 I12 ${first.callers} callers (${kind.slice(1)}), ${faults}`, async () => {
      for (const scope of some) for (const outcome of (await gone(scope)).outcomes) outcomes.add(outcome);
    });
  }

  it('all that can become of a call has become of one', () => {
    const all = [...outcomes].join('\n');
    const usual = ['completed', 'replayed', 'in-flight', 'Error: mine', 'failed', 'attempt 2', 'acquired and written, released', 'held'];
    for (const end of [
      ...usual,
      ...byLength([], ['nothing', '†', 'blocked', 'LEASE_LOST', 'STORE_UNAVAILABLE', 'lost'], ['WRITE_UNKNOWN', 'refused']),
    ])
      expect(all).toContain(end);
  });
});

describe('what the search leaves out changes nothing', { timeout: LIMIT_MS }, () => {
  const small = ['retry-2', 'step-2', 'throws-2', 'retry-2-unavailable', 'retry-2-crash'].map(named);

  it.each(small)('$name: each path by itself ends as the states say, and there are as many', async (scope) => {
    const merged = await gone(scope);
    const each = await search(scope, { merge: false });
    expect(each.complete).toBe(true);
    expect(each.runs).toBe(merged.paths);
    expect(each.outcomes).toEqual(merged.outcomes);
  });

  it.each(small)('$name: who calls first is a matter of names', async (scope) => {
    const one = await gone(scope);
    const both = await search(scope, { symmetric: false });
    expect(both.complete).toBe(true);
    expect(both.states).toBeGreaterThan(one.states);
    expect(new Set([...both.outcomes].map(byOrder))).toEqual(new Set([...one.outcomes].map(byOrder)));
  });

  it.each(small)('$name: a tick is as good as a turn of the event loop', async (scope) => {
    const { seconds: _, ...byTicks } = await gone(scope);
    const { seconds: __, ...byTurns } = await search(scope, { drainByTurns: true });
    expect(byTurns).toEqual(byTicks);
  });
});

/** The same for all that differ in the names of callers alone. */
function byOrder(outcome: string): string {
  const renamed = outcome.replace(/\b[ab](?=\d*\b)/g, (name) => (name === 'a' ? 'b' : 'a'));
  return [outcome, renamed].map((text) => text.split(/[,;] /).sort().join(', ')).sort()[0] as string;
}

describe('what is wrong is found', { timeout: LIMIT_MS }, () => {
  it.each(CONTROLS)('$scope.name', async ({ scope, finds }) => {
    const { violation, ...found } = await search(scope);
    expect(
      violation?.wrong.some((what) => finds.test(what)),
      line(found),
    ).toBe(true);
  });
});
