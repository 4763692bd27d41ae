/**
 * In a worker: places at which it kills itself, around every write of a record and every call of a provider, without a word of it in the example.
 *
 * @module
 */
import { appendFileSync } from 'node:fs';
import type { Shop } from '../../functions/orders/shop.ts';
import type { RecordStore, WriteResult } from '../../src/index.ts';
import type { Dice } from '../../test/simulation/world.ts';

/** In the order in which a run comes by, and how many of a thousand times it ends there. */
const SHARES = {
  'before the claim': 1,
  'after the claim': 2,
  'before a call': 1,
  'in a call': 1,
  'after a call': 1,
  'before a step is kept': 1,
  'after a step was kept': 1,
  'before the completion': 4,
  'after the completion': 4,
} as const;
export type Death = keyof typeof SHARES;
export const DEATHS = Object.keys(SHARES) as Death[];

const IN_A_CALL_MS = 6;

export class Deaths {
  readonly #dice: Dice;
  readonly #notes: string;
  readonly #owners = new Set<string>();

  /** `notes`: a file that outlives the process; a line for each death. */
  constructor(dice: Dice, notes: string) {
    this.#dice = dice;
    this.#notes = notes;
  }

  #draw(place: Death): boolean {
    return this.#dice.chance(SHARES[place] / 1_000);
  }

  #die(place: Death): void {
    appendFileSync(this.#notes, `${place}\n`);
    process.kill(process.pid, 'SIGKILL');
  }

  #mayDie(place: Death): void {
    if (this.#draw(place)) this.#die(place);
  }

  store(store: RecordStore): RecordStore {
    const around = async (record: { readonly owner: string; readonly state: string }, write: () => Promise<WriteResult>): Promise<WriteResult> => {
      const isClaim = !this.#owners.has(record.owner);
      this.#owners.add(record.owner);
      const [before, after]: readonly [Death, Death] = isClaim
        ? ['before the claim', 'after the claim']
        : record.state === 'completed'
          ? ['before the completion', 'after the completion']
          : ['before a step is kept', 'after a step was kept'];
      this.#mayDie(before);
      const written = await write();
      if (written.ok) this.#mayDie(after);
      return written;
    };
    return {
      ...store,
      create: (id, record, options) => around(record, () => store.create(id, record, options)),
      replace: (id, record, version, options) => around(record, () => store.replace(id, record, version, options)),
    };
  }

  shop({ charge, ship, findParcel, mail }: Shop): Shop {
    const around =
      <A extends unknown[], R>(call: (...args: A) => Promise<R>) =>
      async (...args: A): Promise<R> => {
        this.#mayDie('before a call');
        if (this.#draw('in a call')) setTimeout(() => this.#die('in a call'), this.#dice.below(IN_A_CALL_MS));
        const answer = await call(...args);
        this.#mayDie('after a call');
        return answer;
      };
    return { charge: around(charge), ship: around(ship), findParcel: around(findParcel), mail: around(mail) };
  }
}
