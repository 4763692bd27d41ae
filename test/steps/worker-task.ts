/**
 * What a process is told to do. Apart from the worker, which does it as soon as it is loaded.
 *
 * @module
 */
import type { Plan } from './plan.ts';

export interface Task {
  /** Its number, from 1: it makes the attempts of that number. */
  readonly child: number;
  /** The path of the history. */
  readonly history: string;
  readonly plans: readonly Plan[];
  readonly leaseMs: number;
}
