import { describe, expect, it } from 'vitest';
import { storeMisconfigured, writeUnknown } from '../../../src/core/errors.ts';
import type { GuardOptions } from '../../../src/core/guard.ts';
import type { WriteResult } from '../../../src/core/ports.ts';
import { type CommitRequest, currentRun, forgetRun, type Run } from '../../../src/index.ts';
import { answering, type Bench, ended } from './claims.ts';
import { bench, inTime } from './engine.ts';
import { runEvents } from './run-events.ts';

type Asked = NonNullable<GuardOptions['onUnknown']>;
const caught = (promise: Promise<unknown>): Promise<unknown> => promise.catch((error: unknown) => error);
const to =
  (b: Bench) =>
  ({ id, record, version }: CommitRequest): Promise<WriteResult> =>
    b.store.replace(id, record, version as never);

/** A first attempt ended with no outcome, and the next caller asks what became of it. */
async function asking(onUnknown: (run: Run, b: Bench) => unknown, options: Partial<GuardOptions> = {}, over: (b: Bench) => Bench = (b) => b) {
  const b = over(bench({ leaseMs: 10_000, renew: 'none', ...options }));
  b.run(() => new Promise(() => {}), { leaseMs: 1_000 }).catch(() => {});
  await b.clock.advance(1_001);
  let ran = 0;
  const { events, stop } = runEvents();
  const answer = await ended(
    b,
    b.run(() => ++ran, { onUnknown: ((run: Run) => onUnknown(run, b)) as Asked }),
  );
  stop();
  return { b, answer, ran, events, names: events.map(({ event }) => event) };
}
/** What the record says to the next caller, who takes nothing for granted. */
const next = (b: Bench): Promise<unknown> => caught(b.run(() => 'next', { onUnknown: 'block' }));

describe('what asking brought to light', () => {
  it.each([[null], [undefined], ['nonsense'], [42], [{}], [() => ({ done: 1 })]])(
    '%j is no answer: it is refused, and still unknown',
    async (answer) => {
      const { b, answer: error, ran, names } = await asking(() => answer);
      expect(error).toMatchObject({
        code: 'INVALID_OPTIONS',
        message: "onUnknown: it must answer { done: value }, 'not-done' or 'block'. The outcome is still unknown.",
      });
      expect([ran, names]).toEqual([0, ['taken-over', 'unknown']]);
      expect(await next(b)).toMatchObject({ kind: 'blocked', why: 'unknown' });
    },
  );

  it('it is asked within its own run', async () => {
    let same: boolean | undefined;
    const { answer } = await asking((run) => {
      same = currentRun() === run;
      return { done: undefined };
    });
    expect(same).toBe(true);
    expect(answer).toMatchObject({ kind: 'completed', value: undefined, saved: true, attempt: 2 });
  });

  it('I6 not done, and the lease has run out meanwhile: the work does not start', async () => {
    const { answer, ran } = await asking(async (_, b) => {
      await b.clock.advance(10_001);
      return 'not-done';
    });
    expect(answer).toMatchObject({ code: 'LEASE_LOST' });
    expect(ran).toBe(0);
  });

  it('I12 not done, and the caller has given up meanwhile: the work does not start, and it is still unknown', async () => {
    const caller = new AbortController();
    const reason = new Error('gone');
    const { b, answer, ran, events } = await asking(
      () => {
        caller.abort(reason);
        return 'not-done';
      },
      { signal: caller.signal },
    );
    expect(answer).toBe(reason);
    expect(ran).toBe(0);
    expect(events.at(-1)).toMatchObject({ event: 'unknown', error: reason, attempt: 2, token: expect.any(Number) });
    expect(await caught(b.run(() => 'next', { onUnknown: 'block', signal: new AbortController().signal }))).toMatchObject({ kind: 'blocked' });
  });

  it('I4 throws after its lease: the caller gets what was thrown, and nothing is written', async () => {
    const thrown = new Error('far side is down');
    const { b, answer, names } = await asking(async (_, at) => {
      await at.clock.advance(10_001);
      throw thrown;
    });
    expect(answer).toBe(thrown);
    expect(names).toEqual(['taken-over', 'lease-lost']);
    expect(b.store.counts.replace).toBe(1);
  });

  it('messages that no commit has written are counted', async () => {
    const { b, answer } = await asking((run) => {
      run.outbox.add({ topic: 'a', payload: 1 });
      run.outbox.add({ topic: 'b', payload: 2 });
      return { done: 1 };
    });
    expect(answer).toMatchObject({
      code: 'INVALID_OPTIONS',
      message: 'test/op: 2 message(s) were added to the outbox, and no commit has written them (runInTransaction, commitWith).',
    });
    expect(await next(b)).toMatchObject({ kind: 'blocked' });
  });

  it.each([
    ['answers', () => 'not-done'],
    ['throws', () => Promise.reject(new Error('afterwards'))],
  ])('I1 what it has committed there and then is the outcome, whatever it %s', async (_, end) => {
    const { b, answer, ran, names } = await asking(async (run, at) => {
      await run.commit('found', to(at));
      return end();
    });
    expect(answer).toMatchObject({ kind: 'completed', value: 'found', replayed: false, saved: true, attempt: 2 });
    expect([ran, names]).toEqual([0, ['taken-over', 'completed']]);
    expect(await next(b)).toMatchObject({ value: 'found', replayed: true });
  });

  it.each(['not-done', 'block', { done: 'other' }])(
    'I8 a commit of which nobody knows whether it happened is said, also when the answer is %j',
    async (end) => {
      const { answer, ran } = await asking(async (run) => {
        await caught(run.commit('found', () => Promise.reject(writeUnknown('the transaction', undefined))));
        return end;
      });
      expect(answer).toMatchObject({ code: 'WRITE_UNKNOWN' });
      expect(ran).toBe(0);
    },
  );
});

