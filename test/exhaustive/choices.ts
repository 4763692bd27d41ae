/**
 * Everything that can happen next.
 *
 * @module
 */
import { storeUnavailable, writeUnknown } from '../../src/core/errors.ts';
import type { Caller, Message } from './caller.ts';
import type { Fault } from './scope.ts';
import type { World } from './world.ts';

export interface Choice {
  readonly label: string;
  readonly fault?: Fault;
  readonly happens: () => Promise<void> | void;
}

/** In an order that depends on the state alone. None: all is over. */
export function choices(world: World, symmetric = true): Choice[] {
  const events: Choice[] = [];
  for (const caller of world.callers) {
    if (mayBegin(world, caller)) {
      events.push({ label: `${caller.name} calls`, happens: () => world.begins(caller) });
      // Callers differ in their name alone: whoever is the first to call is called a, the second b.
      if (symmetric && caller.calls === 0) break;
    }
  }
  for (const caller of world.callers) {
    for (const message of caller.messages) {
      const { id, what, phase } = message;
      if (phase === 'left') events.push({ label: `${id} (${what}) is applied`, happens: () => world.moves(caller, message) });
      else if (caller.awake)
        events.push({ label: `${id} (${what}) ${phase === 'made' ? 'leaves' : 'is answered'}`, happens: () => world.moves(caller, message) });
    }
    if (caller.goOn !== undefined && caller.awake) events.push({ label: `the work of ${caller.name} goes on`, happens: () => world.goesOn(caller) });
    if (caller.pausedAtMs !== undefined && world.nowMs > caller.pausedAtMs + world.scope.leaseMs)
      events.push({ label: `${caller.name} wakes`, happens: () => caller.wakes() });
  }
  passing(world, events);
  if (events.length > 0 && world.faultsLeft > 0) for (const fault of world.scope.faults) FAULT_CHOICES[fault](world, events);
  return events;
}

function mayBegin(world: World, caller: Caller): boolean {
  if (caller.busy || !caller.awake) return false;
  return caller.calls === 0 || (caller.wantsToCall && caller.calls < world.scope.calls);
}

/** For time: a pause, or an answer that may come too late. One that comes on time takes none of itself. */
const waits = ({ timersSet, messages }: Caller): boolean =>
  timersSet.some((timer) => timer.awaited && !messages.some(({ onTime, limit }) => onTime && limit === timer));

/** Time passes to the next timer where somebody waits for one, and never past the limit of a request that is answered on time. */
function passing(world: World, events: Choice[]): void {
  const { callers, nowMs, scope, standing } = world;
  const awake = callers.filter((caller) => caller.awake);
  let nextMs = Number.POSITIVE_INFINITY;
  for (const caller of awake) nextMs = Math.min(nextMs, caller.firstTimer()?.dueMs ?? nextMs);
  const isRenewed = scope.horizonMs !== undefined && (nextMs <= world.startMs + scope.horizonMs || events.length === 0);
  const isWaiting = isRenewed || awake.some((caller) => waits(caller) || (caller.slow && caller.goOn !== undefined));
  for (const caller of awake) {
    const timer = caller.firstTimer();
    if (timer === undefined || timer.dueMs > Math.max(nowMs, nextMs) || (timer.dueMs > nowMs && !isWaiting)) continue;
    if (caller.messages.some(({ limit, onTime }) => onTime && limit === timer)) continue;
    events.push({ label: `timer of ${caller.name}`, happens: () => world.ticks(caller) });
  }
  if (awake.some((caller) => caller.busy && (waits(caller) || caller.messages.some(({ onTime }) => onTime)))) return;
  if (awake.some((caller) => caller.goOn !== undefined && !caller.slow)) return;
  const asleep = callers.filter(({ pausedAtMs }) => pausedAtMs !== undefined && nowMs <= pausedAtMs + scope.leaseMs);
  const lapsesAtMs = standing === undefined || standing.state !== 'running' ? 0 : standing.writtenAtMs + standing.leaseMs;
  const isAwaited = lapsesAtMs >= nowMs && awake.some((caller) => mayBegin(world, caller) || caller.slow);
  if (asleep.length === 0 && !isAwaited) return;
  const untilMs = Math.max(lapsesAtMs, ...asleep.map(({ pausedAtMs = 0 }) => pausedAtMs + scope.leaseMs)) + 1;
  events.push({ label: "the lease's time passes", happens: () => world.passes(untilMs) });
}

type Offers = (world: World, events: Choice[]) => void;

const ofMessages =
  (fault: Fault, applies: (message: Message) => boolean, happens: (world: World, message: Message, caller: Caller) => void): Offers =>
  (world, events) => {
    for (const caller of world.callers) {
      for (const message of caller.messages) {
        if (message.settle === undefined || caller.dead || !applies(message)) continue;
        events.push({
          label: `FAULT ${fault}: ${message.id} (${message.what})`,
          fault,
          happens: () => {
            world.faultsLeft -= 1;
            happens(world, message, caller);
          },
        });
      }
    }
  };

const ofCallers =
  (fault: Fault, applies: (caller: Caller) => boolean, happens: (caller: Caller, world: World) => void): Offers =>
  (world, events) => {
    for (const caller of world.callers) {
      if (!caller.busy || !caller.awake || !applies(caller)) continue;
      events.push({
        label: `FAULT ${fault}: ${caller.name}`,
        fault,
        happens: () => {
          world.faultsLeft -= 1;
          happens(caller, world);
        },
      });
    }
  };

const inNetwork = ({ phase }: Message): boolean => phase === 'left';
const writeInNetwork = ({ phase, what }: Message): boolean => phase === 'left' && what !== 'read';
const unanswered = (world: World, message: Message): void =>
  world.answers(message, { thrown: writeUnknown(`${message.what} without an answer`, undefined) });
const copied = (caller: Caller, message: Message): void => {
  caller.messages.push({ ...message, id: `${message.id}'`, settle: undefined });
};

const sleeps = (caller: Caller, world: World, frozen: boolean): void => {
  caller.pausedAtMs = world.nowMs;
  caller.frozen = frozen;
  for (const message of caller.messages) message.onTime = false;
};

const FAULT_CHOICES: Readonly<Record<Fault, Offers>> = {
  'lost-answer': ofMessages('lost-answer', ({ phase, answer }) => phase === 'answered' && answer !== undefined && 'value' in answer, unanswered),
  'lost-request': ofMessages('lost-request', inNetwork, unanswered),
  unavailable: ofMessages('unavailable', inNetwork, (world, message) => world.answers(message, { thrown: storeUnavailable('refused', undefined) })),
  duplicate: ofMessages('duplicate', writeInNetwork, (_, message, caller) => copied(caller, message)),
  late: ofMessages('late', writeInNetwork, (world, message, caller) => {
    copied(caller, message);
    unanswered(world, message);
  }),
  slow: ofMessages(
    'slow',
    ({ onTime }) => onTime,
    (_, message) => {
      message.onTime = false;
    },
  ),
  crash: ofCallers(
    'crash',
    () => true,
    (caller) => caller.dies(),
  ),
  pause: ofCallers(
    'pause',
    () => true,
    (caller, world) => sleeps(caller, world, false),
  ),
  freeze: ofCallers(
    'freeze',
    () => true,
    (caller, world) => sleeps(caller, world, true),
  ),
  'slow-work': ofCallers(
    'slow-work',
    ({ goOn, slow }) => goOn !== undefined && !slow,
    (caller) => {
      caller.slow = true;
    },
  ),
};
