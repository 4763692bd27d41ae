/**
 * What parallel branches finish while a write is under way shares the next one.
 *
 * @module
 */
import type { MoveResult } from './attempt.ts';
import type { StoredStep } from './record.ts';
import type { Serial } from './serial.ts';

/** By name; undefined takes its mark back. */
export type StepChanges = ReadonlyMap<string, StoredStep | undefined>;

interface Batch {
  readonly changes: Map<string, StoredStep | undefined>;
  readonly written: Promise<MoveResult>;
}

export class StepWrites {
  readonly #serial: Serial;
  readonly #write: (changes: StepChanges) => Promise<MoveResult>;
  /** Waits for its turn, and takes more until then. */
  #next: Batch | undefined;

  constructor(serial: Serial, write: (changes: StepChanges) => Promise<MoveResult>) {
    this.#serial = serial;
    this.#write = write;
  }

  async keep(name: string, step: StoredStep | undefined): Promise<MoveResult> {
    this.#next ??= this.#batch();
    const { changes, written } = this.#next;
    changes.set(name, step);
    const result = await written;
    if (result.kind !== 'too-large' || changes.size === 1) return result;
    // One of them may be too large for all of them.
    return this.#serial.run(() => this.#write(new Map([[name, step]])));
  }

  #batch(): Batch {
    const changes: Batch['changes'] = new Map();
    const written = this.#serial.run(() => {
      this.#next = undefined;
      return this.#write(changes);
    });
    return { changes, written };
  }
}
