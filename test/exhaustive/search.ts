/**
 * Every path through the choices, depth first. A state that was reached before, by other choices in another order, is not gone through again.
 *
 * That is sound because the state says all: what the store has accepted in order (and so the row), the time, where each request is, and what each caller
 * has seen in order; a caller is deterministic (ids are counted, chance is a half), so that is all of its memory. States are compared as whole texts, by
 * numbers given to texts, never by hashes. What is judged is judged of a state and the event that follows it, and each event of each state is run once.
 * `merge: false` goes through every path by itself: where both are possible, they find the same outcomes.
 *
 * @module
 */
import { Caller } from './caller.ts';
import { type Choice, choices } from './choices.ts';
import type { Scope } from './scope.ts';
import { Names, World } from './world.ts';

export interface SearchOptions {
  /** Default true. */
  readonly merge?: boolean;
  /** Callers are called by the order in which they begin. Default true. */
  readonly symmetric?: boolean;
  readonly drainByTurns?: boolean;
  /** Of a processor's time; then it is not complete. */
  readonly mostSeconds?: number;
}

export interface Found {
  readonly scope: string;
  readonly runs: number;
  readonly states: number;
  /** Interleavings: paths through the states. */
  readonly paths: number;
  readonly events: number;
  /** Points at which each fault happened: states it was brought about in. */
  readonly faults: ReadonlyMap<string, number>;
  readonly outcomes: ReadonlySet<string>;
  /** The first that was found. */
  readonly violation?: { readonly wrong: readonly string[]; readonly path: readonly number[] };
  /** Of processors: others may be at work on the machine. */
  readonly seconds: number;
  /** Everything was gone through. */
  readonly complete: boolean;
}

interface Node {
  readonly key: string;
  readonly size: number;
  taken: number;
  paths: number;
}

const UNDER_WAY = -1;
const MOST_EVENTS = 5_000;
const GRACE_MS = 1_500;

export async function search(scope: Scope, options: SearchOptions = {}): Promise<Found> {
  const { merge = true, symmetric = true, drainByTurns = false, mostSeconds = Number.POSITIVE_INFINITY } = options;
  const names = new Names();
  const known = new Map<string, number>();
  const outcomes = new Set<string>();
  const faults = new Map<string, number>();
  const stack: Node[] = [];
  const began = process.cpuUsage();
  const seconds = (): number => {
    const { user, system } = process.cpuUsage(began);
    return (user + system) / 1_000_000;
  };
  let [runs, events, paths] = [0, 0, 0];
  const found = (more: Pick<Found, 'complete' | 'violation'>): Found => ({
    scope: scope.name,
    runs,
    states: known.size,
    paths,
    events,
    faults,
    outcomes,
    seconds: seconds(),
    ...more,
  });
  const credit = (count: number): void => {
    const top = stack.at(-1);
    if (top === undefined) paths += count;
    else top.paths += count;
  };
  // A refusal is part of normal life here, and where it was made is not asked.
  Error.stackTraceLimit = 0;
  for (;;) {
    if (runs % 64 === 0 && seconds() > mostSeconds) return found({ complete: false });
    runs += 1;
    const world = new World(scope, names, drainByTurns);
    const violation = () => ({ wrong: [...new Set(world.wrong)], path: stack.map(({ taken }) => taken) });
    for (const [n, node] of stack.entries()) {
      const possible = choices(world, symmetric);
      const isLast = n === stack.length - 1;
      // What is not the same again cannot be searched.
      if (possible.length !== node.size || (isLast && world.key() !== node.key))
        throw new Error(`${scope.name}: the same path led elsewhere: ${violation().path}`);
      const choice = possible[node.taken] as Choice;
      if (isLast) count(faults, choice);
      await choice.happens();
      events += 1;
    }
    for (;;) {
      if (world.wrong.length > 0) return found({ complete: false, violation: violation() });
      const key = world.key();
      const before = merge ? known.get(key) : undefined;
      if (before === UNDER_WAY) throw new Error(`${scope.name}: it goes round in a circle: ${violation().path}`);
      if (before !== undefined) {
        credit(before);
        break;
      }
      const possible = choices(world, symmetric);
      if (possible.length === 0) {
        await finish(world);
        outcomes.add(world.play.summary());
        if (world.wrong.length > 0) return found({ complete: false, violation: violation() });
        known.set(key, 1);
        credit(1);
        break;
      }
      known.set(key, UNDER_WAY);
      stack.push({ key, size: possible.length, taken: 0, paths: 0 });
      if (stack.length > MOST_EVENTS) throw new Error(`${scope.name}: no end after ${MOST_EVENTS} events`);
      const choice = possible[0] as Choice;
      count(faults, choice);
      await choice.happens();
      events += 1;
    }
    // What nobody handles is told between turns of the event loop.
    await new Promise((resolve) => setImmediate(resolve));
    for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
      top.taken += 1;
      if (top.taken < top.size) break;
      stack.pop();
      known.set(top.key, top.paths);
      credit(top.paths);
    }
    if (stack.length === 0) return found({ complete: true });
  }
}

function count(faults: Map<string, number>, { fault }: Choice): void {
  if (fault !== undefined) faults.set(fault, (faults.get(fault) ?? 0) + 1);
}

/** All has happened that could. A fresh caller meets no fault: within a lease it has the outcome, or the lease. */
async function finish(world: World): Promise<void> {
  for (const caller of world.callers) if (caller.busy) world.wrong.push(`I10 ${caller.name} does not end, and nothing can happen any more`);
  const fromMs = world.nowMs;
  const last = new Caller(world, 'last');
  world.callers.push(last);
  await world.begins(last);
  for (let events = 0; last.busy && events < MOST_EVENTS; events++) {
    const [message] = last.messages;
    if (message !== undefined) await world.moves(last, message);
    else if (last.goOn !== undefined) await world.goesOn(last);
    else if (last.firstTimer() !== undefined) await world.ticks(last);
    else break;
  }
  if (last.busy) world.wrong.push('I10 the last call does not end');
  if (world.nowMs - fromMs > world.scope.leaseMs + GRACE_MS) world.wrong.push(`I10 the last call took ${world.nowMs - fromMs} ms`);
  world.play.ended(last);
}

/** One path, event by event. */
export async function retrace(
  scope: Scope,
  path: readonly number[],
  symmetric = true,
): Promise<{ readonly labels: string[]; readonly wrong: string[] }> {
  const world = new World(scope, new Names());
  const labels: string[] = [];
  for (const taken of path) {
    const choice = choices(world, symmetric)[taken];
    if (choice === undefined) throw new Error(`after ${labels.length} events there is no choice ${taken}`);
    await choice.happens();
    const { standing } = world;
    labels.push(
      `${String(world.nowMs - world.startMs).padStart(6)} ms  ${choice.label.padEnd(40)} ${standing === undefined ? '' : `${standing.state} ${standing.owner} ${standing.token}`}`,
    );
  }
  if (choices(world, symmetric).length === 0) {
    await finish(world);
    labels.push(`the end: ${world.play.summary()}`);
  }
  return { labels, wrong: [...new Set(world.wrong)] };
}
