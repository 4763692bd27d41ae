/**
 * What is thrown may be anything, also something that throws when it is looked at.
 *
 * @module
 */
export function read<T>(look: () => T, otherwise: T): T {
  try {
    return look();
  } catch {
    return otherwise;
  }
}

/** In words. */
export const textOf = (thrown: unknown): string => read(() => (thrown instanceof Error ? thrown.message : String(thrown)), 'something unreadable');
