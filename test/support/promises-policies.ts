import { describe, expect, it } from 'vitest';
import { NotDoneError, PermanentError } from '../../src/index.ts';
import type { StoreFault } from '../../src/testing/index.ts';
import type { Promised } from './promises.ts';

const unreadable = new Proxy(
  {},
  {
    get: () => {
      throw new Error('trap');
    },
  },
);
const THROWN: readonly (readonly [string, unknown])[] = [
  ['null', null],
  ['undefined', undefined],
  ['a string', 'a string'],
  ['a frozen error', Object.freeze(new Error('frozen'))],
  ['an object without a prototype', Object.create(null)],
  ['an object that cannot be read', unreadable],
];
const CLEAN_UPS: readonly (StoreFault | undefined)[] = [undefined, 'unavailable', 'lost-answer', 'lost-request'];
const forbidden = (): never => {
  throw new Error('the work ran');
};
const fails =
  (thrown: unknown): (() => never) =>
  () => {
    throw thrown;
  };

export function policyPromises({ fresh }: Promised): void {
  describe('policies', () => {
    it.concurrent.each(THROWN)('I8 the caller gets the very thing that was thrown, also when the clean-up fails: %s', async (_, thrown) => {
      const verdicts = [{}, { onThrow: () => 'remember' as const }, { onUnknown: 'block' as const }];
      await Promise.all(
        CLEAN_UPS.flatMap((fault) =>
          verdicts.map(async (verdict) => {
            const { run, plan } = fresh({ leaseMs: 5_000 });
            plan.replace = () => fault;
            // In a list, because a promise would look into what it is resolved with.
            const caught = await run(fails(thrown), verdict).then(
              (result) => [result.kind === 'failed' ? result.error : 'not thrown'],
              (error: unknown) => [error],
            );
            const other = caught[0] instanceof Error && caught[0] !== thrown ? caught[0].message : '';
            expect(Object.is(caught[0], thrown), `${Object.keys(verdict)}, clean-up: ${fault}; ${other}`).toBe(true);
          }),
        ),
      );
    });

    it.concurrent('I3 a PermanentError is remembered and replayed with its name, message, code and data', async () => {
      const { run } = fresh();
      const thrown = new PermanentError('declined', { code: 'card_declined', data: { at: new Date(5) }, name: 'CardError' });
      expect(await run(fails(thrown))).toEqual({ kind: 'failed', error: thrown, replayed: false });
      const again = await run(forbidden);
      expect(again).toMatchObject({ kind: 'failed', replayed: true });
      expect(again.kind === 'failed' && again.error).toMatchObject({
        name: 'CardError',
        message: 'declined',
        code: 'card_declined',
        data: { at: new Date(5) },
      });
    });

    it.concurrent('I6 any other error releases: the next call runs at once, as the next attempt, with the steps kept', async () => {
      const { run } = fresh();
      let steps = 0;
      const step = (): number => ++steps;
      const failing = run(async (own) => {
        await own.step('one', step);
        throw new Error('no');
      });
      await expect(failing).rejects.toThrow('no');
      expect(await run(async (own) => [own.attempt, await own.step('one', step)])).toMatchObject({ value: [2, 1] });
      expect(steps).toBe(1);
    });

    it.concurrent('I8 where onUnknown is block, a plain throw is unknown and the next call is refused for good', async () => {
      const { run, stands } = fresh({ onUnknown: 'block' });
      await expect(run(fails(new Error('time-out')))).rejects.toThrow('time-out');
      expect((await stands())?.record).toMatchObject({ state: 'running', leaseMs: 0 });
      expect(await run(forbidden)).toMatchObject({ kind: 'blocked', why: 'unknown', attempt: 1 });
      expect(await run(forbidden)).toMatchObject({ kind: 'blocked', why: 'unknown', attempt: 1 });
    });

    it.concurrent('I8 a NotDoneError releases even there', async () => {
      const { run } = fresh({ onUnknown: 'block' });
      await expect(run(fails(new NotDoneError('refused')))).rejects.toThrow('refused');
      expect(await run(() => 'again')).toMatchObject({ value: 'again' });
    });

    it.concurrent('I10 too many attempts block the record', async () => {
      const { run, id } = fresh({ maxAttempts: 2 });
      for (const _ of [1, 2]) await expect(run(fails(new Error('no')))).rejects.toThrow('no');
      // The second answer comes from the store.
      for (const _ of [1, 2]) expect(await run(forbidden)).toEqual({ kind: 'blocked', id, why: 'attempts', attempt: 2 });
    });

    it.concurrent('I6 I10 after an attempt without an outcome, retry runs again with its steps', async () => {
      const { run, seed } = fresh();
      await seed({ leaseMs: 0, steps: { one: { outcome: { kind: 'value', value: [7] } } } });
      expect(await run(async (own) => [own.attempt, await own.step('one', forbidden)])).toMatchObject({ value: [2, 7] });
    });

    it.concurrent('I8 I4 after an attempt without an outcome, block refuses, and fences what the old owner still sends', async () => {
      const { run, seed, stands, direct, id } = fresh({ onUnknown: 'block' });
      const old = await seed({ leaseMs: 0 });
      const version = (await stands())?.version ?? '';
      expect(await run(forbidden)).toMatchObject({ kind: 'blocked', why: 'unknown', attempt: 1 });
      const blocked = (await stands())?.record;
      expect(blocked).toMatchObject({ state: 'blocked' });
      expect(blocked?.owner).not.toBe(old.owner);
      expect(blocked?.token).toBeGreaterThan(old.token);
      const late = { ...old, state: 'completed' as const, outcome: { kind: 'value' as const, value: [1] }, revision: 'late' };
      expect(await direct.replace(id, late, version)).toMatchObject({ ok: false, reason: 'conflict' });
    });

    it.concurrent('I8 asked under the new lease: { done } completes, not-done runs, block blocks', async () => {
      const found = fresh({ onUnknown: () => ({ done: 'found' }) as never });
      await found.seed({ leaseMs: 0 });
      expect(await found.run(forbidden)).toMatchObject({ value: 'found', replayed: false, attempt: 2 });
      expect(await found.run(forbidden)).toMatchObject({ value: 'found', replayed: true });

      const notDone = fresh({ onUnknown: async (run) => (run.attempt === 2 ? 'not-done' : 'block') });
      await notDone.seed({ leaseMs: 0 });
      expect(await notDone.run(() => 'ran')).toMatchObject({ value: 'ran' });

      const block = fresh({ onUnknown: () => 'block' });
      await block.seed({ leaseMs: 0 });
      expect(await block.run(forbidden)).toMatchObject({ kind: 'blocked', why: 'unknown', attempt: 2 });
      expect(await block.run(forbidden)).toMatchObject({ kind: 'blocked', why: 'unknown', attempt: 2 });
    });

    it.concurrent('I8 an asking that throws leaves the record lapsed, and the error goes to the caller', async () => {
      const failure = new Error('the far side is down');
      const { run, seed, stands } = fresh();
      await seed({ leaseMs: 0 });
      await expect(run(forbidden, { onUnknown: () => Promise.reject(failure) })).rejects.toBe(failure);
      expect((await stands())?.record).toMatchObject({ state: 'running', leaseMs: 0 });
      expect(await run(forbidden, { onUnknown: () => ({ done: 1 }) as never })).toMatchObject({ value: 1 });
    });

    it.concurrent('I4 while one caller asks, nobody else asks or runs', async () => {
      const { run, seed } = fresh();
      await seed({ leaseMs: 0 });
      let asked = 0;
      const ask = async (): Promise<'not-done'> => {
        asked += 1;
        expect(await run(forbidden, { onUnknown: () => 'not-done' })).toMatchObject({ kind: 'in-flight' });
        return 'not-done';
      };
      expect(await run(() => 'ran', { onUnknown: ask })).toMatchObject({ value: 'ran' });
      expect(asked).toBe(1);
    });
  });
}
