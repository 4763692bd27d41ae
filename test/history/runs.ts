/**
 * The promises, as far as what the callers of one run did and were told can show them.
 *
 * @module
 */
import { type Call, linesOf, only } from './calls.ts';
import { type Began, type Event, of, type Told } from './format.ts';
import type { Strikes } from './strikes.ts';
import type { Violation } from './violation.ts';

export interface RunRules {
  /** Requests of one call at most, where nothing goes wrong and nobody is in its way. Absent: not judged. */
  readonly cost?: { readonly writes: number; readonly replay: number };
}

type RunCall = Call<'run'>;
type Ending = RunCall & { readonly end: 'ok' };

export function judgeRun(key: string, events: readonly Event[], calls: readonly Call[], strikes: Strikes, rules: RunRules = {}): Violation[] {
  const runs = only(calls, 'run');
  const told = runs.filter((call): call is Ending => call.end === 'ok' && isOutcome(call.answer));
  const began = of(events, 'began').sort((a, b) => a.atMs - b.atMs);
  return [
    ...agreement(key, runs, told),
    ...nothingLost(key, events, told, runs),
    ...overlaps(key, events, began, strikes),
    ...misled(key, runs),
    ...inputs(key, runs, told),
    ...endless(key, runs, strikes),
    ...of(events, 'left-behind').map((event): Violation => ({ promise: 'I12', key, says: `${event.thing} was left behind`, shows: [event] })),
    ...(rules.cost === undefined ? [] : costs(key, events, calls, rules.cost)),
  ];
}

/** The named exception is no outcome: nobody else can be told of it. */
const isOutcome = (told: Told): boolean => told.kind === 'failed' || told.saved;
const outcomeOf = (told: Told): string => JSON.stringify({ ...told, replayed: undefined, saved: undefined });
const isRefused = (call: Call, code: string): boolean => call.end === 'fail' && call.code === code;

function agreement(key: string, runs: readonly RunCall[], told: readonly Ending[]): Violation[] {
  const violations: Violation[] = [];
  const first = told[0];
  for (const other of told) {
    if (first === undefined || outcomeOf(first.answer) === outcomeOf(other.answer)) continue;
    violations.push({ promise: 'I2', key, says: 'its callers were told different things', shows: [first.by, other.by] });
    const attempts = [first, other].map(({ answer }) => (answer.kind === 'completed' ? answer.attempt : undefined));
    if (attempts[0] !== attempts[1] && !attempts.includes(undefined))
      violations.push({ promise: 'I1', key, says: `attempts ${attempts.join(' and ')} both completed`, shows: [first.by, other.by] });
    break;
  }
  const blocked = runs.find((call) => isRefused(call, 'BLOCKED'));
  if (blocked?.by !== undefined && first !== undefined)
    violations.push({ promise: 'I2', key, says: 'its callers were told different things', shows: [blocked.by, first.by] });
  return violations;
}

function nothingLost(key: string, events: readonly Event[], told: readonly Ending[], runs: readonly RunCall[]): Violation[] {
  const first = told.reduce<Ending | undefined>(
    (earliest, call) => (call.endMs < (earliest?.endMs ?? Number.POSITIVE_INFINITY) ? call : earliest),
    undefined,
  );
  if (first === undefined) return [];
  const { answer, by } = first;
  const violations: Violation[] = [];
  const attempt = answer.kind === 'completed' ? answer.attempt : Number.POSITIVE_INFINITY;
  const later = runs.filter(({ startMs }) => startMs > first.endMs);
  for (const event of of(events, 'began', 'effect')) {
    if (event.attempt > attempt)
      violations.push({ promise: 'I3', key, says: `something was done after attempt ${attempt}, which completed`, shows: [by, event] });
    else if (later.some(({ invoke, startMs, endMs }) => invoke.caller === event.caller && startMs <= event.atMs && event.atMs <= endMs))
      violations.push({ promise: 'I3', key, says: 'a call that came after the outcome was told ran the work', shows: [by, event] });
  }
  for (const call of later) {
    if (call.end === 'ok' && call.answer.kind === 'completed' && !call.answer.replayed)
      violations.push({ promise: 'I3', key, says: 'a call that came after the outcome was told completed anew', shows: [by, call.by] });
  }
  return violations;
}

