/**
 * What the person at the keyboard can put right.
 *
 * @module
 */
import { EXIT } from './exit-codes.ts';

/** Ends the process with a sentence and an exit code, before anything was run. */
export class UsageError extends Error {
  readonly exitCode: number;

  constructor(message: string, exitCode: number = EXIT.usage) {
    super(message);
    this.exitCode = exitCode;
  }
}
