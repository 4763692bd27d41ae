/**
 * The sample app on emulators, in several processes, and what happens when its operations run again. Exit code 0 only when every scene held.
 *
 * @module
 */

import { Report } from '../support/report.ts';
import { onAws } from './lambda.ts';
import { killed, thrice, twentyAtOnce } from './payments.ts';
import { redelivered } from './queue.ts';
import { buildStage, takeDown } from './stage.ts';
import { paused, twoTimers } from './timers.ts';

/** A scene that hangs must not hang whoever waits for the verdict. */
const LIMIT_MS = 120_000;

async function play(report: Report, ends: (() => Promise<unknown>)[]): Promise<void> {
  const stage = await buildStage(ends);
  const [a, b] = await Promise.all([stage.azureProcess(), stage.azureProcess()]);
  await thrice(report, stage, a, b);
  await twentyAtOnce(report, stage, a, b);
  await killed(report, stage, b);
  await redelivered(report, stage, b);
  await twoTimers(report, stage, a, b);
  await paused(report, stage, b);
  await onAws(report, stage);
}

const ends: (() => Promise<unknown>)[] = [];
const stopped = new Promise<number>((resolve) => {
  process.once('SIGINT', () => resolve(130));
  process.once('SIGTERM', () => resolve(143));
  setTimeout(() => {
    process.stderr.write(`The demo did not end within ${LIMIT_MS / 1000} s.\n`);
    resolve(1);
  }, LIMIT_MS).unref();
});

process.stdout.write('The sample app on emulators: what happens when it runs again?\n');
const report = new Report();
const played = play(report, ends).then(
  () => (report.close() ? 0 : 1),
  (error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
    return 1;
  },
);
const code = await Promise.race([played, stopped]);
await takeDown(ends);
process.exit(code);
