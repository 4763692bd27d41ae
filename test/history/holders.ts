/**
 * The promises, as far as the holders of one named lease and their fenced writes can show them.
 *
 * @module
 */
import { type Call, linesOf, only } from './calls.ts';
import { type Event, of } from './format.ts';
import type { Strikes } from './strikes.ts';
import type { Violation } from './violation.ts';

export interface HolderRules {
  /** The most that may pass from the death of a holder to the next acquisition. Absent: not judged. */
  readonly freeWithinMs?: number;
  /** Each fenced write adds one to what its holder found. */
  readonly adds?: boolean;
}

export interface Holder {
  readonly caller: string;
  readonly token: number;
  readonly fromMs: number;
  /** By its own deadline, its release, or its death. */
  readonly endMs: number;
  /** While it held. */
  readonly died: boolean;
  readonly lines: readonly Event[];
}

type Fenced = Call<'fenced-read' | 'fenced-write'>;

/** By their tokens. */
export function holdersOf(calls: readonly Call[], strikes: Strikes): Holder[] {
  const released = new Map(only(calls, 'release').map(({ invoke, startMs }) => [invoke.token, startMs]));
  const renewed = new Map<number, number>();
  for (const call of only(calls, 'renew')) {
    if (call.end === 'ok') renewed.set(call.invoke.token, Math.max(call.answer.untilMs, renewed.get(call.invoke.token) ?? 0));
  }
  return only(calls, 'acquire')
    .flatMap((call): Holder[] => {
      if (call.end !== 'ok') return [];
      const { caller } = call.invoke;
      const { token, untilMs } = call.answer;
      const releasedMs = released.get(token) ?? Number.POSITIVE_INFINITY;
      const death = releasedMs === Number.POSITIVE_INFINITY ? strikes.deathOf(caller) : undefined;
      const diedMs = death?.atMs ?? Number.POSITIVE_INFINITY;
      const deadlineMs = Math.max(untilMs, renewed.get(token) ?? 0);
      const endMs = Math.min(releasedMs, diedMs, deadlineMs);
      return [{ caller, token, fromMs: call.endMs, endMs, died: diedMs < deadlineMs, lines: death === undefined ? [call.by] : [call.by, death] }];
    })
    .sort((a, b) => a.token - b.token);
}

export function judgeHolders(
  key: string,
  events: readonly Event[],
  calls: readonly Call[],
  strikes: Strikes,
  { freeWithinMs, adds = false }: HolderRules = {},
): Violation[] {
  const holders = holdersOf(calls, strikes);
  const fenced = only(calls, 'fenced-read', 'fenced-write');
  return [
    ...tokens(key, holders),
    ...overlaps(key, holders),
    ...(freeWithinMs === undefined ? [] : late(key, holders, freeWithinMs)),
    ...staleOf(fenced).map(({ call, after }): Violation => {
      const says = `a write of ${call.invoke.token} landed after a higher token had touched it`;
      return { promise: 'I4', key, says, shows: [...linesOf(after), ...linesOf(call)] };
    }),
    ...fenced
      .filter(({ invoke, by }) => by?.what === 'fail' && by.code === 'STALE_TOKEN' && !((by.storedToken ?? 0) > invoke.token))
      .map((call): Violation => ({ promise: 'I4', key, says: 'refused, but not for a higher token', shows: linesOf(call) })),
    ...of(events, 'woke')
      .filter(({ held, aborted }) => held !== 'LEASE_LOST' || !aborted)
      .map((event): Violation => ({ promise: 'I4', key, says: 'stopped past its lease, and not told', shows: [event] })),
    ...(adds ? lostAdditions(key, only(calls, 'fenced-write')) : []),
  ];
}

function tokens(key: string, holders: readonly Holder[]): Violation[] {
  return pairs(holders).flatMap(([before, next]): Violation[] => {
    const shows = [...before.lines, ...next.lines];
    if (next.token === before.token) return [{ promise: 'I5', key, says: `token ${next.token} was given out twice`, shows }];
    if (next.fromMs < before.fromMs) return [{ promise: 'I5', key, says: `token ${next.token} was acquired before token ${before.token}`, shows }];
    return [];
  });
}

/** Each against all before it: a long lease may outlast several that follow. */
function overlaps(key: string, holders: readonly Holder[]): Violation[] {
  let last: Holder | undefined;
  return holders.flatMap((next): Violation[] => {
    const before = last;
    if (last === undefined || next.endMs > last.endMs) last = next;
    if (before === undefined || next.fromMs >= before.endMs) return [];
    const forMs = (Math.min(before.endMs, next.endMs) - next.fromMs).toFixed(1);
    return [
      { promise: 'I6', key, says: `two hold at once, ${before.token} and ${next.token}, for ${forMs} ms`, shows: [...before.lines, ...next.lines] },
    ];
  });
}

function late(key: string, holders: readonly Holder[], freeWithinMs: number): Violation[] {
  return holders.flatMap((dead, n): Violation[] => {
    const next = holders[n + 1];
    if (!dead.died || next === undefined || next.fromMs - dead.endMs <= freeWithinMs) return [];
    const says = `${Math.round(next.fromMs - dead.endMs)} ms from the death of ${dead.token} to the next holder`;
    return [{ promise: 'I10', key, says, shows: [...dead.lines, ...next.lines] }];
  });
}

/** What got through, and had been sent when a higher token had already got through. */
export function staleOf(fenced: readonly Fenced[]): { call: Fenced; after: Fenced }[] {
  const landed = fenced.filter(({ end }) => end === 'ok').sort((a, b) => a.endMs - b.endMs);
  const highest: Fenced[] = [];
  for (const call of landed) {
    const before = highest.at(-1);
    highest.push(before !== undefined && before.invoke.token > call.invoke.token ? before : call);
  }
  return landed.flatMap((call, n) => {
    let known = n - 1;
    while ((landed[known]?.endMs ?? 0) >= call.startMs) known -= 1;
    const after = highest[known];
    return after !== undefined && after.invoke.token > call.invoke.token ? [{ call, after }] : [];
  });
}

/** Each write adds one to what the one before it wrote. A holder may have been killed between its write and its note of it. */
function lostAdditions(key: string, writes: readonly Call<'fenced-write'>[]): Violation[] {
  const inOrder = writes.filter(({ end }) => end === 'ok').sort((a, b) => a.invoke.number - b.invoke.number);
  return pairs(inOrder).flatMap(([before, next]): Violation[] => {
    const shows = [...linesOf(before), ...linesOf(next)];
    if (next.invoke.number === before.invoke.number)
      return [{ promise: 'I4', key, says: `two wrote ${next.invoke.number}: an addition is lost`, shows }];
    if (next.invoke.token < before.invoke.token)
      return [{ promise: 'I4', key, says: `${next.invoke.token} wrote ${next.invoke.number} after ${before.invoke.token}`, shows }];
    return [];
  });
}

const pairs = <T>(all: readonly T[]): [T, T][] => all.slice(1).map((next, n) => [all[n] as T, next]);