/** The work begins again only when the one before it is dead, has failed, or has no lease any more. */
function overlaps(key: string, events: readonly Event[], began: readonly Began[], strikes: Strikes): Violation[] {
  const ends = of(events, 'gave-up');
  return began.slice(1).flatMap((next, n): Violation[] => {
    const before = began[n] as Began;
    const violations: Violation[] = [];
    const shows = [before, next];
    if (next.attempt <= before.attempt)
      violations.push({ promise: 'I6', key, says: `attempt ${next.attempt} after attempt ${before.attempt}`, shows });
    const isOver =
      (before.untilMs ?? Number.POSITIVE_INFINITY) <= next.atMs ||
      ends.some(({ attempt, atMs }) => attempt === before.attempt && atMs <= next.atMs) ||
      strikes.killed(before.caller, before.atMs, next.atMs);
    if (!isOver) violations.push({ promise: 'I6', key, says: 'it began again, though nobody was killed, gave up, or had lost its lease', shows });
    return violations;
  });
}

/** Nobody is refused because of a call that there never was. */
function misled(key: string, runs: readonly RunCall[]): Violation[] {
  const reasons = [
    ['IN_FLIGHT', 'I7', 'somebody else has it, it was told, and there was nobody else'],
    ['BLOCKED', 'I8', 'it was told that an attempt before it had no outcome, and there was none'],
  ] as const;
  const earliest = [...runs].sort((a, b) => a.startMs - b.startMs);
  return reasons.flatMap(([code, promise, says]) =>
    runs
      .filter((call) => isRefused(call, code) && !earliest.slice(0, 2).some((other) => other !== call && other.startMs < call.endMs))
      .map((call): Violation => ({ promise, key, says, shows: linesOf(call) })),
  );
}

function inputs(key: string, runs: readonly RunCall[], told: readonly Ending[]): Violation[] {
  const inputOf = ({ invoke }: RunCall): string | undefined => invoke.input;
  const known = told.find((call) => inputOf(call) !== undefined);
  const other = told.find((call) => inputOf(call) !== undefined && known !== undefined && inputOf(call) !== inputOf(known));
  const refused = runs.filter(
    (call) => isRefused(call, 'KEY_REUSED') && runs.every((one) => one.startMs > call.endMs || inputOf(one) === inputOf(call)),
  );
  return [
    ...(known === undefined || other === undefined
      ? []
      : [{ promise: 'I9', key, says: 'calls with different inputs were told an outcome', shows: [...linesOf(known), ...linesOf(other)] } as const]),
    ...refused.map((call): Violation => ({ promise: 'I9', key, says: 'it was refused for another input, and there was none', shows: linesOf(call) })),
  ];
}

function endless(key: string, runs: readonly RunCall[], strikes: Strikes): Violation[] {
  return runs
    .filter(({ by, invoke }) => by === undefined && !strikes.killed(invoke.caller, invoke.atMs))
    .map((call): Violation => ({ promise: 'I10', key, says: 'a call did not end, and nobody had killed it', shows: linesOf(call) }));
}

/** `key` is the run's; its requests are those of the same caller while it was under way, whatever record they were for. */
function costs(key: string, events: readonly Event[], calls: readonly Call[], cost: NonNullable<RunRules['cost']>): Violation[] {
  const runs = only(calls, 'run');
  const requests = only(calls, 'read', 'create', 'replace', 'delete');
  const again = of(events, 'began').length > 1;
  return runs.flatMap((call): Violation[] => {
    if (call.end !== 'ok' || call.answer.kind !== 'completed') return [];
    const own = requests.filter(({ invoke, startMs }) => invoke.caller === call.invoke.caller && call.startMs <= startMs && startMs <= call.endMs);
    const isAlone = runs.every((other) => other === call || other.endMs < call.startMs || other.startMs > call.endMs);
    if (own.some(({ end }) => end !== 'ok') || !isAlone || again) return [];
    const counted = call.answer.replayed ? own : own.filter(({ invoke }) => invoke.op !== 'read');
    const most = call.answer.replayed ? cost.replay : cost.writes;
    if (counted.length <= most) return [];
    return [
      { promise: 'I11', key, says: `${counted.length} requests where ${most} will do`, shows: [...linesOf(call), ...counted.flatMap(linesOf)] },
    ];
  });
}
