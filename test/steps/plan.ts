/**
 * Where a run is killed, attempt for attempt, and what has to come of it.
 *
 * @module
 */

export interface PlannedStep {
  readonly name: string;
  readonly mode: 'atLeastOnce' | 'atMostOnce';
}

export const STEPS: readonly PlannedStep[] = [
  { name: 'reserve', mode: 'atLeastOnce' },
  { name: 'charge', mode: 'atMostOnce' },
  { name: 'pack', mode: 'atLeastOnce' },
  { name: 'ship', mode: 'atMostOnce' },
  { name: 'mail', mode: 'atLeastOnce' },
];

/** `before`: its work has begun, and did nothing yet. `done`: its effect has happened. `kept`: its value is kept, and nobody was told. `resolved`: the run was told. */
export const PHASES = ['before', 'done', 'kept', 'resolved'] as const;
export type Phase = (typeof PHASES)[number];

export interface Point {
  /** From 0. */
  readonly step: number;
  readonly phase: Phase;
}

export interface Plan {
  /** The run's key. */
  readonly run: string;
  /** Its at-most-once steps have an `onInterrupted`, that asks the far side. */
  readonly asks: boolean;
  /** The n-th attempt is killed at the n-th point, the one after the last ends. `any moment`: killed whenever it happens. */
  readonly kills: readonly Point[] | 'any moment';
}

export interface PointPlan extends Plan {
  readonly kills: readonly Point[];
}

export interface Course {
  /** In order: which attempt does which step. */
  readonly effects: readonly { readonly attempt: number; readonly step: string }[];
  readonly end: 'completed' | 'blocked';
  readonly attempts: number;
  /** Each of the points is come by. */
  readonly meetsAll: boolean;
}

/** The promise, played through: a kept step is never done again; one that may have begun at most once is asked about, or blocks. */
export function courseOf({ kills, asks }: Pick<PointPlan, 'kills' | 'asks'>): Course {
  const effects: { attempt: number; step: string }[] = [];
  const kept = new Set<string>();
  const begun = new Set<string>();
  for (let attempt = 1; ; attempt++) {
    const kill = kills[attempt - 1];
    const end = goThrough((step, phase) => kill?.step === step && kill.phase === phase, attempt);
    if (end !== 'killed') return { effects, end, attempts: attempt, meetsAll: attempt === kills.length + 1 };
  }

  function goThrough(isKilled: (step: number, phase: Phase) => boolean, attempt: number): Course['end'] | 'killed' {
    for (const [n, { name, mode }] of STEPS.entries()) {
      if (!kept.has(name)) {
        const interrupted = mode === 'atMostOnce' && begun.has(name);
        if (interrupted && !asks) return 'blocked';
        if (!interrupted || !effects.some(({ step }) => step === name)) {
          begun.add(name);
          if (isKilled(n, 'before')) return 'killed';
          effects.push({ attempt, step: name });
          if (isKilled(n, 'done')) return 'killed';
        }
        kept.add(name);
        if (isKilled(n, 'kept')) return 'killed';
      }
      if (isKilled(n, 'resolved')) return 'killed';
    }
    return 'completed';
  }
}

export const nameOf = ({ run, asks, kills }: Pick<Plan, 'run' | 'asks' | 'kills'>): string =>
  `${run}${asks ? '' : ' (nobody to ask)'}: ${kills === 'any moment' ? kills : kills.map(pointName).join(', then ')}`;

export const pointName = ({ step, phase }: Point): string => `${STEPS[step]?.name} ${phase}`;
