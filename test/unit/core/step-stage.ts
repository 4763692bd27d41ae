import type { Attempt } from '../../../src/core/attempt.ts';
import { RerunSafeError } from '../../../src/core/errors.ts';
import type { MoveResult } from '../../../src/core/move.ts';
import type { StoredStep } from '../../../src/core/record.ts';
import { runStep, type StepFacts } from '../../../src/core/step.ts';

export const WRITTEN = { kind: 'written', sentAt: { monotonicMs: 0, wallMs: 0 } } as const;
export const TOO_LARGE = { kind: 'too-large' } as const;
export const LOST = new RerunSafeError('LEASE_LOST', 'over');

export interface StepStage {
  readonly kept?: Record<string, unknown>;
  readonly answers?: MoveResult[];
  readonly held?: boolean[];
  readonly over?: boolean;
  readonly lost?: boolean;
}

/** An attempt that answers what the test says, and keeps what it was asked to keep. */
export function stepStage({ kept = {}, answers = [], held = [], over = false, lost = false }: StepStage = {}) {
  const asked: [name: string, step: StoredStep | undefined][] = [];
  const notKept: unknown[] = [];
  let looks = 0;
  const owner = {
    attempt: 3,
    steps: kept,
    over,
    lifetime: {
      lost,
      lossError: () => LOST,
      assertHeld: () => {
        if (held[looks++] === false) throw LOST;
      },
    },
    keepStep: async (name: string, step: StoredStep | undefined) => {
      asked.push([name, step]);
      const answer = answers[asked.length - 1] ?? WRITTEN;
      if (answer.kind === 'no-answer' && step === undefined) throw answer.error;
      return answer;
    },
  } as unknown as Attempt;
  let runs = 0;
  const run = (more: Partial<StepFacts<unknown>> = {}, work: () => unknown = () => 'value') => {
    const facts: StepFacts<unknown> = {
      name: 'ship',
      fingerprint: undefined,
      seal: undefined,
      place: 'p',
      atMostOnce: false,
      onInterrupted: undefined,
      onNotKept: (reason, value) => void notKept.push([reason, value]),
      step: { name: 'ship', key: 'k', attempt: 3, signal: new AbortController().signal },
      ...more,
    };
    return runStep(owner, facts, () => {
      runs += 1;
      return work();
    }).catch((error: unknown) => error);
  };
  return { owner, asked, notKept, run, runs: () => runs };
}
