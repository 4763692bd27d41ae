/**
 * What is wrong with what was seen of a run: nothing, where every promise was held.
 *
 * @module
 */
import { courseOf, nameOf, type Plan, pointName, STEPS } from './plan.ts';
import type { Effect, End, Line } from './witness.ts';

const AT_MOST_ONCE: ReadonlySet<string> = new Set(STEPS.filter(({ mode }) => mode === 'atMostOnce').map(({ name }) => name));

/** `lines`: of all runs, in the order in which they were written. */
export function judge(plans: readonly Plan[], lines: readonly Line[]): string[] {
  const byRun = new Map(plans.map(({ run }): [string, Line[]] => [run, []]));
  for (const line of lines) byRun.get(line.run)?.push(line);
  const complaints = plans.flatMap((plan) => judgeRun(plan, byRun.get(plan.run) ?? []).map((complaint) => `${nameOf(plan)}: ${complaint}`));
  return [...complaints, ...sharedKeys(lines)];
}

function judgeRun(plan: Plan, lines: readonly Line[]): string[] {
  const effects = lines.filter((line): line is Effect => line.what === 'effect');
  const ends = lines.flatMap((line) => (line.what === 'ended' ? [line.end] : []));
  return [
    ...repeats(plan, lines, effects),
    ...values(lines, effects),
    ...differingEnds(plan, lines, ends, effects),
    ...offCourse(plan, effects, ends),
  ];
}

/** An effect happens again only while nothing says that it was kept; at most once is at most once. */
function repeats({ kills }: Plan, lines: readonly Line[], effects: readonly Effect[]): string[] {
  const complaints: string[] = [];
  for (const step of AT_MOST_ONCE) {
    const times = effects.filter((effect) => effect.step === step).length;
    if (times > 1) complaints.push(`${step} is at most once, and was done ${times} times`);
  }
  for (const [n, line] of lines.entries()) {
    if (line.what !== 'effect') continue;
    const resolved = lines.slice(0, n).find((earlier) => earlier.what === 'resolved' && earlier.step === line.step);
    if (resolved) complaints.push(`${line.step} had resolved, and was done again in attempt ${line.attempt}`);
    if (kills === 'any moment') continue;
    const place = STEPS.findIndex(({ name }) => name === line.step);
    const before = kills.slice(0, line.attempt - 1);
    const keptAt = before.find(({ step, phase }) => step > place || (step === place && (phase === 'kept' || phase === 'resolved')));
    if (keptAt)
      complaints.push(`${line.step} was kept when the run was killed at "${pointName(keptAt)}", and was done again in attempt ${line.attempt}`);
  }
  return complaints;
}

/** A step has one value for everybody: that of the last time it was done. */
function values(lines: readonly Line[], effects: readonly Effect[]): string[] {
  const complaints: string[] = [];
  for (const line of lines) {
    if (line.what === 'resolved') complaints.push(...otherValue(line.step, line.value, effects));
    if (line.what !== 'ended' || line.end.kind !== 'completed') continue;
    const { value } = line.end;
    if (value.length !== STEPS.length) complaints.push(`it completed with ${value.length} values`);
    for (const [n, { name }] of STEPS.entries()) complaints.push(...otherValue(name, value[n], effects));
  }
  return [...new Set(complaints)];
}

function otherValue(step: string, value: string | undefined, effects: readonly Effect[]): string[] {
  const last = effects.findLast((effect) => effect.step === step)?.value;
  return value === last ? [] : [`${step} was last done as "${last}", and somebody was given "${value}"`];
}

function differingEnds({ asks }: Plan, lines: readonly Line[], ends: readonly End[], effects: readonly Effect[]): string[] {
  const hasResolved = (step: string): boolean => lines.some((line) => line.what === 'resolved' && line.step === step);
  if (ends.length === 0) return ['it did not end'];
  const different = [...new Set(ends.map((end) => JSON.stringify(end)))];
  const complaints = different.length === 1 ? [] : [`its callers were told different things: ${different.join(' and ')}`];
  for (const end of ends) {
    if (end.kind === 'other') complaints.push(`a caller was told: ${end.why}`);
    if (end.kind === 'blocked' && asks) complaints.push('it was blocked, though there was somebody to ask');
    if (end.kind === 'blocked' && [...AT_MOST_ONCE].every((step) => hasResolved(step)))
      complaints.push('it was blocked, though all that could block it had resolved');
    if (end.kind === 'completed' && effects.some(({ attempt }) => attempt > end.attempt))
      complaints.push(`something was done after attempt ${end.attempt}, which completed`);
  }
  return complaints;
}

/** Where the points are known, all else is known too. */
function offCourse({ kills, asks }: Plan, effects: readonly Effect[], ends: readonly End[]): string[] {
  if (kills === 'any moment') return [];
  const course = courseOf({ kills, asks });
  const told = (list: readonly { attempt: number; step: string }[]): string => list.map(({ attempt, step }) => `${step} in ${attempt}`).join(', ');
  const complaints: string[] = [];
  if (told(effects) !== told(course.effects)) complaints.push(`done were ${told(effects)}; it should have been ${told(course.effects)}`);
  for (const effect of effects) {
    if (effect.child !== effect.attempt) complaints.push(`the ${effect.child}. process was in attempt ${effect.attempt}`);
  }
  for (const end of ends) {
    if (end.kind === 'other' || (end.kind === course.end && end.attempt === course.attempts)) continue;
    complaints.push(`it ended as ${end.kind} in attempt ${end.attempt}; it should have ${course.end} in ${course.attempts}`);
  }
  return complaints;
}

/** A step of a run has one key, in every attempt, and nobody else has it. */
function sharedKeys(lines: readonly Line[]): string[] {
  const keyOf = new Map<string, string>();
  const whose = new Map<string, string>();
  const complaints: string[] = [];
  for (const line of lines) {
    if (!('key' in line)) continue;
    const step = `${line.step} of ${line.run}`;
    const known = keyOf.get(step) ?? line.key;
    const other = whose.get(line.key) ?? step;
    keyOf.set(step, known);
    whose.set(line.key, other);
    if (known !== line.key) complaints.push(`${step} had the key ${known}, and in attempt ${line.attempt} ${line.key}`);
    if (other !== step) complaints.push(`${other} and ${step} have the same key`);
  }
  return complaints;
}
