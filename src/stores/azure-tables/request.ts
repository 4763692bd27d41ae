/**
 * One call to the table: bounded in time, its tries watched, its failure judged, the service's clock learned from.
 *
 * @module
 */
import type { TableClient } from '@azure/data-tables';
import { RerunSafeError } from '../../core/errors.ts';
import { type Effect, judge, type Refusal } from './map-error.ts';
import type { ServiceClock } from './service-clock.ts';
import { recordTries, type Try, watchTries } from './tries.ts';

export interface Answer<T> {
  readonly refused?: never;
  readonly value: T;
  /** The response's `Date`, epoch ms: "now" by the clock that stamps rows. */
  readonly dateMs: number;
}

/** What every operation of the SDK takes. */
export interface SdkOptions {
  abortSignal: AbortSignal;
  onResponse(response: { headers: { get(name: string): string | undefined } }): void;
}

export type Call<T> = (client: TableClient, options: SdkOptions) => Promise<T>;

export type Request = <T>(what: string, effect: Effect, call: Call<T>, signal?: AbortSignal) => Promise<Answer<T> | Refusal>;

/**
 * @param limitMs the longest a call may take, with all its tries
 */
export function requester(client: () => Promise<TableClient>, limitMs: number, clock: ServiceClock): Request {
  return async (what, effect, call, signal) => {
    const table = await client();
    const tries: Try[] | undefined = watchTries(table) ? [] : undefined;
    const sentAtMs = Date.now();
    let date: string | undefined;
    const onResponse: SdkOptions['onResponse'] = (response) => {
      date = response.headers.get('date');
    };
    try {
      const value = await within(limitMs, signal, (abortSignal) => recordTries(tries ?? [], () => call(table, { abortSignal, onResponse })));
      const dateMs = learn(clock, date, sentAtMs);
      return { value, dateMs };
    } catch (error) {
      learn(clock, dateOf(error), sentAtMs);
      const verdict = judge({ what, effect, error, tries });
      if (verdict instanceof RerunSafeError) throw verdict;
      return verdict;
    }
  };
}

function learn(clock: ServiceClock, date: string | undefined, sentAtMs: number): number {
  const dateMs = date === undefined ? Number.NaN : Date.parse(date);
  clock.learn(dateMs, sentAtMs, Date.now());
  return Number.isNaN(dateMs) ? clock.nowMs() : dateMs;
}

const dateOf = (error: unknown): string | undefined => {
  const headers = (error as { response?: { headers?: { get?(name: string): string | undefined } } } | undefined)?.response?.headers;
  return headers?.get?.('date');
};

/** Settles at the limit even when the SDK never does: a compressed body whose socket was cut can leave its reader waiting for ever. */
async function within<T>(limitMs: number, signal: AbortSignal | undefined, call: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  const end = (why: string): void => controller.abort(Object.assign(new Error(why), { name: 'AbortError' }));
  const onAbort = (): void => end('The call was given up.');
  const limit = setTimeout(() => end(`No answer within ${limitMs} ms.`), limitMs);
  if (signal?.aborted) onAbort();
  else signal?.addEventListener('abort', onAbort, { once: true });
  try {
    if (controller.signal.aborted) throw controller.signal.reason;
    const ended = new Promise<never>((_, reject) => {
      controller.signal.addEventListener('abort', () => reject(controller.signal.reason), { once: true });
    });
    return await Promise.race([call(controller.signal), ended]);
  } finally {
    clearTimeout(limit);
    signal?.removeEventListener('abort', onAbort);
  }
}
