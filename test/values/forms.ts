/**
 * The ways in which a value goes into a record, and comes out of it again.
 *
 * @module
 */
import { randomUUID } from 'node:crypto';
import { keyParts, recordId } from '../../src/core/key.ts';
import type { RecordStore, Stored } from '../../src/core/ports.ts';
import type { Outcome } from '../../src/core/record.ts';
import { aesSeal, PermanentError, type RunOnceOptions, type RunResult, tryRunOnce, type Work } from '../../src/index.ts';
import { incompressible } from '../support/incompressible.ts';
import { difference } from '../support/same.ts';
import { spoil } from '../support/spoil.ts';

const OPERATION = 'test/values';
const seal = aesSeal({ keys: { k: Buffer.alloc(32, 7) }, current: 'k' });

/** One record. `calls`: how often work of it was called. */
export interface Case {
  run<T>(work: Work<T>): Promise<RunResult<T>>;
  stands(): Promise<Stored | undefined>;
  calls: number;
}

export function freshCase(store: RecordStore, more: Pick<RunOnceOptions, 'seal'> = {}): Case {
  const key = randomUUID();
  return {
    calls: 0,
    run: <T>(work: Work<T>) => tryRunOnce({ store, operation: OPERATION, key, ...more } as RunOnceOptions<T>, work),
    stands: () => store.read(recordId(OPERATION, [], keyParts(key))),
  };
}

/** What is wrong with it; undefined: nothing. */
type Form = (store: RecordStore, make: () => unknown) => Promise<string | undefined>;

const asResult =
  (kinds: readonly Outcome['kind'][], more: Pick<RunOnceOptions, 'seal'> = {}): Form =>
  async (store, make) => {
    const one = freshCase(store, more);
    let given: unknown;
    const work = (): unknown => {
      one.calls += 1;
      given = make();
      return given;
    };
    const first = await one.run(work);
    if (first.kind !== 'completed' || !first.saved || !Object.is(first.value, given)) return 'the first caller does not get the very value';
    const kind = (await one.stands())?.record.outcome?.kind;
    if (kind === undefined || !kinds.includes(kind)) return `lies there as ${kind}`;
    spoil(given);
    // The second look is at what spoiling the first copy has left.
    for (const look of [1, 2]) {
      const replay = await one.run(work);
      if (replay.kind !== 'completed' || !replay.replayed) return `replay ${look} is ${replay.kind}`;
      const found = difference(replay.value, make());
      if (found !== undefined) return `replay ${look}: ${found}`;
      spoil(replay.value);
    }
    return one.calls === 1 ? undefined : `the work ran ${one.calls} times`;
  };

const asStep =
  (more: Pick<RunOnceOptions, 'seal'> = {}): Form =>
  async (store, make) => {
    const one = freshCase(store, more);
    const crash = new Error('crash');
    let given: unknown;
    const attempt = async (end: (value: unknown) => unknown): Promise<unknown> => {
      let got: unknown;
      const work: Work<unknown> = async (run) => {
        got = await run.step('load', () => {
          one.calls += 1;
          given = make();
          return given;
        });
        return end(got);
      };
      await one.run(work).catch((error: unknown) => {
        if (error !== crash) throw error;
      });
      return got;
    };
    const crashes = (): never => {
      throw crash;
    };
    if (!Object.is(await attempt(crashes), given)) return 'the attempt that has done it does not get the very value';
    spoil(given);
    for (const end of [crashes, () => 'done']) {
      const got = await attempt(end);
      const found = difference(got, make());
      if (found !== undefined) return found;
      spoil(got);
    }
    return one.calls === 1 ? undefined : `its work ran ${one.calls} times`;
  };

const asErrorData: Form = async (store, make) => {
  const one = freshCase(store);
  const thrown = new PermanentError('declined', { code: 'card_declined', data: make() });
  const work = (): never => {
    one.calls += 1;
    throw thrown;
  };
  const first = await one.run(work);
  if (first.kind !== 'failed' || first.error !== thrown) return 'the first caller does not get the very error';
  spoil(thrown.data);
  for (const look of [1, 2]) {
    const replay = await one.run(work);
    if (replay.kind !== 'failed' || !replay.replayed) return `replay ${look} is ${replay.kind}`;
    const { data, code, message } = replay.error as PermanentError;
    if (code !== 'card_declined' || message !== 'declined') return `replay ${look}: another error`;
    const found = difference(data, make());
    if (found !== undefined) return `replay ${look}: ${found}`;
    spoil(data);
  }
  return one.calls === 1 ? undefined : `the work ran ${one.calls} times`;
};

const AROUND = 'as it is written in a letter, '.repeat(300);
const RANDOM = incompressible(6_000);

/** `beside`: what is larger than the store takes into the record. */
export function formsOn({ limits }: RecordStore): Readonly<Record<string, Form>> {
  const beside = limits.parts === undefined ? undefined : incompressible(limits.inlineBytes + 1_000);
  const with_ =
    (form: Form, around: unknown): Form =>
    (store, make) =>
      form(store, () => ({ value: make(), around }));
  return {
    // Text of 100 kB is large by itself, and 10,000 entries.
    'a result': asResult(['value', 'packed', 'parts']),
    "a step's value": asStep(),
    'data of an error': asErrorData,
    'a sealed result': asResult(['sealed', 'parts'], { seal }),
    "a step's sealed value": asStep({ seal }),
    'a large result': with_(asResult(['packed', 'parts']), AROUND),
    'a large result that is not compressed': with_(asResult(['value', 'packed', 'parts']), RANDOM),
    ...(beside === undefined ? {} : { 'a result in parts': with_(asResult(['parts']), beside) }),
  };
}
