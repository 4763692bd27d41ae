/**
 * The folder that relative paths are meant from.
 *
 * @module
 */
import { EXIT } from './exit-codes.ts';
import { UsageError } from './usage-error.ts';

/** @throws UsageError where it was removed. */
export function workingFolder(): string {
  try {
    return process.cwd();
  } catch (error) {
    throw new UsageError(`the working folder cannot be told (${(error as NodeJS.ErrnoException).code}): was it removed?`, EXIT.config);
  }
}
