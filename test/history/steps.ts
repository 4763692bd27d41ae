/**
 * The promises, as far as the steps of one run can show them, by what they did at the far side.
 *
 * @module
 */
import type { Call } from './calls.ts';
import { type Effect, type Event, of, type Told } from './format.ts';
import type { Violation } from './violation.ts';

export interface StepRules {
  /** Steps that are done at most once. */
  readonly atMostOnce?: ReadonlySet<string>;
  /** The run's value is the list of the values of these. */
  readonly steps?: readonly string[];
}

/** `events`: in the order in which they were noted, which is that of the far side. */
export function judgeSteps(
  key: string,
  events: readonly Event[],
  calls: readonly Call[],
  { atMostOnce = new Set(), steps }: StepRules = {},
): Violation[] {
  const effects = of(events, 'effect');
  return [
    ...repeats(key, events, effects, atMostOnce),
    ...values(key, events, effects),
    ...(steps === undefined ? [] : results(key, calls, effects, steps)),
  ];
}

/** An effect happens again only while nobody was told of it; at most once is at most once. */
function repeats(key: string, events: readonly Event[], effects: readonly Effect[], atMostOnce: ReadonlySet<string>): Violation[] {
  const violations: Violation[] = [];
  for (const step of atMostOnce) {
    const shows = effects.filter((effect) => effect.step === step);
    if (shows.length > 1) violations.push({ promise: 'I8', key, says: `${step} is at most once, and was done ${shows.length} times`, shows });
  }
  const resolved = new Map<string, Event>();
  for (const event of events) {
    if (event.what === 'resolved' && !resolved.has(event.step)) resolved.set(event.step, event);
    const earlier = event.what === 'effect' ? resolved.get(event.step) : undefined;
    if (event.what === 'effect' && earlier !== undefined)
      violations.push({
        promise: 'I3',
        key,
        says: `${event.step} had resolved, and was done again in attempt ${event.attempt}`,
        shows: [earlier, event],
      });
  }
  return violations;
}

/** A step has one value for everybody: that of the last time it was done. */
function values(key: string, events: readonly Event[], effects: readonly Effect[]): Violation[] {
  const last = lastOf(effects);
  return of(events, 'resolved')
    .filter(({ step, value }) => value !== last.get(step)?.value)
    .map((event) => otherValue(key, event.step, event.value, last.get(event.step), event));
}

function results(key: string, calls: readonly Call[], effects: readonly Effect[], steps: readonly string[]): Violation[] {
  const last = lastOf(effects);
  return calls.flatMap((call): Violation[] => {
    if (call.end !== 'ok' || call.invoke.op !== 'run') return [];
    const told = call.answer as Told;
    if (told.kind !== 'completed' || !told.saved) return [];
    const value = told.value as readonly (string | undefined)[];
    const violations: Violation[] = [];
    if (value.length !== steps.length) violations.push({ promise: 'I2', key, says: `it completed with ${value.length} values`, shows: [call.by] });
    for (const [n, step] of steps.entries())
      if (value[n] !== last.get(step)?.value) violations.push(otherValue(key, step, value[n], last.get(step), call.by));
    return violations;
  });
}

const lastOf = (effects: readonly Effect[]): ReadonlyMap<string, Effect> => new Map(effects.map((effect) => [effect.step, effect]));

const otherValue = (key: string, step: string, value: string | undefined, last: Effect | undefined, event: Event): Violation => ({
  promise: 'I2',
  key,
  says: `${step} was last done as "${last?.value}", and somebody was given "${value}"`,
  shows: last === undefined ? [event] : [last, event],
});

/** A step of a run has one key at the far side, in every attempt, and nobody else has it. Over the events of all runs. */
export function judgeSentKeys(events: readonly Event[]): Violation[] {
  const keyOf = new Map<string, Event & { sent: string }>();
  const whose = new Map<string, Event & { step: string }>();
  const violations: Violation[] = [];
  for (const event of of(events, 'effect', 'asked')) {
    const { key, step, sent, attempt } = event;
    const name = `${step} of ${key}`;
    const known = keyOf.get(name) ?? event;
    const other = whose.get(sent) ?? event;
    keyOf.set(name, known);
    whose.set(sent, other);
    if (known.sent !== sent)
      violations.push({ promise: 'I7', key, says: `${name} had the key ${known.sent}, and in attempt ${attempt} ${sent}`, shows: [known, event] });
    const otherName = `${other.step} of ${other.key}`;
    if (otherName !== name) violations.push({ promise: 'I7', key, says: `${otherName} and ${name} have the same key`, shows: [other, event] });
  }
  return violations;
}
