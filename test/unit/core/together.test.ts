import { describe, expect, it } from 'vitest';
import { recordTooNew, writeUnknown } from '../../../src/core/errors.ts';
import type { RecordStore, RecordWrite, WriteResult } from '../../../src/core/ports.ts';
import { whenAllHaveLeft, writeRecord } from '../../../src/core/together.ts';
import { memoryStore, runOnce } from '../../../src/index.ts';
import { faultyStore } from '../../../src/testing/index.ts';
import { sample } from '../../../src/testing/record-store/subject.ts';

type WriteAll = NonNullable<RecordStore['batch']>['writeAll'];

/** Takes several in one request, and tells what was asked of it. `around`: what becomes of such a request. */
function batching(around: (send: () => Promise<WriteResult>[], writes: readonly RecordWrite[]) => ReturnType<WriteAll> = (send) => send()) {
  const memory = memoryStore();
  const asked: string[] = [];
  const create: RecordStore['create'] = (id, record, call) => {
    asked.push('create');
    return memory.create(id, record, call);
  };
  const replace: RecordStore['replace'] = (id, record, version, call) => {
    asked.push('replace');
    return memory.replace(id, record, version, call);
  };
  const writeAll: WriteAll = (writes) => {
    asked.push(`${writes.length}`);
    const send = () =>
      writes.map(({ id, record, version }) => (version === undefined ? memory.create(id, record) : memory.replace(id, record, version)));
    return around(send, writes);
  };
  const store: RecordStore = { ...memory, create, replace, batch: { create, replace, writeAll } };
  return { store, asked };
}

const operation = 'orders/place';
const keys = (count: number): string[] => Array.from({ length: count }, (_, n) => `order ${n}`);
const placed = (store: RecordStore, count: number, done: string[] = []): Promise<string[]> =>
  Promise.all(
    keys(count).map((key) =>
      runOnce({ store, operation, key }, () => {
        done.push(key);
        return `${key} is placed`;
      }),
    ),
  );
const answers = (count: number): string[] => keys(count).map((key) => `${key} is placed`);

