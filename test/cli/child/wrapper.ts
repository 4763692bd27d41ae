/**
 * A process that runs one command under a lease that is only numbers, and writes down what it sees. Run by {@link file://./stage.ts}.
 *
 * @module
 */
import { appendFileSync } from 'node:fs';
import { spawnAtGate } from '../../../src/cli/child/gate.ts';
import type { ChildOptions } from '../../../src/cli/child/run-child.ts';
import { runChild } from '../../../src/cli/child/run-child.ts';
import { start } from '../../../src/cli/child/start.ts';
import { startWatcher } from '../../../src/cli/child/watcher.ts';
import type { Hold } from '../../../src/cli/hold.ts';
import { childrenOf } from './processes.ts';

export interface Task extends Partial<Omit<ChildOptions, 'hold' | 'say'>> {
  readonly leaseMs?: number;
  /** Without it the lease ends when it ends. */
  readonly renewed?: boolean;
  readonly abortAfterMs?: number;
  /** Kills itself there. */
  readonly diesAt?: 'gate' | 'watcher' | 'watched' | 'go';
}

/** Whatever it writes down has one of these. */
export type Line = Record<string, unknown>;

const [report = '', json = '{}'] = process.argv.slice(2);
const task = JSON.parse(json) as Task;
const tell = (line: Line): void => appendFileSync(report, `${JSON.stringify(line)}\n`);

const { leaseMs = 600_000, renewed = true, abortAfterMs, diesAt, ...given } = task;
const endsAtMs = performance.now() + leaseMs;
const lost = new AbortController();
if (abortAfterMs !== undefined) setTimeout(() => lost.abort(), abortAfterMs);
const hold: Hold = {
  fence: undefined,
  leaseMs,
  signal: lost.signal,
  remainingMs: () => (renewed ? leaseMs * 0.9 : endsAtMs - performance.now()),
  assertHeld() {
    if (lost.signal.aborted || hold.remainingMs() <= 0) throw new Error('lost');
  },
};
const options: ChildOptions = {
  command: 'true',
  args: [],
  env: {},
  foreground: false,
  killAfterMs: 10_000,
  leftBehind: 'leave',
  onLostLease: 'kill',
  ...given,
  hold,
  say: (said) => tell({ said }),
};

const die = (): void => void process.kill(process.pid, 'SIGKILL');

async function dieAt(moment: NonNullable<Task['diesAt']>): Promise<void> {
  if (moment === 'go') {
    await start(options);
    return die();
  }
  const watcher = moment === 'gate' ? undefined : startWatcher(options.killAfterMs);
  const child = spawnAtGate('/bin/sh', options.command, options.args, { detached: true, stdio: ['inherit', 'inherit', 'inherit'] });
  if (moment === 'watched') watcher?.watch(-(child.pid ?? 0));
  tell({ atGate: child.pid });
  die();
}

const maxRssKb = (): number => process.resourceUsage().maxRSS;
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2', 'SIGTSTP', 'SIGCONT'];

if (diesAt !== undefined) await dieAt(diesAt);
const before = maxRssKb();
tell({ starting: process.pid });
const end = await runChild(options);
const tail = 'tail' in end ? end.tail?.map(({ stream, bytes }) => [stream, Buffer.from(bytes).toString('base64')]) : undefined;
await new Promise(setImmediate);
tell({
  end: { ...end, ...(tail && { tail }) },
  grownKb: maxRssKb() - before,
  leaseEndsAt: performance.timeOrigin + endsAtMs,
  children: childrenOf(process.pid).length,
  listeners: SIGNALS.reduce((sum, name) => sum + process.listenerCount(name), 0) + process.stdout.listenerCount('error'),
});
