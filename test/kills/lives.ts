/**
 * What a process does until it is killed, and what those do who come after it.
 *
 * @module
 */
import type { RunOnceOptions, ThrowVerdict } from '../../src/index.ts';

export interface LifeStep {
  readonly name: string;
  /** `plain`: an effect of the work itself. */
  readonly as: 'plain' | 'step' | 'at most once';
  /** Interrupted, the far side is asked. */
  readonly asks?: true;
}

/** A run. */
export interface RunLife {
  readonly kind: 'run';
  readonly name: string;
  /** What every change must be shown for again, as often as is promised. */
  readonly core?: true;
  readonly steps: readonly LifeStep[];
  /** How the victim's work throws, after its effects. `remember` is how everybody's work throws. */
  readonly throws?: ThrowVerdict;
  /** An attempt before it ended without an outcome: before its effect, or after. */
  readonly after?: 'nothing' | 'the effect';
  /** It works until its lease was renewed. */
  readonly renews?: true;
  /** Its value lies in parts. */
  readonly large?: true;
  readonly commits?: true;
  readonly onUnknown?: 'retry' | 'block' | 'ask';
  /** How it may end, for those who come last. */
  readonly ends: readonly ('completed' | 'failed' | 'blocked')[];
}

/** The holder of a named lease: acquires, reads under its fence, renews, writes under its fence, releases. */
export interface LeaseLife {
  readonly kind: 'lease';
  readonly name: string;
  readonly core?: true;
}

export type Life = RunLife | LeaseLife;

const charge: LifeStep = { name: 'charge', as: 'plain' };
const completes = ['completed'] as const;

export const LIVES: readonly Life[] = [
  { kind: 'run', name: 'first run', core: true, steps: [charge], ends: completes },
  {
    ...{ kind: 'run', name: 'steps', core: true },
    steps: [
      { name: 'reserve', as: 'step' },
      { name: 'charge', as: 'at most once', asks: true },
      { name: 'mail', as: 'step' },
    ],
    ends: completes,
  },
  {
    ...{ kind: 'run', name: 'at most once, nobody to ask' },
    steps: [
      { name: 'charge', as: 'at most once' },
      { name: 'mail', as: 'step' },
    ],
    ends: ['completed', 'blocked'],
  },
  { kind: 'run', name: 'throws: released', core: true, steps: [charge], throws: 'release', ends: completes },
  { kind: 'run', name: 'throws: unknown', steps: [charge], throws: 'unknown', ends: completes },
  { kind: 'run', name: 'throws: remembered', steps: [charge], throws: 'remember', ends: ['failed'] },
  { kind: 'run', name: 'throws: blocked', steps: [charge], throws: 'block', ends: ['completed', 'blocked'] },
  { kind: 'run', name: 'blocked', core: true, steps: [charge], after: 'nothing', onUnknown: 'block', ends: ['blocked'] },
  { kind: 'run', name: 'takeover', core: true, steps: [charge], after: 'nothing', ends: completes },
  { kind: 'run', name: 'asks: not done', steps: [charge], after: 'nothing', onUnknown: 'ask', ends: completes },
  { kind: 'run', name: 'asks: done', steps: [charge], after: 'the effect', onUnknown: 'ask', ends: completes },
  { kind: 'run', name: 'renewal', core: true, steps: [charge], renews: true, ends: completes },
  { kind: 'run', name: 'in parts', steps: [charge], large: true, ends: completes },
  { kind: 'run', name: 'commitWith', steps: [charge], commits: true, ends: completes },
  { kind: 'lease', name: 'lease', core: true },
];

export interface Able {
  readonly records: boolean;
  readonly parts: boolean;
  readonly commits: boolean;
}

/** What a store can show. */
export const livesOf = ({ records, parts, commits }: Able): Life[] =>
  LIVES.filter((life) => (life.kind === 'lease' ? true : records && (parts || life.large !== true) && (commits || life.commits !== true)));

export const OPERATION = 'test/kills';

export const atMostOnceOf = (life: Life): ReadonlySet<string> =>
  new Set(life.kind === 'lease' ? [] : life.steps.filter(({ as }) => as === 'at most once').map(({ name }) => name));

/** What is the same for all who call it. */
export const sharedOptions = (life: RunLife, key: string, leaseMs: number): Omit<RunOnceOptions<string[]>, 'store'> => ({
  operation: OPERATION,
  key,
  input: { order: key },
  leaseMs,
  renew: life.renews === true ? 'auto' : 'none',
  maxAttempts: 1_000,
});
