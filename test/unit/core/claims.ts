import type { Stored, WriteResult } from '../../../src/core/ports.ts';
import type { RecordToWrite } from '../../../src/core/record.ts';
import { type bench, inTime } from './engine.ts';

export type Bench = ReturnType<typeof bench>;
export const fails = (): never => {
  throw new Error('failed');
};
/** What the call threw, or what it gave. */
export const ended = (b: Bench, call: Promise<unknown>): Promise<unknown> =>
  inTime(
    b.clock,
    call.catch((error: unknown) => error),
  );
export const written = ({ store }: Bench): RecordToWrite[] => store.calls.flatMap(({ record }) => (record === undefined ? [] : [record]));
export const operations = ({ store }: Bench): string[] => store.calls.map(({ operation }) => operation);

/** A store under the bench that answers some calls in its own way; undefined: as it would. */
export function answering(b: Bench, replace: (n: number, standing: Stored | undefined) => Promise<WriteResult | undefined>): Bench {
  let n = 0;
  const store = {
    ...b.store,
    replace: async (...[id, record, version, options]: Parameters<typeof b.store.replace>) =>
      (await replace(++n, await b.store.read(id))) ?? b.store.replace(id, record, version, options),
  };
  return { ...b, run: (work, options) => b.run(work, { ...options, store } as never) };
}
