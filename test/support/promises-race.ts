/**
 * Many callers at once on one key, round after round.
 *
 * @module
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RunOnceOptions, type RunResult, tryRunOnce } from '../../src/index.ts';
import type { StoreSubject, SubjectKind } from './stores.ts';

const CALLERS = 64;

export interface RaceSizes {
  /** Rounds in which a duplicate is refused. */
  readonly refusing: number;
  /** Rounds in which a duplicate waits for the outcome. */
  readonly waiting: number;
}

export function race({ name, start }: SubjectKind, { refusing, waiting }: RaceSizes): void {
  describe(`${CALLERS} callers at once on ${name}`, () => {
    let subject: StoreSubject;
    beforeAll(async () => {
      subject = await start();
    });
    afterAll(() => subject?.stop());

    async function round(options: Partial<RunOnceOptions<string>>): Promise<{ ran: string[]; results: RunResult<string>[] }> {
      const ran: string[] = [];
      const key = randomUUID();
      const call = (caller: string): Promise<RunResult<string>> =>
        tryRunOnce<string>({ store: subject.store, operation: 'test/race', key, ...options }, () => {
          ran.push(caller);
          return caller;
        });
      const results = await Promise.all(Array.from({ length: CALLERS }, (_, n) => call(`caller ${n}`)));
      return { ran, results };
    }

    const outcomes = (results: readonly RunResult<string>[]): string[] =>
      results.flatMap((result) => (result.kind === 'completed' ? [result.value] : []));

    it(`I1 I2 I7 exactly one runs and nobody gets another outcome, ${refusing} times over; the others are refused or replay`, async () => {
      for (let n = 0; n < refusing; n++) {
        const { ran, results } = await round({});
        expect(ran).toHaveLength(1);
        expect(new Set(outcomes(results))).toEqual(new Set(ran));
        expect(results.filter((result) => result.kind === 'completed' && !result.replayed)).toHaveLength(1);
        expect(results.every((result) => result.kind === 'completed' || result.kind === 'in-flight')).toBe(true);
      }
    }, 150_000);

    it(`I1 I2 I10 exactly one runs and all of them get its outcome when they wait, ${waiting} times over`, async () => {
      for (let n = 0; n < waiting; n++) {
        const { ran, results } = await round({ onInFlight: { waitMs: 30_000 } });
        expect(ran).toHaveLength(1);
        expect(outcomes(results)).toEqual(Array.from({ length: CALLERS }, () => ran[0]));
      }
    }, 60_000);

    it('I1 I6 exactly one takes over when the first caller has died, 20 times over', async () => {
      for (let n = 0; n < 20; n++) {
        const key = randomUUID();
        const options: RunOnceOptions<string> = { store: subject.store, operation: 'test/race', key };
        // Without an outcome, and so lapsed at once.
        const dead = tryRunOnce<string>({ ...options, onThrow: () => 'unknown' }, () => Promise.reject(new Error('died')));
        await expect(dead).rejects.toThrow('died');
        const ran: number[] = [];
        const results = await Promise.all(Array.from({ length: 16 }, () => tryRunOnce<string>(options, (run) => String(ran.push(run.attempt)))));
        expect(ran).toEqual([2]);
        expect(new Set(outcomes(results))).toEqual(new Set(['1']));
      }
    }, 60_000);
  });
}
