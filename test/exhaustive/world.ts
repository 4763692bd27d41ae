/**
 * Callers over one store, in virtual time, where nothing happens by itself: every event is a choice.
 *
 * @module
 */
import type { RecordStore } from '../../src/core/ports.ts';
import type { RecordToWrite, StoredRecord } from '../../src/core/record.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';
import { Caller, type Message } from './caller.ts';
import { Judge } from './judge.ts';
import type { Play, Scope } from './scope.ts';

/** Texts as numbers: two states are the same when their texts are, and not when their hashes are. */
export class Names {
  readonly #ids = new Map<string, number>();

  of(text: string): number {
    let id = this.#ids.get(text);
    if (id === undefined) {
      id = this.#ids.size + 1;
      this.#ids.set(text, id);
    }
    return id;
  }
}

const START_MS = 1_735_689_600_000;

/** Ticks run when no promise callback is left. Core uses neither ticks nor turns of the event loop; `drainByTurns` shows that nothing depends on that. */
const tick = (): Promise<void> => new Promise((resolve) => process.nextTick(resolve));
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

export class World {
  readonly scope: Scope;
  readonly names: Names;
  readonly callers: Caller[];
  readonly store: RecordStore;
  readonly play: Play;
  readonly judge: Judge;
  readonly startMs = START_MS;
  nowMs = START_MS;
  faultsLeft: number;
  /** What the store has accepted, in order, as one number; and what the fenced resource has. */
  accepted = 0;
  standing: StoredRecord | undefined;
  readonly wrong: string[] = [];
  readonly drain: () => Promise<void>;

  constructor(scope: Scope, names: Names, drainByTurns = false) {
    this.scope = scope;
    this.names = names;
    this.faultsLeft = scope.mostFaults;
    this.drain = drainByTurns ? turn : tick;
    this.callers = Array.from({ length: scope.callers }, (_, n) => new Caller(this, 'abc'[n] as string));
    this.store = scope.store(memoryStore({ clock: { nowMs: () => this.nowMs } }), this);
    this.judge = new Judge(scope.kind === 'lease', this.wrong);
    this.play = scope.play(this);
  }

  /** All that decides about what can still happen, and about what will be said of it. */
  key(): string {
    let key = `${this.nowMs - START_MS}|${this.faultsLeft}|${this.accepted}`;
    for (const caller of this.callers) key += `|${caller.key()}`;
    return key;
  }

  accepts(record: RecordToWrite, writer: Caller): void {
    this.accepted = this.names.of(`${this.accepted}/${JSON.stringify(record)}@${this.nowMs}`);
    this.standing = { ...record, writtenAtMs: this.nowMs };
    this.judge.accepts(this.standing, writer.name);
    for (const caller of this.callers) if (caller.busy) this.#sees(caller, record);
  }

  #sees(caller: Caller, record: RecordToWrite): void {
    if (!record.owner.startsWith(`${caller.name}${caller.calls}-`)) caller.sawOther = true;
    if (record.state === 'blocked') caller.sawBlocked = true;
  }

  begins(caller: Caller): Promise<void> {
    caller.calls += 1;
    caller.busy = true;
    caller.wantsToCall = false;
    caller.sawOther = false;
    caller.sawBlocked = false;
    if (this.standing !== undefined) this.#sees(caller, this.standing);
    caller.observes('call');
    void this.play.call(caller).then(() => this.#ended(caller));
    return this.drain();
  }

  #ended(caller: Caller): void {
    caller.busy = false;
    caller.slow = false;
    if (caller.timersSet.length > 0) this.wrong.push(`I12 ${caller.name} left ${caller.timersSet.length} timers behind`);
  }

  /** Its next step: it leaves, is applied, or its answer comes. */
  async moves(caller: Caller, message: Message): Promise<void> {
    if (message.phase === 'made') {
      message.phase = 'left';
      return;
    }
    if (message.phase === 'left') {
      let answer: NonNullable<Message['answer']> | undefined;
      void message.apply().then(
        (value) => {
          answer = { value };
        },
        (thrown: unknown) => {
          answer = { thrown };
        },
      );
      await this.drain();
      if (answer === undefined) throw new Error(`the store did not answer ${message.id}`);
      if (message.settle === undefined) this.#drop(caller, message);
      else this.answers(message, answer);
      return;
    }
    this.#drop(caller, message);
    caller.observes(`${message.id}=${message.answerId}`);
    message.settle?.(message.answer as NonNullable<Message['answer']>);
    await this.drain();
  }

  answers(message: Message, answer: NonNullable<Message['answer']>): void {
    message.phase = 'answered';
    message.answer = answer;
    message.answerId = this.names.of('value' in answer ? JSON.stringify(answer.value) : String(answer.thrown));
  }

  #drop(caller: Caller, message: Message): void {
    caller.messages.splice(caller.messages.indexOf(message), 1);
  }

  goesOn(caller: Caller): Promise<void> {
    const { goOn } = caller;
    caller.goOn = undefined;
    caller.observes('goes on');
    goOn?.();
    return this.drain();
  }

  /** Fires the caller's next timer, when it is due. */
  ticks(caller: Caller): Promise<void> {
    const timer = caller.firstTimer();
    if (timer === undefined) throw new Error(`${caller.name} has no timer`);
    this.nowMs = Math.max(this.nowMs, timer.dueMs);
    caller.forget(timer);
    caller.observes(`timer ${timer.id}`);
    timer.callback();
    return this.drain();
  }

  /** Nobody waits for anything: time passes, until then or until somebody sends something. */
  async passes(untilMs: number): Promise<void> {
    for (;;) {
      let next: Caller | undefined;
      let dueMs = untilMs;
      for (const caller of this.callers) {
        const timer = caller.awake ? caller.firstTimer() : undefined;
        if (timer === undefined || timer.dueMs > dueMs) continue;
        next = caller;
        dueMs = timer.dueMs;
      }
      if (next === undefined) break;
      const before = next.messages.length;
      await this.ticks(next);
      if (next.messages.length > before) return;
    }
    this.nowMs = Math.max(this.nowMs, untilMs);
  }
}
