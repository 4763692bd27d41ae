/**
 * Histories of a register that was really there: every operation takes place at one moment, and its call lies around that.
 *
 * @module
 */
import fc from 'fast-check';
import type { Model, Operation } from './linearizable.ts';

/** '': absent. `read` shows a state; the others have a condition, `over`, and an answer. */
export interface Asked {
  readonly op: 'read' | 'write';
  readonly over?: string;
  readonly to?: string;
  /** What a read or a refused write showed; undefined: the write was done, or nobody knows. */
  readonly shows?: string;
}

export const oneRegister: Model<string, Asked> = {
  initial: '',
  step(state, { op, over, to, shows }) {
    if (op === 'write' && shows === undefined) return state === over ? (to as string) : undefined;
    return shows === state && (op === 'read' || state !== over) ? state : undefined;
  },
  nameOf: (state) => state,
};

export interface Took {
  readonly operations: Operation<Asked>[];
  /** Which operation changed the state, from what to what, and when that was answered. */
  readonly changes: readonly { readonly from: string; readonly to: string; readonly endMs: number }[];
  readonly last: string;
  readonly endMs: number;
}

const STEP_MS = 10;

export const choices = (most: number, unknowns: boolean, least = 3) =>
  fc.array(
    fc.record({
      kind: fc.constantFrom('read', 'create', 'replace', 'replace', 'delete', 'late'),
      beforeMs: fc.integer({ min: 1, max: 40 }),
      afterMs: fc.integer({ min: 1, max: 40 }),
      lost: unknowns ? fc.constantFrom('no', 'no', 'no', 'no', 'answer', 'request', 'long ago') : fc.constant('no'),
    }),
    { minLength: least, maxLength: most, size: 'max' },
  );
export type Choice = typeof choices extends (...args: never[]) => fc.Arbitrary<(infer C)[]> ? C : never;

/** `late`: a replace over what stood before. `long ago`: it was asked for at the very beginning, and happens only now. */
export function played(chosen: readonly Choice[]): Took {
  let state = '';
  let before = '';
  const operations: Operation<Asked>[] = [];
  const changes: Took['changes'][number][] = [];
  for (const [n, { kind, beforeMs, afterMs, lost }] of chosen.entries()) {
    const atMs = (n + 5) * STEP_MS;
    const timed = { startMs: lost === 'long ago' ? 0 : atMs - beforeMs, endMs: lost === 'no' ? atMs + afterMs : Number.POSITIVE_INFINITY };
    if (kind === 'read') {
      if (lost === 'no') operations.push({ ...timed, input: { op: 'read', shows: state } });
      continue;
    }
    const over = kind === 'create' ? '' : kind === 'late' ? before : state;
    const to = kind === 'delete' ? '' : `r${n}`;
    const done = over === state && to !== state && lost !== 'request';
    const known = lost !== 'no' || done;
    if (over === '' && kind !== 'create') continue;
    operations.push({ ...timed, input: known ? { op: 'write', over, to } : { op: 'write', over, to, shows: state } });
    if (!done) continue;
    changes.push({ from: state, to, endMs: timed.endMs });
    [before, state] = [state, to];
  }
  return { operations, changes, last: state, endMs: (chosen.length + 20) * STEP_MS };
}

/** By trying every order of every choice of what may never have happened. */
export function bruteForce(operations: readonly Operation<Asked>[]): boolean {
  const must = operations.map(({ endMs, optional }) => endMs !== Number.POSITIVE_INFINITY && optional !== true);
  const fits = (order: readonly number[], next: number): boolean =>
    order.every((n) => {
      const [a, b] = [operations[n], operations[next]] as [Operation<Asked>, Operation<Asked>];
      return b.endMs >= a.startMs && a.after !== next;
    });
  const from = (order: readonly number[], state: string): boolean => {
    if (must.every((needed, n) => !needed || order.includes(n))) return true;
    return operations.some((operation, n) => {
      if (order.includes(n) || !fits(order, n)) return false;
      const first = operation.after;
      if (first !== undefined && must[first] && !order.includes(first)) return false;
      const after = oneRegister.step(state, operation.input);
      return after !== undefined && from([...order, n], after);
    });
  };
  return from([], '');
}
