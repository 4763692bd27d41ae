/**
 * The work of these tests: five steps, each with one effect on the far side.
 *
 * @module
 */
import { isRerunSafeError, type Run, type RunResult, type StepOptions, type tryRunOnce } from '../../src/index.ts';
import { type Phase, type Plan, STEPS } from './plan.ts';
import type { End, Witness } from './witness.ts';

export const OPERATION = 'test/five-steps';

export interface Stage {
  readonly plan: Plan;
  readonly child: number;
  readonly witness: Witness;
  /** Returns, or never does. */
  at(step: string, phase: Exclude<Phase, 'kept'>, attempt: number): Promise<void>;
}

export const fiveSteps =
  ({ plan: { run: key, asks }, child, witness, at }: Stage) =>
  async (run: Run): Promise<string[]> => {
    const values: string[] = [];
    for (const { name, mode } of STEPS) {
      const seen = { run: key, child, step: name, attempt: run.attempt };
      const options: StepOptions<string> = { mode };
      const asking: StepOptions<string> = {
        onInterrupted: ({ key }) => {
          witness.add({ what: 'asked', ...seen, key });
          const found = witness.find(key);
          return found === undefined ? 'not-done' : { done: found.value };
        },
      };
      const work: Parameters<typeof run.step<string>>[1] = async (step) => {
        await at(name, 'before', run.attempt);
        // Nobody who asks the far side from now on may miss what comes after the question.
        run.assertHeld();
        const value = `${name} by process ${child} in attempt ${step.attempt}`;
        witness.add({ what: 'effect', ...seen, attempt: step.attempt, key: step.key, value });
        await at(name, 'done', run.attempt);
        return value;
      };
      const value = await run.step(name, work, mode === 'atMostOnce' && asks ? { ...options, ...asking } : options);
      witness.add({ what: 'resolved', ...seen, value });
      await at(name, 'resolved', run.attempt);
      values.push(value);
    }
    return values;
  };

/** On a busy machine a lease may run out, and an answer or a save not come in time: the caller tries again. */
export async function lastEndOf(call: () => ReturnType<typeof tryRunOnce<string[]>>, onAgain: () => void = () => {}): Promise<End> {
  for (;;) {
    const end = await endOf(call);
    if (end.kind !== 'other' || !AGAIN.has(end.why)) return end;
    onAgain();
  }
}

const NOT_SAVED = 'not saved';
const AGAIN: ReadonlySet<string> = new Set(['LEASE_LOST', 'WRITE_UNKNOWN', 'in-flight', NOT_SAVED]);

/** What a caller was told, as the witness keeps it. */
export async function endOf(call: () => ReturnType<typeof tryRunOnce<string[]>>): Promise<End> {
  try {
    return told(await call());
  } catch (error) {
    return { kind: 'other', why: isRerunSafeError(error) ? error.code : String(error) };
  }
}

function told(result: RunResult<string[]>): End {
  // The named exception: nobody could be told of the outcome but this caller, and a later one may get another.
  if (result.kind === 'completed' && !result.saved) return { kind: 'other', why: NOT_SAVED };
  if (result.kind === 'completed') return { kind: 'completed', value: result.value, attempt: result.attempt };
  if (result.kind === 'blocked') return { kind: 'blocked', attempt: result.attempt };
  return { kind: 'other', why: result.kind };
}
