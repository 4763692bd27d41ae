/**
 * To a process that is known by a number alone.
 *
 * @module
 */

/**
 * @param target a process, or a group as a negative number.
 * @throws for everything that is neither. An empty file reads as 0, and kill(2) takes that for the caller's own group: the test run, all of it.
 */
export function sendSignal(target: number, signal: NodeJS.Signals): void {
  if (!Number.isInteger(target) || Math.abs(target) <= 1) throw new Error(`not the number of a process: ${target}`);
  process.kill(target, signal);
}
