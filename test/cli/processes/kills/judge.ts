/**
 * What is wrong with what was seen of a kill: nothing, where every promise was held.
 *
 * @module
 */
import type { Seen } from '../witness.ts';
import { type Course, courseOf, EXIT_OF, type Plan, type State } from './plan.ts';

export interface Asked {
  readonly state: State;
  readonly code: number | null;
}

export interface Observed {
  /** undefined: by SIGKILL. */
  readonly first: number | undefined;
  /** Answered while what the killed one held certainly had not run out; else it proves nothing about `running`. */
  readonly now: Asked & { readonly inTime: boolean };
  /** Not asked where the next call began at once. */
  readonly later: Asked | undefined;
  /** `ran`: what it says of itself. */
  readonly next: { readonly code: number | null; readonly ran: boolean };
  readonly last: Asked;
  /** Its processes that nobody ended within the time for it. */
  readonly leftRunning: number;
  /** Of all commands, in the order in which it was written. */
  readonly seen: readonly Seen[];
}

export function judge(plan: Plan, observed: Observed): string[] {
  const course = courseOf(plan);
  return [...truth(plan, observed), ...overlap(plan, observed.seen), ...offCourse(course, plan, observed)];
}

/** Whatever was planned: done is said only of what came to its end with 0, and brought about what it was to. */
function truth({ mode, code, isMissing }: Plan, { now, later, last, seen }: Observed): string[] {
  const complaints: string[] = [];
  const ends = seen.filter(({ what }) => what === 'out');
  const firstPid = seen.find(({ what }) => what === 'in')?.pid;
  const good = ends.filter(({ pid }) => pid !== firstPid || (code === 0 && !isMissing));
  for (const asked of [now, later, last]) {
    if (asked === undefined) continue;
    if (asked.code !== EXIT_OF[asked.state]) complaints.push(`status says ${asked.state}, and exits with ${asked.code}`);
    if (asked.state === 'done' && good.length === 0) complaints.push('status says that it is done, and no command has ended well');
  }
  if (later?.state === 'running') complaints.push('status says that it is running when its lease is over');
  if (mode === 'once' && good.length > 0 && last.state === 'failed') complaints.push('a command has ended well, and status says that it failed');
  return complaints;
}

/** No two at a time, and a token that only grows. */
function overlap({ who }: Plan, seen: readonly Seen[]): string[] {
  const complaints: string[] = [];
  for (const [n, { what, pid, token }] of seen.entries()) {
    if (what !== 'in') continue;
    const earlier = seen.slice(0, n);
    if (earlier.some((one) => one.token >= token)) complaints.push(`the token ${token} is no higher than that of a command before it`);
    const after = seen.slice(n + 1);
    if (who !== 'watcher, then wrapper' && earlier.some((one) => after.some((late) => late.pid === one.pid && late.pid !== pid)))
      complaints.push('a command went on when the next one had begun');
  }
  return complaints;
}

function offCourse(course: Course, { who, onUnknown, mode }: Plan, { first, now, later, next, last, seen, leftRunning }: Observed): string[] {
  const complaints: string[] = [];
  const should = (what: string, is: unknown, wanted: unknown): void => {
    if (is !== wanted) complaints.push(`${what}: ${String(is)}, and should be ${String(wanted)}`);
  };
  should('the exit code of the first', first, course.first);
  // `lapsed` where the answer came late.
  if (now.inTime || now.state !== course.later) should('the state right after', now.state, course.now);
  if (later !== undefined) should('the state after the lease', later.state, course.later);
  should('the exit code of the next', next.code, course.next.code);
  should('whether the next says that it ran', next.ran, course.next.attempt !== undefined);
  should('the state at last', last.state, course.last);
  if (who === 'watcher, then wrapper') should('whether the command goes on', leftRunning > 0, true);
  else should('processes that nobody ended', leftRunning, 0);

  const [one, ...others] = seen.filter(({ what }) => what === 'in');
  const mine = course.command === 'not begun' ? [] : [one];
  const theirs = course.command === 'not begun' ? [one, ...others].filter((each) => each !== undefined) : others;
  should('the commands of the first', mine.filter((each) => each !== undefined).length, mine.length);
  if (mine[0] !== undefined) {
    should('its attempt', mine[0].attempt, mode === 'once' ? 1 : 0);
    const itsEnd = seen.some(({ what, pid }) => what === 'out' && pid === mine[0]?.pid);
    should('whether the first command came to its end', itsEnd, course.command === 'ended');
  }
  should('the commands of the next', theirs.length, course.next.attempt === undefined ? 0 : 1);
  if (course.next.attempt !== undefined && theirs[0] !== undefined)
    should(`the attempt of the next (${mode}, ${onUnknown})`, theirs[0].attempt, course.next.attempt);
  return complaints;
}
