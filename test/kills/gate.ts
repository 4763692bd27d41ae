/**
 * What every call of a life goes through: it is counted, and at one of them the life comes to a halt. For whoever sees only what leaves the process, a
 * life that has halted and one whose process is dead are the same.
 *
 * @module
 */

/** `during`: it has been sent, and nobody has heard of it yet. */
export type Phase = 'before' | 'during' | 'after';
const PHASES: readonly Phase[] = ['before', 'during', 'after'];

/** The n-th call, from 1. */
export interface Point {
  readonly n: number;
  readonly phase: Phase;
  /** Of that call, in the dry run. */
  readonly call: string;
}

export const nameOf = ({ n, phase, call }: Point): string => `${phase} ${call} (call ${n})`;

/** Written at once, so that there is no moment in it. */
export const EFFECT = 'effect ';

/** Every point of a life that made these calls. */
export const pointsOf = (calls: readonly string[]): Point[] =>
  calls.flatMap((call, at) => PHASES.filter((phase) => phase !== 'during' || !call.startsWith(EFFECT)).map((phase) => ({ n: at + 1, phase, call })));

/** Opened for all lives of a process at once. */
export interface Latch {
  readonly opened: Promise<void>;
  open(): void;
}

export function latch(): Latch {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

export class Gate {
  readonly calls: string[] = [];
  /** Those that have come back. */
  readonly answered: string[] = [];
  readonly #point: Point | undefined;
  readonly #send: Latch;
  readonly #goOn: Latch;
  readonly #arrival = latch();
  #halted = false;

  /** `send`: what is to be under way leaves. `goOn`: after a stop. */
  constructor(point?: Point, send: Latch = latch(), goOn: Latch = latch()) {
    this.#point = point;
    this.#send = send;
    this.#goOn = goOn;
  }

  get arrived(): Promise<void> {
    return this.#arrival.opened;
  }

  get goesOn(): Promise<void> {
    return this.#goOn.opened;
  }

  get halted(): boolean {
    return this.#halted;
  }

  /** A call of the store, an effect, a fenced write. */
  async pass<T>(name: string, call: () => Promise<T> | T): Promise<T> {
    // Renewals too: nothing leaves a process that is dead.
    if (this.#halted) await this.#goOn.opened;
    const n = this.calls.push(name);
    const is = (phase: Phase): boolean => this.#point?.n === n && this.#point.phase === phase;
    if (is('before')) await this.#halt();
    if (is('during')) return this.#underWay(name, call);
    try {
      return await call();
    } finally {
      this.answered.push(name);
      if (is('after')) await this.#halt();
      else if (this.#halted) await this.#goOn.opened;
    }
  }

  async #underWay<T>(name: string, call: () => Promise<T> | T): Promise<T> {
    this.#halted = true;
    this.#arrival.open();
    await this.#send.opened;
    const answer = (async () => call())();
    answer.catch(() => {});
    await this.#goOn.opened;
    this.answered.push(name);
    return answer;
  }

  #halt(): Promise<void> {
    this.#halted = true;
    this.#arrival.open();
    return this.#goOn.opened;
  }
}

/** Its calls go through the gate. Whatever it carries besides is found through it, also what a class keeps to itself. */
export function gated<O extends object>(target: O, gate: Gate, names: readonly (keyof O & string)[]): O {
  const through = names.flatMap((name) => {
    const method = target[name] as ((...args: unknown[]) => Promise<unknown>) | undefined;
    if (method === undefined) return [];
    return [[name, (...args: unknown[]) => gate.pass(name, () => method.apply(target, args))] as const];
  });
  return Object.assign(Object.create(target), Object.fromEntries(through));
}
