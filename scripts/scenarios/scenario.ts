/**
 * What a scenario is made of.
 *
 * @module
 */
import type { Expect } from '../support/report.ts';
import type { Stage } from './stage.ts';

export interface Scenario {
  readonly id: string;
  readonly title: string;
  readonly parts: readonly Part[];
}

export interface Part {
  /** The backend, as people call it; for what happens unguarded, on no backend of ours, {@link WITHOUT}. */
  readonly on: string;
  /** What is seen there. */
  readonly shows: string;
  /** Waits long for a lease, so it begins before the others. */
  readonly slow?: boolean;
  readonly play: (expect: Expect, stage: Stage) => Promise<void>;
}

export const WITHOUT = 'without rerunsafe';

export const backendsOf = ({ parts }: Scenario): string[] => [...new Set(parts.map(({ on }) => on))].filter((on) => on !== WITHOUT);