describe("'block' as its answer", () => {
  it('says so only when the record is blocked: no answer', async () => {
    const cause = storeMisconfigured('no table.');
    const { answer, names } = await asking((_, b) => {
      b.plan.before = (operation) => {
        if (operation === 'replace') throw cause;
      };
      return 'block';
    });
    expect(answer).toMatchObject({
      code: 'WRITE_UNKNOWN',
      message: 'No answer to a write (blocking the record): it may have taken effect.',
      cause,
    });
    expect(names).not.toContain('blocked');
  });

  it('nor where the store refuses it for its size', async () => {
    const { answer, names } = await asking(
      () => 'block',
      {},
      (b) => answering(b, async (n) => (n === 2 ? { ok: false, reason: 'too-large' } : undefined)),
    );
    expect(answer).toMatchObject({ code: 'WRITE_UNKNOWN', message: 'No answer to a write (blocking the record): it may have taken effect.' });
    expect(names).toEqual(['taken-over']);
  });

  it('I4 nor where somebody else has taken it over', async () => {
    const { answer, names } = await asking(async (_, b) => {
      await forgetRun({ store: b.store, operation: 'test/op', key: 'k', force: true });
      return 'block';
    });
    expect(answer).toMatchObject({ code: 'LEASE_LOST', message: expect.stringContaining('somebody else took it over') });
    expect(names).toEqual(['taken-over', 'lease-lost']);
  });

  it('is told, with the attempt that blocked it', async () => {
    const { b, answer, events } = await asking(() => 'block');
    expect(answer).toEqual({ kind: 'blocked', id: events[0]?.id, why: 'unknown', attempt: 2 });
    expect(events.at(-1)).toMatchObject({ event: 'blocked', attempt: 2 });
    expect(await inTime(b.clock, next(b))).toMatchObject({ kind: 'blocked', why: 'unknown' });
  });
});
