import { describe, expect, it } from 'vitest';
import { incompressible } from './incompressible.ts';
import type { Promised } from './promises.ts';
import { held } from './promises-case.ts';
import { VALUES } from './values.ts';

class Odd {
  readonly x = 1;
}
const UNSTORABLE: readonly (readonly [string, unknown, string])[] = [
  ['a function', () => 1, 'not-serializable'],
  ['an instance of a class', new Odd(), 'not-serializable'],
  ['a symbol', Symbol('s'), 'not-serializable'],
  ['more than any store takes', incompressible(17_000_000), 'too-large'],
];

export function outcomePromises({ fresh }: Promised): void {
  describe('outcomes', () => {
    it.concurrent.each(VALUES)('I1 I2 I3 %s comes back from every replay exactly as it was first given, and the work runs once', async (_, value) => {
      const { run } = fresh();
      let runs = 0;
      const work = (): unknown => {
        runs += 1;
        return value;
      };
      expect(await run(work)).toStrictEqual({ kind: 'completed', value, replayed: false, saved: true, attempt: 1 });
      const replay = { kind: 'completed', value, replayed: true, saved: true, attempt: 1 };
      expect(await Promise.all([run(work), run(work)])).toStrictEqual([replay, replay]);
      expect(runs).toBe(1);
    });

    it.concurrent('I2 each caller gets a copy of its own', async () => {
      const { run } = fresh();
      const spoil = async (): Promise<void> => {
        const result = await run(() => ({ list: [1] }));
        if (result.kind === 'completed') result.value.list.push(2);
      };
      await spoil();
      await spoil();
      expect(await run(() => ({ list: [9] }))).toMatchObject({ value: { list: [1] } });
    });

    it.concurrent.each(UNSTORABLE)('I3 %s: the first caller gets it, later ones are told, the work is not run again', async (_, value, reason) => {
      const { run } = fresh();
      let runs = 0;
      const work = (): unknown => {
        runs += 1;
        return value;
      };
      expect(await run(work)).toMatchObject({ kind: 'completed', value, saved: true });
      await expect(run(work)).rejects.toMatchObject({ code: 'RESULT_NOT_STORED', retryable: false, facts: { reason } });
      expect(runs).toBe(1);
    });

    it.concurrent('I1 of 16 callers at once one runs, and whoever gets an outcome gets the same', async () => {
      const { run } = fresh({ onInFlight: { waitMs: 20_000 } });
      let runs = 0;
      const results = await Promise.all(
        Array.from({ length: 16 }, () =>
          run(async () => {
            await new Promise((resolve) => setTimeout(resolve, 50));
            return ++runs;
          }),
        ),
      );
      expect(results.map((result) => result.kind === 'completed' && result.value)).toEqual(Array.from({ length: 16 }, () => 1));
      expect(results.filter((result) => result.kind === 'completed' && !result.replayed)).toHaveLength(1);
      expect(runs).toBe(1);
    });

    it.concurrent('I1 I2 a duplicate in flight is refused, or waits for the outcome', async () => {
      const { run } = fresh();
      const first = held<string>();
      const running = run(first.work);
      await first.started;
      const refused = await run(() => 'no');
      expect(refused.kind).toBe('in-flight');
      if (refused.kind === 'in-flight') expect(refused.retryAfterMs).toBeGreaterThan(0);
      const waiting = run(() => 'no', { onInFlight: { waitMs: 20_000 } });
      expect(await run(() => 'no', { onInFlight: { waitMs: 100 } })).toMatchObject({ kind: 'in-flight' });
      first.end('yes');
      expect(await waiting).toMatchObject({ value: 'yes', replayed: true });
      expect(await running).toMatchObject({ value: 'yes', replayed: false });
    });

    it.concurrent('I10 who waits for a caller that gives up runs the work itself', async () => {
      const { run } = fresh();
      const first = held<string>();
      const running = run(first.work);
      await first.started;
      const waiting = run((own) => own.attempt, { onInFlight: { waitMs: 20_000 } });
      first.fail(new Error('no luck'));
      await expect(running).rejects.toThrow('no luck');
      expect(await waiting).toMatchObject({ kind: 'completed', value: 2, replayed: false });
    });

    it.concurrent('I1 two scopes never see each other, nor does a call without one', async () => {
      const { run } = fresh();
      expect(await run(() => 'a', { scope: 'a' })).toMatchObject({ value: 'a', replayed: false });
      expect(await run(() => 'b', { scope: 'b' })).toMatchObject({ value: 'b', replayed: false });
      expect(await run(() => 'none')).toMatchObject({ value: 'none', replayed: false });
      expect(await run(() => 'x', { scope: 'a' })).toMatchObject({ value: 'a', replayed: true });
    });

    it.concurrent('I3 an outcome is forgotten only after its retention', async () => {
      const { run, stands, direct } = fresh({ leaseMs: 4_000, retentionMs: 4_500 });
      expect(await run(() => 'old')).toMatchObject({ value: 'old' });
      const written = (await stands())?.record.writtenAtMs ?? 0;
      let last = await run(() => 'new');
      while (last.kind === 'completed' && last.replayed) {
        expect(last.value).toBe('old');
        await new Promise((resolve) => setTimeout(resolve, 50));
        last = await run(() => 'new');
      }
      expect(last).toMatchObject({ kind: 'completed', value: 'new', attempt: 1 });
      expect(direct.clock.nowMs() - written).toBeGreaterThan(4_500);
    });
  });
}
