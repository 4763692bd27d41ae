/**
 * All plans on one store, several at a time.
 *
 * @module
 */
import { describe, expect, it } from 'vitest';
import { byLength } from '../../../support/long.ts';
import type { Place } from '../places.ts';
import { cliStage } from '../stage.ts';
import { judge } from './judge.ts';
import { type Between, carryOut } from './kill.ts';
import { nameOf, type Plan } from './plan.ts';
import { type Result, table } from './table.ts';

/** More only wait for one another on two cores, while leases run out. */
const AT_ONCE = 6;
const ROUNDS = byLength(1, 1, 5);

export function killSuite(name: string, plans: readonly Plan[], start: () => Promise<Place & { readonly between?: Between }>): void {
  describe(`kill -9 around a guard on ${name}`, () => {
    const stage = cliStage({ start });

    it('I3 I6 I8 I10 of the guard, of its command, of both, at each moment: status tells the truth, the next run follows the policy, nothing is done that did not end well, nothing goes on unguarded', {
      timeout: 120_000 * ROUNDS,
    }, async () => {
      const waiting = Array.from({ length: ROUNDS }, () => plans).flat();
      const results: Result[] = [];
      const { place, wrappers } = stage;
      const { between } = place;
      const carry = async (): Promise<void> => {
        for (let plan = waiting.shift(); plan !== undefined; plan = waiting.shift()) {
          const observed = await carryOut({ place, wrappers, ...(between === undefined ? {} : { between }) }, plan);
          results.push({ plan, observed, complaints: judge(plan, observed) });
        }
      };
      await Promise.all(Array.from({ length: AT_ONCE }, carry));
      const inTime = results.filter(({ observed: { now } }) => now.inTime).length;
      console.log(
        `${name}: ${results.length} kills, ${inTime} times status was asked in time${byLength('', `\n${table(results)}`, `\n${table(results)}`)}`,
      );
      const complaints = results.flatMap((one) =>
        one.complaints.map((complaint) => `${nameOf(one.plan)}: ${complaint}\n  ${JSON.stringify(one.observed)}`),
      );
      expect(complaints).toEqual([]);
      expect(results).toHaveLength(plans.length * ROUNDS);
    });
  });
}
