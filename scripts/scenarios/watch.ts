/**
 * What a parent sees of its workers.
 *
 * @module
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Failure, WorkerProcess } from '../demo/calls.ts';

/** What a caller sees of a call: its value, the code of its error, or that there was no answer. */
export async function seen<T>(worker: WorkerProcess, name: string, input: unknown): Promise<T | string> {
  try {
    return await worker.call<T>(name, input);
  } catch (error) {
    const failure = (error as Error).cause as Failure | undefined;
    return failure === undefined ? 'no answer' : (failure.code ?? failure.message);
  }
}

/** What a machine under load makes of a request that takes too long. */
const PASSING = ['WRITE_UNKNOWN', 'STORE_UNAVAILABLE'];

/** As a polite client does it: what may pass is tried again. */
export async function until<T>(
  worker: WorkerProcess,
  name: string,
  input: unknown,
  refusals: readonly string[],
  limitMs = 60_000,
): Promise<T | string> {
  for (const endsAtMs = performance.now() + limitMs; ; ) {
    const answer = await seen<T>(worker, name, input);
    if ((!PASSING.includes(answer as string) && !refusals.includes(answer as string)) || performance.now() > endsAtMs) return answer;
    await pause(100);
  }
}

export const different = (values: readonly string[]): number => new Set(values).size;

/** Waits until a worker has said a line so often. */
export async function logged(worker: WorkerProcess, line: string, times = 1, limitMs = 60_000): Promise<void> {
  for (const endsAtMs = performance.now() + limitMs; worker.logs.filter((said) => said === line).length < times; await pause(10)) {
    if (performance.now() > endsAtMs) throw new Error(`a worker did not say "${line}" ${times} times; it said: ${worker.logs.join(', ')}`);
  }
}

/** Waits until a call has come so far. Where it ends before, that is the news. */
export async function reaches(call: Promise<unknown>, point: Promise<void>): Promise<void> {
  const ended = call.then((answer) => Promise.reject(new Error(`a call that was to be at work has ended with ${JSON.stringify(answer)}`)));
  await Promise.race([point, ended]);
}
