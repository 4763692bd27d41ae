/**
 * What a command leaves running in its group when it ends.
 *
 * @module
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ChildOptions } from './child.ts';
import type { Group } from './group.ts';
import type { Stop } from './stop.ts';

const ENDING_POLL_MS = 20;
const WAIT_POLL_MS = 100;
/** A pipeline's other half ends a moment after the shell. */
const MOMENT_MS = 50;

/** Resolves when the group is to be seen as ended. One that is being stopped is always seen to its end. */
export async function settleGroup(group: Group, stop: Stop, options: ChildOptions, graceMs: number): Promise<void> {
  const { leftBehind, say } = options;
  if (!stop.begun && group.isAlive()) await sleep(MOMENT_MS);
  if (!group.isAlive()) return;
  if (!stop.begun && leftBehind === 'leave') {
    const pipes = options.captureBytes === undefined ? '' : '; what they still write is lost';
    return say(`the command has ended and left processes running (group ${-group.target}): nobody watches them${pipes}`);
  }
  if (!stop.begun && leftBehind === 'wait') say(`the command has ended; waiting for what it left running (group ${-group.target})`);
  if (!stop.begun && leftBehind === 'end') stop.begin(graceMs);
  while (!stop.hopeless && group.isAlive()) await sleep(stop.begun ? ENDING_POLL_MS : WAIT_POLL_MS);
}
