/**
 * Processes whose wall clock is wrong, by libfaketime. The monotonic clock stays right: it is what histories go by, and no host sets it.
 *
 * @module
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Under `CI=true` its lack is a failure, elsewhere the tests say so in a line. */
export async function faketimeAvailable(): Promise<boolean> {
  const found = await library().catch(() => undefined);
  if (found !== undefined) return true;
  const missing = 'there is no faketime on the path (Debian: apt-get install faketime)';
  if (process.env.CI === 'true') throw new Error(missing);
  console.warn(`Clocks that are wrong are left out: ${missing}.`);
  return false;
}

/** `clock`: `+5h`, `-5h`; `+0 x1.1` runs a tenth too fast. */
export const wrongClock = async (clock: string): Promise<Readonly<Record<string, string>>> => ({
  LD_PRELOAD: await library(),
  FAKETIME: clock,
  FAKETIME_DONT_FAKE_MONOTONIC: '1',
  DONT_FAKE_MONOTONIC: '1',
});

/** Where it lies is known to the command. Not run by it: a process that is killed is to be its own. */
async function library(): Promise<string> {
  const { stdout } = await run('faketime', ['-m', '-f', '+0', 'printenv', 'LD_PRELOAD']);
  return stdout.trim();
}
