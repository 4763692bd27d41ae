/**
 * What is wrong with what was seen of killed runs: the promises of any history, and the course that follows from where each was killed.
 *
 * @module
 */
import { callsOf } from '../history/calls.ts';
import { type Event, of } from '../history/format.ts';
import { judgePromises } from '../history/promises.ts';
import { textOf } from '../history/violation.ts';
import { courseOf, nameOf, type Plan, pointName, STEPS } from './plan.ts';
import { lastEnds } from './witness.ts';

const AT_MOST_ONCE: ReadonlySet<string> = new Set(STEPS.filter(({ mode }) => mode === 'atMostOnce').map(({ name }) => name));

/** `events`: of all runs, in the order in which they were noted. */
export function judge(plans: readonly Plan[], events: readonly Event[]): string[] {
  const byRun = new Map(plans.map(({ run }): [string, Event[]] => [run, []]));
  for (const event of events) byRun.get(event.key)?.push(event);
  const promises = judgePromises(events, { atMostOnce: AT_MOST_ONCE, steps: STEPS.map(({ name }) => name) });
  const courses = plans.flatMap((plan) => {
    const own = byRun.get(plan.run) ?? [];
    return [...keptSteps(plan, own), ...ends(plan, own), ...offCourse(plan, own)].map((complaint) => `${nameOf(plan)}: ${complaint}`);
  });
  return [...promises.map(textOf), ...courses];
}

/** Also what nobody was told of is kept, where it was kept before the kill. */
function keptSteps({ kills }: Plan, events: readonly Event[]): string[] {
  if (kills === 'any moment') return [];
  return of(events, 'effect').flatMap(({ step: name, attempt }) => {
    const place = STEPS.findIndex((step) => step.name === name);
    const isKept = ({ step, phase }: (typeof kills)[number]): boolean =>
      step > place || (step === place && (phase === 'kept' || phase === 'resolved'));
    const keptAt = kills.slice(0, attempt - 1).find(isKept);
    return keptAt === undefined
      ? []
      : [`${name} was kept when the run was killed at "${pointName(keptAt)}", and was done again in attempt ${attempt}`];
  });
}

function ends({ run, asks }: Plan, events: readonly Event[]): string[] {
  const all = lastEnds(events, run);
  const resolved = new Set(of(events, 'resolved').map(({ step }) => step));
  const complaints = all.some(({ end }) => end !== 'unknown') ? [] : ['it did not end'];
  for (const call of all) {
    if (call.end === 'unknown') complaints.push('a caller was told: nothing');
    else if (call.end === 'ok' && call.answer.kind === 'completed') {
      if (!call.answer.saved) complaints.push('a caller was told: not saved');
    } else if (call.end === 'ok') complaints.push('a caller was told: failed');
    else if (call.code !== 'BLOCKED') complaints.push(`a caller was told: ${call.code}`);
    else if (asks) complaints.push('it was blocked, though there was somebody to ask');
    else if ([...AT_MOST_ONCE].every((step) => resolved.has(step))) complaints.push('it was blocked, though all that could block it had resolved');
  }
  return complaints;
}

/** Where the points are known, all else is known too. */
function offCourse({ run, kills, asks }: Plan, events: readonly Event[]): string[] {
  if (kills === 'any moment') return [];
  const course = courseOf({ kills, asks });
  const effects = of(events, 'effect');
  const told = (list: readonly { attempt: number; step: string }[]): string => list.map(({ attempt, step }) => `${step} in ${attempt}`).join(', ');
  const complaints: string[] = [];
  if (told(effects) !== told(course.effects)) complaints.push(`done were ${told(effects)}; it should have been ${told(course.effects)}`);
  for (const { caller, attempt } of effects) if (caller !== String(attempt)) complaints.push(`the ${caller}. process was in attempt ${attempt}`);
  for (const { invoke, by } of callsOf(events)) {
    if (invoke.key !== run || by === undefined) continue;
    const answer = by.what === 'ok' && 'kind' in (by.answer ?? {}) ? (by.answer as { kind: string; attempt?: number }) : undefined;
    const [kind, attempt] = by.what === 'fail' && by.code === 'BLOCKED' ? ['blocked', by.attempt] : [answer?.kind, answer?.attempt];
    if (kind === undefined || (kind === course.end && attempt === course.attempts)) continue;
    complaints.push(`it ended as ${kind} in attempt ${attempt}; it should have ${course.end} in ${course.attempts}`);
  }
  return complaints;
}
