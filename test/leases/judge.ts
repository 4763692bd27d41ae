/**
 * What the notes of all processes say about a lease: who held it when, and which writes got through.
 *
 * @module
 */
import type { Noted } from './turns-task.ts';

type Of<W extends Noted['what']> = Extract<Noted, { what: W }>;

export interface Facts {
  /** When a process was killed from outside, before the signal was sent. */
  readonly killedAtMs: ReadonlyMap<number, number>;
  /** See `Turns`. */
  readonly adds: boolean;
  /** The most that may pass from the death of a holder to the next acquisition. */
  readonly freeWithinMs: number;
}

export interface Verdict {
  readonly acquisitions: number;
  /** While it held the lease. */
  readonly killsOfHolders: number;
  readonly stops: number;
  /** Fenced writes and claims by holders whom a later one had followed. */
  readonly staleTried: number;
  readonly staleLanded: number;
  /** Every promise that was broken. */
  readonly wrong: readonly string[];
}

interface Held {
  readonly pid: number;
  readonly token: number;
  readonly fromMs: number;
  /** By its own deadline, its release, or its death. */
  readonly endMs: number;
  readonly died: boolean;
}

export function judge(history: readonly Noted[], facts: Facts): Verdict {
  const held = holders(history, facts);
  const dead = held.filter(({ died }) => died);
  const stale = staleWrites(history);
  const told = of(history, 'told');
  const stops = of(history, 'doomed').filter(({ signal }) => signal === 'SIGSTOP').length;
  return {
    acquisitions: held.length,
    killsOfHolders: dead.length,
    stops,
    staleTried: stale.landed.length + of(history, 'refused').length,
    staleLanded: stale.landed.length,
    wrong: [
      ...repeated(held.map(({ token }) => token)).map((token) => `I5 token ${token} was given out twice`),
      ...outOfOrder(held),
      ...overlaps(held),
      ...dead.flatMap((holder) => late(holder, held, facts.freeWithinMs)),
      ...stale.landed.map((line) => `I4 a write of ${line.token} landed after a higher token had touched it: ${JSON.stringify(line)}`),
      ...stale.unfounded.map((line) => `I4 refused, but not for a higher token: ${JSON.stringify(line)}`),
      ...told
        .filter(({ held: said, aborted }) => said !== 'LEASE_LOST' || !aborted)
        .map((line) => `I4 stopped past its lease, and not told: ${JSON.stringify(line)}`),
      ...(facts.adds ? lostAdditions(of(history, 'wrote')) : []),
    ],
  };
}

const of = <W extends Noted['what']>(history: readonly Noted[], what: W): Of<W>[] => history.filter((line): line is Of<W> => line.what === what);
const repeated = (values: readonly number[]): number[] => values.filter((value, at) => values.indexOf(value) !== at);

function holders(history: readonly Noted[], { killedAtMs }: Facts): Held[] {
  const out = new Map(of(history, 'out').map(({ token, atMs }) => [token, atMs]));
  const until = new Map<number, number>();
  for (const { token, untilMs } of of(history, 'held on')) until.set(token, Math.max(untilMs, until.get(token) ?? 0));
  const died = new Map(killedAtMs);
  for (const { pid, signal, atMs } of of(history, 'doomed')) if (signal === 'SIGKILL') died.set(pid, atMs);
  return of(history, 'in')
    .map(({ pid, token, atMs: fromMs, untilMs }) => {
      const outMs = out.get(token) ?? Number.POSITIVE_INFINITY;
      const diedMs = outMs === Number.POSITIVE_INFINITY ? (died.get(pid) ?? outMs) : Number.POSITIVE_INFINITY;
      const deadlineMs = Math.max(untilMs, until.get(token) ?? 0);
      return { pid, token, fromMs, endMs: Math.min(outMs, diedMs, deadlineMs), died: diedMs < deadlineMs };
    })
    .sort((a, b) => a.token - b.token);
}

const outOfOrder = (byToken: readonly Held[]): string[] =>
  pairs(byToken).flatMap(([before, next]) =>
    next.fromMs < before.fromMs ? [`I5 token ${next.token} was acquired before token ${before.token}`] : [],
  );

/** Each against all before it: a long lease may outlast several that follow. */
function overlaps(byToken: readonly Held[]): string[] {
  let last: Held | undefined;
  return byToken.flatMap((next) => {
    const before = last;
    if (last === undefined || next.endMs > last.endMs) last = next;
    return before !== undefined && next.fromMs < before.endMs ? [`I6 two hold at once: ${JSON.stringify(before)} and ${JSON.stringify(next)}`] : [];
  });
}

function late(dead: Held, byToken: readonly Held[], freeWithinMs: number): string[] {
  const next = byToken.find(({ token }) => token > dead.token);
  if (next === undefined || next.fromMs - dead.endMs <= freeWithinMs) return [];
  return [`I10 ${Math.round(next.fromMs - dead.endMs)} ms from the death of ${dead.token} to the next holder`];
}

function staleWrites(history: readonly Noted[]): { landed: (Of<'claimed'> | Of<'wrote'>)[]; unfounded: Of<'refused'>[] } {
  const touches = [...of(history, 'claimed'), ...of(history, 'wrote')].sort((a, b) => a.atMs - b.atMs);
  const highest: { atMs: number; token: number }[] = [];
  for (const { atMs, token } of touches) highest.push({ atMs, token: Math.max(token, highest.at(-1)?.token ?? 0) });
  return {
    landed: touches.filter(({ token, sentMs }) => (highest.findLast(({ atMs }) => atMs < sentMs)?.token ?? 0) > token),
    unfounded: of(history, 'refused').filter(({ token, storedToken }) => !(storedToken > token)),
  };
}

/** Each write adds one to what the one before it wrote. A holder may have been killed between its write and its note of it. */
function lostAdditions(wrote: readonly Of<'wrote'>[]): string[] {
  const twice = repeated(wrote.map(({ n }) => n)).map((n) => `I4 two wrote ${n}: an addition is lost`);
  const inOrder = wrote.toSorted((a, b) => a.n - b.n);
  const back = pairs(inOrder).flatMap(([before, next]) =>
    next.token < before.token ? [`I4 ${next.token} wrote ${next.n} after ${before.token}`] : [],
  );
  return [...twice, ...back];
}

const pairs = <T>(all: readonly T[]): [T, T][] => all.slice(1).map((next, n) => [all[n] as T, next]);
