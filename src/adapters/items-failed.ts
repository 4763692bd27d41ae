/**
 * The one error at the end of a batch.
 *
 * @module
 */

export interface ItemFailure {
  /** The place of the item in the batch. */
  readonly index: number;
  readonly error: unknown;
}

/**
 * Thrown by `idempotentEach` when not all items are done, so that the platform brings the batch back where it does. Names the items by their place
 * in the batch; `errors` and `failures` have what each of them threw. It says nothing of the items that are done: they have their records.
 */
export class ItemsFailedError extends Error {
  override readonly name: string = 'ItemsFailedError';
  /** What each of the failed items threw. As in an AggregateError, which the types of an app with target ES6 do not know. */
  readonly errors: readonly unknown[];
  /** In the order of the batch. */
  readonly failures: readonly ItemFailure[];
  /** Places of the items that were not begun: after a failure in an ordered batch, or for want of time. */
  readonly untried: readonly number[];

  constructor(operation: string, count: number, failures: readonly ItemFailure[], untried: readonly number[]) {
    const inOrder = [...failures].sort((a, b) => a.index - b.index);
    super(`${operation}: ${[failedPart(count, inOrder), untriedPart(untried)].filter((part) => part !== '').join('; ')}`);
    this.errors = inOrder.map(({ error }) => error);
    this.failures = inOrder;
    this.untried = untried;
  }
}

function failedPart(count: number, failures: readonly ItemFailure[]): string {
  const [first] = failures;
  if (first === undefined) return '';
  const why = first.error instanceof Error ? first.error.message : 'no error object';
  return `${failures.length} of ${count} items failed (index ${failures.map(({ index }) => index).join(', ')}), the first with: ${why}`;
}

const untriedPart = (untried: readonly number[]): string => (untried.length === 0 ? '' : `not tried: index ${untried.join(', ')}`);
