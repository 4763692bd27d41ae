/**
 * What a process is told to do. Apart from the worker, which does it as soon as it is loaded.
 *
 * @module
 */
import type { Point } from './gate.ts';

export interface Errand {
  /** The name of the life. */
  readonly life: string;
  readonly key: string;
  readonly caller: string;
  /** Where it comes to a halt. Absent: nowhere. */
  readonly point?: Point;
}

export interface Task {
  /** The path of the history. */
  readonly history: string;
  readonly leaseMs: number;
  readonly errands: readonly Errand[];
  /** Default: the victim. */
  readonly role?: 'victim' | 'after it';
  readonly waitMs?: number;
  readonly tries?: number;
  /** One after the other, as alone as can be: nothing is asked twice because too much was asked at once. */
  readonly oneByOne?: boolean;
  /** One request first, that tells what time it is there. */
  readonly warm?: boolean;
  /** What becomes of the process when all of them have halted, or ended. */
  readonly strike: 'SIGKILL' | 'SIGSTOP' | 'nothing';
}

/** Said before it is struck, and, without `halted`, when all is over. */
export interface Said {
  /** Keys of those that halted. */
  readonly halted?: readonly string[];
  /** By key: which calls it made. */
  readonly calls?: Readonly<Record<string, readonly string[]>>;
}
