/**
 * Every kind of value on a store: stored, replayed, equal; and what becomes of one that cannot be kept.
 *
 * @module
 */
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { isRerunSafeError, PermanentError } from '../../src/index.ts';
import { incompressible } from '../support/incompressible.ts';
import { byLength, LONG } from '../support/long.ts';
import { memory, type StoreSubject, type SubjectKind } from '../support/stores.ts';
import { KEPT, type Kind } from '../support/values.ts';
import { NOT_KEPT, tooLarge } from '../support/values-not-kept.ts';
import { type Case, formsOn, freshCase } from './forms.ts';

/** Name, what makes it, and which it is. */
const listed = (kinds: readonly Kind[]): [string, () => unknown, number][] =>
  kinds.flatMap(({ values }) => Object.entries(values)).map(([name, make], n) => [name, make, n]);

export function valuesOn({ name, start }: SubjectKind): void {
  vi.setConfig({ maxConcurrency: 4 });
  describe(`values on ${name}`, () => {
    let subject: StoreSubject;
    beforeAll(async () => {
      subject = await start();
    });
    afterAll(() => subject?.stop());

    // In the short form all of it in memory; elsewhere each value as a result and as a step, and in turn as one of the others.
    const inTurn =
      (all: boolean) =>
      (n: number, of: number, at: number): boolean =>
        all || name === memory.name || n % of === at;
    const isInTurn = inTurn(LONG);
    // Of what is not kept the record is the same, whatever it was.
    const isInTurnOfSame = inTurn(byLength(false, false, true));

    it.concurrent.each(listed(KEPT))(
      'I2 I3 %s is stored, replayed and equal in every form, each time a copy of its own, and its work runs once',
      async (_, make, n) => {
        const wrong: string[] = [];
        const forms = Object.entries(formsOn(subject.store));
        for (const [at, [form, look]] of forms.entries()) {
          if (at >= 2 && !isInTurn(n, forms.length - 2, at - 2)) continue;
          const found = await look(subject.store, make);
          if (found !== undefined) wrong.push(`as ${form}: ${found}`);
        }
        expect(wrong).toEqual([]);
      },
    );

    describe('that cannot be kept', () => {
      const notKept = listed(NOT_KEPT);
      const reason = 'not-serializable';

      it.concurrent.each(notKept.filter(([, , n]) => isInTurn(n, 3, 0)))(
        'I3 %s: the first caller gets it, later ones are told, the work is not run again',
        (_, make) => refusedAsResult(freshCase(subject.store), make, reason),
      );
      it.concurrent.each(notKept.filter(([, , n]) => isInTurnOfSame(n, 3, 1)))(
        'I3 %s, as a step: this attempt has it, the next one is told, and the run is blocked',
        (_, make) => refusedAsStep(freshCase(subject.store), make, reason),
      );
      it.concurrent.each(notKept.filter(([, , n]) => isInTurnOfSame(n, 3, 2)))('I3 %s, with an error: it is remembered without it', (_, make) =>
        refusedWithError(freshCase(subject.store), make),
      );

      it('I3 what is too large for the store: the first caller gets it, later ones are told, the work is not run again', async () => {
        const value = tooLarge(subject.store);
        await refusedAsResult(freshCase(subject.store), () => value, 'too-large');
      });
      it('I3 what is too large for the record, as a step: this attempt has it, the next one is told, and the run is blocked', async () => {
        const value = incompressible(1.1 * subject.store.limits.maxRecordBytes);
        await refusedAsStep(freshCase(subject.store), () => value, 'too-large');
      });
      it('I3 what is too large for the store, with an error: it is remembered without it', async () => {
        const value = tooLarge(subject.store);
        await refusedWithError(freshCase(subject.store), () => value);
      });
    });
  });
}

async function refusedAsResult(one: Case, make: () => unknown, reason: string): Promise<void> {
  const given = make();
  const work = (): unknown => {
    one.calls += 1;
    return given;
  };
  const first = await one.run(work);
  expect(first.kind === 'completed' && first.saved && Object.is(first.value, given)).toBe(true);
  expect((await one.stands())?.record).toMatchObject({ state: 'completed', outcome: { kind: 'not-stored', reason } });
  for (const _ of [1, 2]) await expect(one.run(work)).rejects.toMatchObject({ code: 'RESULT_NOT_STORED', retryable: false, facts: { reason } });
  expect(one.calls).toBe(1);
}

async function refusedAsStep(one: Case, make: () => unknown, reason: string): Promise<void> {
  const given = make();
  let got: unknown;
  const attempt = () =>
    one.run(async (run) => {
      got = await run.step('load', () => {
        one.calls += 1;
        return given;
      });
      throw new Error('crash');
    });
  await expect(attempt()).rejects.toThrow('crash');
  expect(Object.is(got, given)).toBe(true);
  got = undefined;
  const told = await attempt().catch((error: unknown) => error);
  expect(isRerunSafeError(told, 'RESULT_NOT_STORED') && told.facts).toMatchObject({ step: 'load', reason });
  expect(await attempt()).toMatchObject({ kind: 'blocked', why: 'step-not-stored' });
  expect((await one.stands())?.record.state).toBe('blocked');
  expect({ calls: one.calls, got }).toEqual({ calls: 1, got: undefined });
}

async function refusedWithError(one: Case, make: () => unknown): Promise<void> {
  const thrown = new PermanentError('declined', { code: 7, data: make() });
  const work = (): never => {
    one.calls += 1;
    throw thrown;
  };
  const first = await one.run(work);
  expect(first.kind === 'failed' && first.error === thrown).toBe(true);
  for (const _ of [1, 2]) {
    const replay = await one.run(work);
    expect(replay).toMatchObject({ kind: 'failed', replayed: true, error: { message: 'declined', code: 7, data: undefined } });
  }
  expect(one.calls).toBe(1);
}
