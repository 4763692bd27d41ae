/**
 * How long a record is remembered, for each way it can end.
 *
 * @module
 */
import { either, isInteger, isShape, type Rule } from './options.ts';

/** ms each. */
export interface Retention {
  /** A value. */
  readonly completed: number;
  /** A remembered error. Default: as `completed`. */
  readonly error?: number;
  /** Failed, may run again: what is kept then is the number of attempts, the fingerprint and the steps. Default: as `completed`. */
  readonly released?: number;
}

const RULES = { completed: isInteger(1), error: isInteger(1), released: isInteger(1) };
const FORM = 'must be { completed, error, released }, whole numbers of ms above 0, completed always';

export const isRetention: Rule = either(isInteger(1), isShape(RULES, ['completed'], FORM));

export function retentionOf(given: number | Retention): Required<Retention> {
  const { completed, error = completed, released = completed } = typeof given === 'number' ? { completed: given } : given;
  return { completed, error, released };
}