describe('writes that begin together', () => {
  it('I11 a hundred runs of one turn are two requests, and a hundred replays one', async () => {
    const { store, asked } = batching();
    expect(await placed(store, 100)).toEqual(answers(100));
    expect(await placed(store, 100)).toEqual(answers(100));
    expect(asked).toEqual(['100', '100', '100']);
  });

  it('as many as fit are one request, and no empty one after it', async () => {
    const { store, asked } = batching();
    await placed(store, 128);
    expect(asked).toEqual(['128', '128']);
  });

  it('I8 a store that answers nothing at all leaves all of them in doubt', async () => {
    const { store } = batching(() => undefined as never);
    const results = await Promise.all(
      ['a', 'b'].map((id) =>
        writeRecord(store, { id, record: sample() }, {}).then(
          () => 'written',
          (error) => error.code,
        ),
      ),
    );
    expect(results).toEqual(['WRITE_UNKNOWN', 'WRITE_UNKNOWN']);
  });

  it('a run by itself asks as ever, and more than fit into one request are several', async () => {
    const { store, asked } = batching();
    await placed(store, 1);
    await placed(store, 300);
    expect(asked).toEqual(['create', 'replace', '128', '128', '44', '128', '128', '43']);
  });

  it('I1 I2 of the same key in one turn, one goes by itself, one runs, and the other is told of it', async () => {
    const { store, asked } = batching();
    const done: string[] = [];
    const call = (key: string): Promise<void> =>
      runOnce({ store, operation, key }, async () => {
        done.push(key);
        await new Promise(setImmediate);
      });
    const all = await Promise.allSettled([...keys(2), ...keys(2)].map(call));
    const codes = all.map((one) => (one.status === 'fulfilled' ? 'ran' : (one.reason as { code: string }).code));
    expect(codes.sort()).toEqual(['IN_FLIGHT', 'IN_FLIGHT', 'ran', 'ran']);
    expect(done.sort()).toEqual(keys(2));
    expect(asked.slice(0, 3)).toEqual(['create', 'create', '2']);
  });

  it('I7 I8 a request whose answer is lost is in doubt for all of them, and each finds its own', async () => {
    let lost = 0;
    const { store } = batching((send) => {
      const answers = send();
      return lost++ > 0 ? answers : answers.map((answer) => answer.then(() => Promise.reject(writeUnknown('the batch', undefined))));
    });
    const done: string[] = [];
    expect(await placed(store, 10, done)).toEqual(answers(10));
    expect(done.sort()).toEqual(keys(10));
    expect(lost).toBeGreaterThan(0);
  });

  it('what is wrong with one row is told to its caller alone, and what is to be asked by itself is', async () => {
    const { store, asked } = batching((send) => {
      const [, , ...rest] = send();
      return [Promise.reject(recordTooNew('is of tomorrow', {})), Promise.resolve(undefined), ...rest];
    });
    const all = await Promise.allSettled(keys(3).map((key) => writeRecord(store, { id: key, record: sample() }, {})));
    expect(all.map((one) => (one.status === 'fulfilled' ? one.value.ok : (one.reason as { code: string }).code))).toEqual([
      'RECORD_TOO_NEW',
      false,
      true,
    ]);
    expect(asked).toEqual(['3', 'create']);
  });

  it('I1 whoever spreads a store, and puts something around its writes, is not passed by', async () => {
    const { store: inner, asked } = batching();
    const at = (id: string): string => `tenant ${id}`;
    const store: RecordStore = {
      ...inner,
      read: (id, call) => inner.read(at(id), call),
      create: (id, record, call) => inner.create(at(id), record, call),
      replace: (id, record, version, call) => inner.replace(at(id), record, version, call),
    };
    await placed(store, 2);
    expect(asked).toEqual(['create', 'create', 'replace', 'replace']);
    expect(await Promise.allSettled([placed(faultyStore(inner, { create: () => 'unavailable' }), 2)])).toMatchObject([{ status: 'rejected' }]);
    await placed({ ...inner }, 3);
    expect(asked.at(-1)).toBe('3');
  });

  it('I12 a store that throws at once, where it should not, is told to its caller and does not end the process', async () => {
    const { store: inner } = batching(() => {
      throw new Error('all at once');
    });
    const create = (): never => {
      throw new Error('at once');
    };
    const store: RecordStore = { ...inner, create, batch: { ...(inner.batch as NonNullable<RecordStore['batch']>), create } };
    await expect(placed(store, 1)).rejects.toThrow('at once');
    await expect(placed(store, 2)).rejects.toThrow('all at once');
  });

  it.each([
    ['too few', (answers: Promise<WriteResult>[]) => answers.slice(0, 1)],
    ['nothing', () => undefined as never],
  ])('I8 a store that has written, and answers %s, leaves the others in doubt, and each finds its own', async (_, cut) => {
    const { store } = batching((send) => cut(send()));
    const all = await Promise.allSettled([placed(store, 2)]);
    expect(all).toMatchObject([all[0]?.status === 'fulfilled' ? { value: answers(2) } : { reason: { code: 'WRITE_UNKNOWN' } }]);
  });

  it.each([
    ['answers that are no promises', (answers: Promise<WriteResult>[]) => answers.map(() => ({ ok: false, reason: 'too-large' }))],
    ['a promise of answers', async (answers: Promise<WriteResult>[]) => answers],
  ])('I12 a store that gives %s ends its callers, and not the process', async (_, odd) => {
    const { store } = batching((send) => odd(send()) as never);
    const all = await Promise.allSettled(keys(2).map((key) => writeRecord(store, { id: key, record: sample() }, {})));
    const told = all.map((one) => (one.status === 'fulfilled' ? one.value : (one.reason as { code: string }).code));
    expect([['WRITE_UNKNOWN', 'WRITE_UNKNOWN'], keys(2).map(() => ({ ok: false, reason: 'too-large' }))]).toContainEqual(told);
  });

  it('a store that is an instance of a class keeps its this', async () => {
    const { store: inner, asked } = batching();
    const { create, replace, writeAll } = inner.batch as NonNullable<RecordStore['batch']>;
    class Batch {
      readonly create = create;
      readonly replace = replace;
      readonly inner = writeAll;
      writeAll(writes: readonly RecordWrite[]): ReturnType<WriteAll> {
        return this.inner(writes);
      }
    }
    await placed({ ...inner, batch: new Batch() }, 2);
    expect(asked).toEqual(['2', '2']);
  });

  it('I12 the request is given up when nobody waits for it any more, and not before; no listener stays behind', async () => {
    const [one, other] = [new AbortController(), new AbortController()];
    const writes = [one, other].map(({ signal }, n) => ({ id: `${n}`, record: sample(), signal }));
    const waited = whenAllHaveLeft(writes);
    one.abort('no more');
    expect(waited.signal.aborted).toBe(false);
    other.abort('nor me');
    expect(waited.signal.reason).toBe('nor me');
    expect(whenAllHaveLeft(writes).signal.aborted).toBe(true);
    const late = whenAllHaveLeft([
      { id: '0', record: sample(), signal: AbortSignal.abort('before') },
      { id: '1', record: sample() },
    ]);
    expect(late.signal.aborted).toBe(false);
    late.done();
  });
});
