import { describe, expect, it } from 'vitest';
import type { RecordStore, RecordWrite, WriteResult } from '../../../src/core/ports.ts';
import { whenAllHaveLeft, writeRecord } from '../../../src/core/together.ts';
import { memoryStore } from '../../../src/index.ts';
import { sample } from '../../../src/testing/record-store/subject.ts';
import { countedSignal } from './counted-signal.ts';

type WriteAll = NonNullable<RecordStore['batch']>['writeAll'];
const OK: WriteResult = { ok: true, version: 'v' };
const caught = (promise: Promise<unknown>): Promise<unknown> => promise.catch((error: unknown) => error);

/** Takes several in one request; `answer`: what it says. */
function store(answer: WriteAll = (writes) => writes.map(async () => OK)) {
  const asked: (readonly RecordWrite[])[] = [];
  const memory = memoryStore();
  const writeAll: WriteAll = (writes) => {
    asked.push(writes);
    return answer(writes);
  };
  return { asked, store: { ...memory, batch: { create: memory.create, replace: memory.replace, writeAll } } as RecordStore };
}
const write = (id: string, signal?: AbortSignal): RecordWrite => ({ id, record: sample(), ...(signal === undefined ? {} : { signal }) });

describe('what goes to the store in one request', () => {
  it('I12 is each write as it was asked for, with the signal of its caller', async () => {
    const { store: at, asked } = store();
    const { signal } = new AbortController();
    const [one, other] = [write('1'), { ...write('2'), version: 'v1' as never }];
    expect(await Promise.all([writeRecord(at, one, { signal }), writeRecord(at, other, {})])).toEqual([OK, OK]);
    expect(asked).toEqual([[{ ...one, signal }, other]]);
  });

  it('is what began in one turn: what begins in the next has a request of its own, also for the same record', async () => {
    const { store: at, asked } = store();
    const turn = () => Promise.all(['1', '2'].map((id) => writeRecord(at, write(id), {})));
    await turn();
    await turn();
    expect(asked.map((writes) => writes.map(({ id }) => id))).toEqual([
      ['1', '2'],
      ['1', '2'],
    ]);
  });

  it('is of one store alone', async () => {
    const [one, other] = [store(), store()];
    await Promise.all([one, other].flatMap(({ store: at }) => ['1', '2'].map((id) => writeRecord(at, write(id), {}))));
    expect([one.asked.length, other.asked.length]).toEqual([1, 1]);
  });

  it('a store without one, or with a part of it, is asked one by one', async () => {
    const { store: at, asked } = store();
    const { batch, ...without } = at;
    const replace: RecordStore['replace'] = (...call) => at.replace(...call);
    for (const other of [without, { ...at, replace }]) {
      const results = await Promise.all(['1', '2'].map((id) => writeRecord(other, write(`${id} ${'batch' in other}`), {})));
      expect(results.map(({ ok }) => ok)).toEqual([true, true]);
    }
    expect([batch === undefined, asked]).toEqual([false, []]);
  });

  it('I8 whoever is left without an answer is in doubt, and told why', async () => {
    const { store: at } = store(() => [Promise.resolve(OK)]);
    const [one, other] = await Promise.all(['1', '2'].map((id) => caught(writeRecord(at, write(id), {}))));
    expect(one).toEqual(OK);
    expect(other).toMatchObject({
      code: 'WRITE_UNKNOWN',
      message: 'No answer to a write (one of several; the store has not said what became of it): it may have taken effect.',
    });
  });

  it('I8 a store that throws tells everybody the same', async () => {
    const failure = new Error('at once');
    const { store: at } = store(() => {
      throw failure;
    });
    expect(await Promise.all(['1', '2'].map((id) => caught(writeRecord(at, write(id), {}))))).toEqual([failure, failure]);
  });

  it('what it throws of one alone, at once, where it should not, is a rejection', async () => {
    const failure = new Error('at once');
    const create = (): never => {
      throw failure;
    };
    const at = { ...memoryStore(), create } as RecordStore;
    expect(await caught(writeRecord(at, write('1'), {}))).toBe(failure);
  });
});

describe('a request of several', () => {
  it('I12 goes on while one of them waits; then it ends with the reason of the last one', () => {
    const [one, other] = [countedSignal(), countedSignal()];
    const waited = whenAllHaveLeft([write('1', one.signal), write('2', other.signal)]);
    expect([one.listeners(), other.listeners()]).toEqual([1, 1]);
    one.abort('no more');
    expect(waited.signal.aborted).toBe(false);
    other.abort('nor me');
    expect(waited.signal.reason).toBe('nor me');
    waited.done();
  });

  it('I12 that has its answer: nobody listens on', () => {
    const one = countedSignal();
    const waited = whenAllHaveLeft([write('1', one.signal), write('2')]);
    waited.done();
    expect(one.listeners()).toBe(0);
    one.abort('late');
    expect(waited.signal.aborted).toBe(false);
  });

  it('I12 of one caller with several writes: heard once', () => {
    const one = countedSignal();
    const waited = whenAllHaveLeft([write('1', one.signal), write('2', one.signal)]);
    expect(one.listeners()).toBe(1);
    one.abort('no more');
    expect(waited.signal.reason).toBe('no more');
  });

  it('I12 whoever cannot leave waits for ever, and who has left before is not waited for', () => {
    const left = AbortSignal.abort('before');
    expect(whenAllHaveLeft([write('1', left), write('2')]).signal.aborted).toBe(false);
    expect(whenAllHaveLeft([write('1', left), write('2', AbortSignal.abort('too'))]).signal.reason).toBe('before');
    const one = countedSignal();
    const waited = whenAllHaveLeft([write('1', left), write('2', one.signal)]);
    expect(waited.signal.aborted).toBe(false);
    one.abort('no more');
    expect(waited.signal.reason).toBe('no more');
  });
});
