/**
 * Each question of a history together with its end.
 *
 * @module
 */
import type { Answers, Event, Fail, Invoke, Ok, Op, Unknown } from './format.ts';

export type Call<O extends Op = Op> = {
  readonly invoke: Extract<Invoke, { op: O }>;
  readonly startMs: number;
  /** Infinity where nobody was told: it may take effect at any later time. */
  readonly endMs: number;
} & (
  | { readonly end: 'ok'; readonly answer: Answers[O]; readonly by: Ok }
  | { readonly end: 'fail'; readonly code: string; readonly by: Fail }
  | { readonly end: 'unknown'; readonly by?: Unknown }
);

export function callsOf(events: readonly Event[]): Call[] {
  const ends = new Map<string, Ok | Fail | Unknown>();
  for (const event of events) if (event.what === 'ok' || event.what === 'fail' || event.what === 'unknown') ends.set(event.n, event);
  return events.flatMap((invoke): Call[] => {
    if (invoke.what !== 'invoke') return [];
    const by = ends.get(invoke.n);
    const timed = { invoke, startMs: invoke.atMs };
    if (by?.what === 'ok') return [{ ...timed, endMs: by.atMs, end: 'ok', answer: by.answer, by }];
    if (by?.what === 'fail') return [{ ...timed, endMs: by.atMs, end: 'fail', code: by.code, by }];
    return [{ ...timed, endMs: Number.POSITIVE_INFINITY, end: 'unknown', ...(by === undefined ? {} : { by }) }];
  });
}

export const only = <O extends Op>(calls: readonly Call[], ...ops: O[]): Call<O>[] =>
  calls.filter((call): call is Call<O> => (ops as string[]).includes(call.invoke.op));

/** Its lines, to show. */
export const linesOf = (call: Call): Event[] => (call.by === undefined ? [call.invoke] : [call.invoke, call.by]);
