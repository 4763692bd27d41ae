/**
 * What parallel branches finish while a write is under way shares the next one.
 *
 * @module
 */

import { bytesOfStep, isNote } from './changes.ts';
import type { MoveResult } from './move.ts';
import type { StoredStep } from './record.ts';
import type { Serial } from './serial.ts';

/** By name; undefined takes its mark back. */
export type StepChanges = ReadonlyMap<string, StoredStep | undefined>;

type Change = readonly [name: string, step: StoredStep | undefined];
type Results = ReadonlyMap<string, MoveResult>;

const NOTHING_TOO_LARGE = { note: Number.POSITIVE_INFINITY, value: Number.POSITIVE_INFINITY };

interface Batch {
  readonly changes: Map<string, StoredStep | undefined>;
  readonly results: Promise<Results>;
}

export class StepWrites {
  readonly #serial: Serial;
  readonly #write: (changes: StepChanges) => Promise<MoveResult>;
  /** Waits for its turn, and takes more until then. */
  #next: Batch | undefined;
  /** The smallest that did not fit by itself, in bytes: what is not smaller does not fit either. For notes there is more room than for values. */
  #tooLarge = NOTHING_TOO_LARGE;

  constructor(serial: Serial, write: (changes: StepChanges) => Promise<MoveResult>) {
    this.#serial = serial;
    this.#write = write;
  }

  async keep(name: string, step: StoredStep | undefined): Promise<MoveResult> {
    this.#next ??= this.#batch();
    const { changes, results } = this.#next;
    changes.set(name, step);
    return (await results).get(name) as MoveResult;
  }

  #batch(): Batch {
    const changes: Batch['changes'] = new Map();
    const written = this.#serial.run(() => {
      this.#next = undefined;
      return this.#write(changes);
    });
    return { changes, results: written.then((result) => this.#each([...changes], result)) };
  }

  /** One of them may be too large for all of them. Each half has a turn of its own: a renewal need not wait for all. */
  async #each(changes: readonly Change[], result: MoveResult): Promise<Results> {
    if (result.kind === 'written' && changes.some(([, step]) => step === undefined)) this.#tooLarge = NOTHING_TOO_LARGE;
    if (result.kind !== 'too-large') return forAll(changes, result);
    if (changes.length === 1) {
      this.#learn(changes[0] as Change);
      return forAll(changes, result);
    }
    const half = Math.ceil(changes.length / 2);
    return new Map([...(await this.#turn(changes.slice(0, half))), ...(await this.#turn(changes.slice(half)))]);
  }

  async #turn(all: readonly Change[]): Promise<Results> {
    const refused = forAll(all, { kind: 'too-large' });
    const changes = all.filter((change) => !this.#cannotFit(change));
    if (changes.length === 0) return refused;
    const result = await this.#serial.run(() => this.#write(new Map(changes)));
    return new Map([...refused, ...(await this.#each(changes, result))]);
  }

  #learn([name, step]: Change): void {
    if (step === undefined) return;
    const kind = isNote(step) ? 'note' : 'value';
    this.#tooLarge = { ...this.#tooLarge, [kind]: Math.min(this.#tooLarge[kind], bytesOfStep(name, step)) };
  }

  #cannotFit([name, step]: Change): boolean {
    return step !== undefined && bytesOfStep(name, step) >= this.#tooLarge[isNote(step) ? 'note' : 'value'];
  }
}

const forAll = (changes: readonly Change[], result: MoveResult): Results => new Map(changes.map(([name]) => [name, result]));
