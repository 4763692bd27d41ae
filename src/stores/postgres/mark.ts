/**
 * A savepoint of ours in a transaction that is open: as long as it is there, the transaction is the one that we have begun. Work that ends it, in a
 * text of several statements, takes the savepoint with it, and a new BEGIN does not bring it back.
 *
 * @module
 */
import { sqlStateOf } from './map-error.ts';
import { savepointName } from './savepoint.ts';
import type { Answer, OwnStatement } from './session.ts';

export interface Mark {
  /** Sends `before` and the savepoint in one text. Gives back what `before` answered, statement by statement. */
  set(before: string): Promise<readonly Answer[]>;
  /** Undoes what came after it. */
  back(): Promise<void>;
  /** Fails where the transaction is another one ({@link isEnded}), or has failed. From here on nobody asks again. */
  check(): Promise<void>;
  /** Nobody asks again: it is known by something else. */
  forget(): void;
  commit(): Promise<Answer>;
  rollBack(limits: OwnStatement): Promise<void>;
}

const NO_SUCH_SAVEPOINT = '3B001';
const NO_TRANSACTION = '25P01';

/** The transaction that was begun is over. */
export const isEnded = (error: unknown): boolean => [NO_SUCH_SAVEPOINT, NO_TRANSACTION].includes(sqlStateOf(error) ?? '');

export function markOn(own: (text: string, values?: unknown[], options?: OwnStatement) => Promise<Answer>): Mark {
  const name = savepointName('work');
  let isSet = false;
  /** Several statements in one round trip are answered by an array, and those after one that fails are not run. */
  const all = async (text: string, options?: OwnStatement): Promise<readonly Answer[]> => [await own(text, undefined, options)].flat();
  return {
    async set(before) {
      const answers = await all(`${before}; SAVEPOINT ${name}`);
      isSet = true;
      return answers;
    },
    async back() {
      await own(`ROLLBACK TO SAVEPOINT ${name}`);
    },
    async check() {
      await own(`RELEASE SAVEPOINT ${name}`);
      isSet = false;
    },
    forget() {
      isSet = false;
    },
    async commit() {
      const answers = await all(isSet ? `RELEASE SAVEPOINT ${name}; COMMIT` : 'COMMIT');
      return answers.at(-1) as Answer;
    },
    async rollBack(limits) {
      await all(isSet ? `ROLLBACK TO SAVEPOINT ${name}; ROLLBACK` : 'ROLLBACK', limits);
    },
  };
}
