import { describe, expect, it } from 'vitest';
import type { RecordStore, Stored } from '../../../src/core/ports.ts';
import { nextObservation } from '../../../src/core/waits.ts';
import { virtualClock } from '../../../src/testing/index.ts';
import { inTime } from './engine.ts';

type Look = (n: number) => Promise<Stored | undefined>;
const SEEN = { version: 'v' } as unknown as Stored;
const FIRST_MS = 62.5;

function stage(look: Look = async () => SEEN) {
  const clock = virtualClock();
  const reads: { id: string; atMs: number; signal: AbortSignal | undefined }[] = [];
  const startMs = clock.nowMs();
  const read: RecordStore['read'] = (id, options) => {
    reads.push({ id, atMs: clock.nowMs() - startMs, signal: options?.signal });
    return look(reads.length);
  };
  const store = { read } as RecordStore;
  const wait = (id = 'a', round = 0, signal: AbortSignal = new AbortController().signal) =>
    nextObservation(clock, store, id, round, signal).catch((error: unknown) => error);
  return { clock, reads, wait, store };
}

describe('waiting for somebody else', () => {
  it('I10 all who wait for one record share one look, after the pause of whoever was first', async () => {
    const { clock, reads, wait } = stage();
    const all = Promise.all([wait(), wait('a', 9), wait()]);
    await clock.advance(37);
    expect(reads).toEqual([]);
    expect(await inTime(clock, all, 60_000, 1)).toEqual([SEEN, SEEN, SEEN]);
    expect(reads).toHaveLength(1);
    expect(reads[0]?.atMs).toBeLessThanOrEqual(FIRST_MS);
    expect(clock.pendingTimers()).toBe(0);
  });

  it('another record, or another store, is looked at by itself', async () => {
    const one = stage();
    const both = Promise.all([one.wait('a'), one.wait('b')]);
    await inTime(one.clock, both, 60_000, 1);
    expect(one.reads.map(({ id }) => id).sort()).toEqual(['a', 'b']);
    const two = stage();
    await inTime(two.clock, two.wait('a'), 60_000, 1);
    expect(two.reads).toHaveLength(1);
  });

  it('I3 I8 who comes while a look is under way is told of the next one: nothing that was seen before it came', async () => {
    const LATER = { version: 'later' } as unknown as Stored;
    let answer = (_: Stored): void => {};
    const early = new Promise<Stored>((resolve) => {
      answer = resolve;
    });
    const { clock, reads, wait } = stage((n) => (n > 1 ? Promise.resolve(LATER) : early));
    const first = wait();
    await clock.advance(100);
    expect(reads).toHaveLength(1);
    const second = wait();
    const third = wait();
    answer(SEEN);
    expect(await first).toBe(SEEN);
    expect(await inTime(clock, Promise.all([second, third]), 60_000, 1)).toEqual([LATER, LATER]);
    expect(reads).toHaveLength(2);
  });

  it('the next look is a new one', async () => {
    const { clock, reads, wait } = stage();
    await inTime(clock, wait(), 60_000, 1);
    await inTime(clock, wait('a', 1), 60_000, 1);
    expect(reads).toHaveLength(2);
  });

  it('I12 who gives up is told why at once, and the others go on waiting', async () => {
    const { clock, reads, wait } = stage();
    const controller = new AbortController();
    const reason = new Error('enough');
    const [quits, stays] = [wait('a', 0, controller.signal), wait()];
    await clock.settle();
    controller.abort(reason);
    expect(await quits).toBe(reason);
    expect(await inTime(clock, stays, 60_000, 1)).toBe(SEEN);
    expect(reads).toHaveLength(1);
  });

  it('I12 when the last gives up nobody looks any more, and who comes then starts anew', async () => {
    const { clock, reads, wait } = stage();
    const [one, two] = [new AbortController(), new AbortController()];
    const waiting = [wait('a', 0, one.signal), wait('a', 0, two.signal)];
    await clock.settle();
    one.abort(new Error('one'));
    two.abort(new Error('two'));
    const next = wait('a', 0);
    expect(await Promise.all(waiting)).toMatchObject([{ message: 'one' }, { message: 'two' }]);
    expect(await inTime(clock, next, 60_000, 1)).toBe(SEEN);
    expect([reads.length, clock.pendingTimers()]).toEqual([1, 0]);
    await clock.advance(10_000);
    expect(reads).toHaveLength(1);
  });

  it('I10 who comes in the very moment in which the last gives up is not told of that, and is not looked for twice', async () => {
    const { clock, reads, wait, store } = stage();
    const controller = new AbortController();
    const again = nextObservation(clock, store, 'a', 0, controller.signal).catch(() => wait());
    await clock.settle();
    controller.abort(new Error('enough'));
    await clock.settle();
    const another = wait();
    expect(await inTime(clock, Promise.all([again, another]), 60_000, 1)).toEqual([SEEN, SEEN]);
    expect(reads).toHaveLength(1);
  });

  it('I12 who had given up before does not begin', async () => {
    const { clock, wait } = stage();
    const reason = new Error('before');
    expect(await wait('a', 0, AbortSignal.abort(reason))).toBe(reason);
    expect(clock.pendingTimers()).toBe(0);
  });

  it('I10 a look that hangs is given up, and told; a failure goes to all who wait', async () => {
    const hangs = stage((n) => (n === 1 ? new Promise(() => {}) : Promise.resolve(SEEN)));
    expect(await inTime(hangs.clock, hangs.wait(), 60_000, 1)).toMatchObject({
      code: 'WRITE_UNKNOWN',
      message: expect.stringContaining('no answer within 5000 ms'),
    });
    expect(await inTime(hangs.clock, hangs.wait(), 60_000, 1)).toBe(SEEN);
    const failure = new Error('down');
    const fails = stage(() => Promise.reject(failure));
    expect(await inTime(fails.clock, Promise.all([fails.wait(), fails.wait()]), 60_000, 1)).toEqual([failure, failure]);
  });

  it('I12 a look that is under way when the last gives up is told so, and nothing is left unheard', async () => {
    const unheard: unknown[] = [];
    const listener = (reason: unknown): void => void unheard.push(reason);
    process.on('unhandledRejection', listener);
    const { clock, reads, wait } = stage(() => new Promise(() => {}));
    const controller = new AbortController();
    const waiting = wait('a', 0, controller.signal);
    await clock.advance(100);
    expect(reads[0]?.signal?.aborted).toBe(false);
    controller.abort(new Error('enough'));
    expect(await waiting).toMatchObject({ message: 'enough' });
    await clock.settle();
    expect([reads[0]?.signal?.aborted, clock.pendingTimers()]).toEqual([true, 0]);
    await new Promise((resolve) => setImmediate(resolve));
    process.off('unhandledRejection', listener);
    expect(unheard).toEqual([]);
  });
});
