/**
 * One caller: clocks and timers of its own, and its requests. It is deterministic: what it has seen so far says all of its state.
 *
 * @module
 */
import type { System, Timers } from '../../src/core/ports.ts';
import type { World } from './world.ts';

export interface Timer {
  readonly id: number;
  dueMs: number;
  readonly callback: () => void;
  /** Somebody waits for it: a pause, or the limit of a request. A lease that runs out is not waited for. */
  readonly awaited: boolean;
}

/** A request on its way: it leaves, the store applies it, its answer comes. */
export interface Message {
  readonly id: string;
  readonly what: 'read' | 'create' | 'replace' | 'write';
  readonly apply: () => Promise<unknown>;
  phase: 'made' | 'left' | 'answered';
  /** When its caller gives it up. */
  readonly limit: Timer | undefined;
  /** Answered before that, as all are without a fault: time does not pass its limit. */
  onTime: boolean;
  answer?: { readonly value: unknown } | { readonly thrown: unknown };
  /** The answer, by its content. */
  answerId: number;
  /** undefined: a copy in the network that nobody waits for. */
  readonly settle: ((answer: NonNullable<Message['answer']>) => void) | undefined;
}

export class Caller implements System {
  readonly name: string;
  readonly world: World;
  /** Calls begun. */
  calls = 0;
  /** A call is under way. */
  busy = false;
  wantsToCall = true;
  dead = false;
  pausedAtMs: number | undefined;
  /** Its monotonic clock stands still while it is paused. */
  frozen = false;
  /** Its work takes longer than its lease. */
  slow = false;
  /** All it has seen, in order, as one number. */
  seen = 0;
  /** Since its call began: a row of somebody else stood, a blocked one did. */
  sawOther = false;
  sawBlocked = false;
  /** Its work waits here for the world to go on. */
  goOn: (() => void) | undefined;
  messages: Message[] = [];
  timersSet: Timer[] = [];
  #standstillMs = 0;
  #timers = 0;
  #nonces = 0;
  #sent = 0;

  constructor(world: World, name: string) {
    this.world = world;
    this.name = name;
  }

  readonly clock = { monotonicMs: (): number => this.world.nowMs - this.#standstillMs, wallMs: (): number => this.world.nowMs };
  readonly nonce = (): string => `${this.name}${this.calls}-${++this.#nonces}`;
  readonly random = (): number => 0.5;
  readonly timers: Timers = {
    after: (ms, callback, options) => {
      // As timers do: some time always passes.
      const dueMs = this.world.nowMs + Math.max(1, ms);
      const timer: Timer = { id: ++this.#timers, dueMs, callback, awaited: options?.keepAlive === true };
      this.timersSet.push(timer);
      return () => this.forget(timer);
    },
  };

  get awake(): boolean {
    return !this.dead && this.pausedAtMs === undefined;
  }

  forget(timer: Timer): void {
    const at = this.timersSet.indexOf(timer);
    if (at >= 0) this.timersSet.splice(at, 1);
  }

  /** Whatever it does from here on follows from what it has seen. */
  observes(what: string): void {
    this.seen = this.world.names.of(`${this.seen}/${what}@${this.world.nowMs}`);
  }

  /** The caller's own call of a store. */
  send<T>(what: Message['what'], apply: () => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.messages.push({
        id: `${this.name}:${++this.#sent}`,
        what,
        apply,
        phase: 'made',
        limit: this.timersSet.findLast(({ awaited }) => awaited),
        onTime: true,
        answerId: 0,
        settle: (answer) => ('value' in answer ? resolve(answer.value as T) : reject(answer.thrown)),
      });
    });
  }

  /** For the work: a place where the world may go on before it does. */
  point(): Promise<void> {
    return new Promise((resolve) => {
      this.goOn = resolve;
    });
  }

  firstTimer(): Timer | undefined {
    let first: Timer | undefined;
    for (const timer of this.timersSet) if (first === undefined || timer.dueMs < first.dueMs) first = timer;
    return first;
  }

  wakes(): void {
    const pausedMs = this.world.nowMs - (this.pausedAtMs as number);
    this.pausedAtMs = undefined;
    if (!this.frozen) return;
    this.frozen = false;
    this.#standstillMs += pausedMs;
    for (const timer of this.timersSet) timer.dueMs += pausedMs;
    this.observes(`frozen ${pausedMs}`);
  }

  dies(): void {
    this.dead = true;
    this.busy = false;
    this.timersSet = [];
    this.goOn = undefined;
    // What had left is in the network, and lands; nobody hears of it.
    this.messages = this.messages.filter(({ phase }) => phase === 'left').map((message) => ({ ...message, settle: undefined }));
  }

  /** Apart from what it has seen: where its requests are, and what it has not noticed yet. */
  key(): string {
    let key = `${this.seen}${this.busy ? 'b' : ''}${this.dead ? 'd' : ''}${this.slow ? 's' : ''}${this.sawOther ? 'o' : ''}${this.sawBlocked ? 'k' : ''}`;
    if (this.pausedAtMs !== undefined) key += `${this.frozen ? 'f' : 'p'}${this.pausedAtMs}`;
    for (const { id, phase, onTime, answerId, settle } of this.messages)
      key += `,${id}${phase[0]}${onTime ? '' : '~'}${settle === undefined ? '!' : ''}${answerId}`;
    return key;
  }
}
