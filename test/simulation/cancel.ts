import type { Dice } from './dice.ts';
import { listenersOf } from './platform.ts';
import type { Process } from './process.ts';

export const CANCELLED = new Error('cancelled by the caller');

/** A caller who may think better of it. */
export class Cancel {
  readonly #controller = new AbortController();
  readonly #stop: () => void = () => {};

  /** Without dice it never does. */
  constructor(name: string, process: Process, dice: Dice | undefined, withinMs: number) {
    const { world } = process;
    if (dice?.chance(0.15) !== true) return;
    const cancel = (): void => {
      if (world.happenings.allows(`${name} cancelled`)) this.#controller.abort(CANCELLED);
    };
    this.#stop = world.after(dice.between(0, withinMs), cancel, process);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** How many still listen. */
  end(): number {
    this.#stop();
    return listenersOf(this.#controller.signal);
  }
}
