/**
 * A process of its own: does what it is told by its argument, says what happens on stdout, a line of JSON each.
 *
 * @module
 */
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { isRerunSafeError, type Lease, type Run, runOnce, storeLeases, tryRunOnce, withLease } from '../../src/index.ts';
import { type Opened, openPlace, type Place } from './place.ts';
import { OPERATION, type Task } from './worker-task.ts';

const say = (line: object): void => void process.stdout.write(`${JSON.stringify(line)}\n`);
const codeOf = (error: unknown): string => (isRerunSafeError(error) ? error.code : String(error));
const seen = async (body: () => unknown): Promise<string> => {
  try {
    await body();
    return 'done';
  } catch (error) {
    return codeOf(error);
  }
};

async function count({ store, counter }: Opened, { times, leaseMs, stallAt, stallMs }: Extract<Task, { do: 'count' }>): Promise<void> {
  const leases = storeLeases(store);
  let done = 0;
  let refused = 0;
  let stalled = false;
  let begun = false;
  const increment = async (lease: Lease): Promise<void> => {
    begun = true;
    const n = await counter.claim(lease.fence);
    if (done + 1 === stallAt && !stalled) {
      stalled = true;
      // No timer fires meanwhile, as in a process that is out of memory or paused with its machine.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, stallMs);
    }
    await counter.write(lease.fence, n + 1);
  };
  while (done < times) {
    begun = false;
    try {
      const result = await withLease(leases, 'counter', { leaseMs, renew: 'none', waitMs: 300 }, increment);
      if (result.kind === 'done') done += 1;
    } catch (error) {
      if (isRerunSafeError(error, 'STALE_TOKEN')) refused += 1;
      // No lease in time, so nothing of ours was written: the same increment is tried again.
      else if (begun || !isRerunSafeError(error) || !error.retryable) throw error;
    }
  }
  say({ done, refused });
}

async function rounds({ store }: Opened, { rounds: all }: Extract<Task, { do: 'rounds' }>): Promise<void> {
  const ran: number[] = [];
  const values: string[] = [];
  for (let round = 0; round < all; round++) {
    const options = { store, operation: OPERATION, key: ['round', round], onInFlight: { waitMs: 30_000 } };
    const value = await runOnce<string>(options, (run) => {
      ran.push(round);
      return `${process.pid} with ${run.token}`;
    });
    values.push(value);
  }
  say({ ran, values });
}

async function hang({ store }: Opened, { key, leaseMs }: Extract<Task, { do: 'hang' }>): Promise<void> {
  await runOnce({ store, operation: OPERATION, key, leaseMs }, async (run) => {
    await run.step('charge', () => 'charged before the crash');
    say({ started: run.attempt });
    await new Promise(() => {});
  });
}

/** What a holder that was paused finds when it goes on. */
async function afterwards({ counter }: Opened, held: Run | Lease): Promise<{ held: string; written: string; aborted: boolean }> {
  const { fence } = held;
  if (fence === undefined) throw new Error('no fence');
  return { held: await seen(() => held.assertHeld()), written: await seen(() => counter.write(fence, -1)), aborted: held.signal.aborted };
}

async function sleep(opened: Opened, { key, leaseMs }: Extract<Task, { do: 'sleep' }>, woken: () => Promise<unknown>): Promise<void> {
  let found: object = {};
  const result = await tryRunOnce<string>({ store: opened.store, operation: OPERATION, key, leaseMs }, async (run) => {
    if (run.fence !== undefined) await opened.counter.claim(run.fence);
    say({ started: run.attempt });
    await woken();
    found = { ...(await afterwards(opened, run as Run)), step: await seen(() => run.step('late', () => 1)) };
    return 'the late result';
  });
  say({ ...found, result });
}

async function sleepUnderLease(opened: Opened, task: Extract<Task, { do: 'sleep under lease' }>, woken: () => Promise<unknown>): Promise<void> {
  await withLease(storeLeases(opened.store), task.name, { leaseMs: task.leaseMs }, async (lease) => {
    await opened.counter.claim(lease.fence);
    say({ started: lease.token });
    await woken();
    const found = await afterwards(opened, lease);
    say({ ...found, renewed: await seen(() => lease.renew()), released: await lease.release() });
  });
}

async function main(): Promise<void> {
  const [place, task] = JSON.parse(process.argv[2] ?? '[]') as [Place, Task];
  const opened = openPlace(place);
  const lines = createInterface({ input: process.stdin });
  // A parent that was killed closes our stdin: nothing stays behind.
  lines.once('close', () => process.exit(0));
  const woken = (): Promise<unknown> => once(lines, 'line');
  if (task.do === 'count') await count(opened, task);
  else if (task.do === 'rounds') await rounds(opened, task);
  else if (task.do === 'hang') await hang(opened, task);
  else if (task.do === 'sleep') await sleep(opened, task, woken);
  else await sleepUnderLease(opened, task, woken);
  process.exit(0);
}

await main();
