import { describe, expect, it } from 'vitest';
import { carried, commitThrough, withoutMessages } from '../../../src/core/commit-through.ts';
import { storeUnavailable, writeUnknown } from '../../../src/core/errors.ts';
import type { RecordStore, WriteResult } from '../../../src/core/ports.ts';
import type { CommitRequest, Run } from '../../../src/core/run.ts';
import { memoryStore } from '../../../src/index.ts';

const WRITTEN: WriteResult = { ok: true, version: 'v' };
const kind = carried<{ readonly table: string }>('fakeStore');
const store = kind.on(memoryStore(), { table: 't' });

/** A run that asks for the commit once, and hands out what came of it. */
function runOf(at: RecordStore = store): { run: Run<number>; ended: unknown[]; values: number[] } {
  const ended: unknown[] = [];
  const values: number[] = [];
  const commit = async (value: number, send: (request: CommitRequest) => Promise<WriteResult>): Promise<void> => {
    values.push(value);
    ended.push(await send({ store: at, id: 'r1_x', messages: [] } as never).catch((error: unknown) => error));
  };
  return { run: { commit } as never, ended, values };
}

describe('what a store carries for its own commit', () => {
  it('is found again on the store and on what is spread from it, not on others, nor by another kind', () => {
    expect([kind.of(store), kind.of({ ...store }), kind.of(memoryStore()), carried('other').of(store)]).toEqual([
      { table: 't' },
      { table: 't' },
      undefined,
      undefined,
    ]);
    expect(kind.madeBy).toBe('fakeStore');
  });
});

describe('a commit by way of the store', () => {
  it('I1 hands the value to the run, and what the store carries, with the request, to the write', async () => {
    const { run, ended, values } = runOf();
    const seen: unknown[] = [];
    await commitThrough({ run, value: 7, kind }, async (internals, request) => {
      seen.push(internals, request.id);
      return WRITTEN;
    });
    expect([values, seen, ended]).toEqual([[7], [{ table: 't' }, 'r1_x'], [WRITTEN]]);
  });

  it.each([[undefined], [{}], [7]])('%j is no run, and nothing is written', async (run) => {
    let writes = 0;
    const count = async (): Promise<WriteResult> => {
      writes += 1;
      return WRITTEN;
    };
    const call = async () => commitThrough({ run: run as never, value: 1, kind }, count);
    await expect(call()).rejects.toMatchObject({ code: 'INVALID_OPTIONS', message: 'commitWith: the run must be an object with commit.' });
    expect(writes).toBe(0);
  });

  it('I1 of a run in another store: refused, with what to do about it', async () => {
    const { run, ended } = runOf(memoryStore());
    let writes = 0;
    const count = async (): Promise<WriteResult> => {
      writes += 1;
      return WRITTEN;
    };
    await commitThrough({ run, value: 1, kind }, count);
    expect(ended).toMatchObject([
      {
        code: 'INVALID_OPTIONS',
        message:
          'commitWith: the run\'s record is kept in the store "memory", and this is the commitWith of fakeStore: take the one that comes with the store (a wrapper around a store must be spread from it, `{ ...store }`). Nothing was written.',
      },
    ]);
    expect(writes).toBe(0);
  });

  it('I12 cancelled before: nothing is written, and the reason is what is thrown', async () => {
    const { run, ended } = runOf();
    const reason = new Error('cancelled');
    let writes = 0;
    const count = async (): Promise<WriteResult> => {
      writes += 1;
      return WRITTEN;
    };
    await commitThrough({ run, value: 1, kind, signal: AbortSignal.abort(reason) }, count);
    expect([ended, writes]).toEqual([[reason], 0]);
  });

  it.each([
    ['did not happen: the reason is what is thrown', storeUnavailable('x', undefined), true],
    ['is in doubt: that is what is thrown', writeUnknown('x', undefined), false],
    ['failed on its own: that is what is thrown', new Error('bug'), false],
  ])('I8 I12 cancelled during a write that %s', async (_, failure, asReason) => {
    const { run, ended } = runOf();
    const controller = new AbortController();
    const reason = new Error('cancelled');
    await commitThrough({ run, value: 1, kind, signal: controller.signal }, async () => {
      controller.abort(reason);
      throw failure;
    });
    expect(ended).toEqual([asReason ? reason : failure]);
    expect(ended[0]).toBe(asReason ? reason : failure);
  });

  it('I8 a write that fails, with nobody who could cancel it: what it threw', async () => {
    const { run, ended } = runOf();
    const failure = storeUnavailable('x', undefined);
    await commitThrough({ run, value: 1, kind }, () => Promise.reject(failure));
    expect(ended[0]).toBe(failure);
  });

  it('a store without an outbox refuses messages, and says how many', () => {
    expect(withoutMessages({ messages: [] } as never, 'redisStore')).toBeUndefined();
    expect(() => withoutMessages({ messages: [{}, {}] } as never, 'redisStore')).toThrow(
      expect.objectContaining({
        code: 'INVALID_OPTIONS',
        message: 'commitWith: redisStore has no outbox, and 2 message(s) were added to it. Nothing was written.',
      }),
    );
  });
});
