/**
 * The work of these tests: five steps, each with one effect on the far side.
 *
 * @module
 */
import { isRerunSafeError, type Run, type RunResult, type StepOptions, type tryRunOnce } from '../../src/index.ts';
import type { Ended } from '../history/format.ts';
import type { History } from '../history/log.ts';
import { type Phase, type Plan, STEPS } from './plan.ts';
import { foundBy, toldOf } from './witness.ts';

export const OPERATION = 'test/five-steps';

export interface Stage {
  readonly plan: Plan;
  readonly child: number;
  readonly history: History;
  /** Returns, or never does. */
  at(step: string, phase: Exclude<Phase, 'kept'>, attempt: number): Promise<void>;
}

export const fiveSteps =
  ({ plan: { run: key, asks }, child, history, at }: Stage) =>
  async (run: Run): Promise<string[]> => {
    const values: string[] = [];
    for (const { name, mode } of STEPS) {
      const seen = { key, caller: String(child), step: name, attempt: run.attempt };
      const options: StepOptions<string> = { mode };
      const asking: StepOptions<string> = {
        onInterrupted: ({ key: sent }) => {
          history.note({ what: 'asked', ...seen, sent });
          const found = foundBy(history, sent);
          return found === undefined ? 'not-done' : { done: found.value };
        },
      };
      const work: Parameters<typeof run.step<string>>[1] = async (step) => {
        await at(name, 'before', run.attempt);
        // Nobody who asks the far side from now on may miss what comes after the question.
        run.assertHeld();
        const value = `${name} by process ${child} in attempt ${step.attempt}`;
        history.note({ what: 'effect', ...seen, attempt: step.attempt, sent: step.key, value });
        await at(name, 'done', run.attempt);
        return value;
      };
      const value = await run.step(name, work, mode === 'atMostOnce' && asks ? { ...options, ...asking } : options);
      history.note({ what: 'resolved', ...seen, value });
      await at(name, 'resolved', run.attempt);
      values.push(value);
    }
    return values;
  };

export interface Caller {
  readonly plan: Plan;
  readonly child: number;
  readonly history: History;
}

/** One call, and what its caller was told. Noted, whatever it is. */
export async function endOf({ plan, child, history }: Caller, call: () => ReturnType<typeof tryRunOnce<string[]>>): Promise<Ended> {
  let ended: Ended = { what: 'unknown' };
  const noted = (result: RunResult<string[]>): Ended => {
    ended = toldOf(result);
    return ended;
  };
  try {
    await history.call({ op: 'run', caller: String(child), key: plan.run }, call, noted);
  } catch (error) {
    ended = isRerunSafeError(error, 'WRITE_UNKNOWN') || !isRerunSafeError(error) ? { what: 'unknown' } : { what: 'fail', code: error.code };
    if (!isRerunSafeError(error)) throw error;
  }
  return ended;
}

/** On a busy machine a lease may run out, and an answer or a save not come in time: the caller tries again. */
export async function lastEndOf(caller: Caller, call: () => ReturnType<typeof tryRunOnce<string[]>>, onAgain: () => void = () => {}): Promise<void> {
  while (isToTryAgain(await endOf(caller, call))) onAgain();
}

function isToTryAgain(ended: Ended): boolean {
  // The named exception: nobody could be told of the outcome but this caller, and a later one may get another.
  if (ended.what === 'ok') return ended.answer !== null && 'saved' in ended.answer && !ended.answer.saved;
  return ended.what === 'unknown' || ended.code === 'LEASE_LOST' || ended.code === 'IN_FLIGHT';
}
