/**
 * The answer of a command, on this process's standard output.
 *
 * @module
 */
import { EXIT } from './exit-codes.ts';
import { makeOut, type Screen } from './output.ts';

/** A reader that has gone (`| head -1`) is no failure. An answer that cannot be written is: its exit code would be taken for the answer. */
function onError({ code }: NodeJS.ErrnoException): void {
  if (code !== 'EPIPE') process.exitCode = EXIT.guard;
}

export const screen = (json: boolean): Screen => {
  process.stdout.on('error', onError);
  return makeOut({ json, stdout: process.stdout, isTTY: process.stdout.isTTY === true, columns: process.stdout.columns });
};
