import { describe, expect, it } from 'vitest';
import type { Run } from '../../../src/index.ts';
import { bench, held, inTime } from './engine.ts';

/** A first attempt that ended with no outcome. */
async function lapsed(defaults: Parameters<typeof bench>[0] = {}, kept: Parameters<typeof bench>[1] = {}) {
  const b = bench(defaults, kept);
  b.run(() => new Promise(() => {}), { renew: 'none', leaseMs: 1_000 }).catch(() => {});
  await b.clock.advance(1_001);
  return b;
}

describe('onUnknown that has begun steps', () => {
  it.each<[string, unknown]>([
    ['throws', new Error('down')],
    ['answers nonsense', 'nonsense'],
  ])('I6 and %s beside one that is under way: nobody begins it again before it has ended', async (_, end) => {
    const b = await lapsed({ leaseMs: 5_000 });
    const refund = held<string>();
    let begun = 0;
    const onUnknown = (run: Run) => {
      void run.step('refund', () => {
        begun += 1;
        return refund.work();
      });
      return refund.started.then(() => {
        if (end instanceof Error) throw end;
        return end;
      });
    };
    const options = { onUnknown: onUnknown as never };
    const first = b.run(() => 'work', options);
    first.catch(() => {});
    await refund.started;
    await b.clock.settle();
    expect(await b.run(() => 'work', options)).toMatchObject({ kind: 'in-flight' });
    refund.end('refunded');
    await expect(inTime(b.clock, first)).rejects.toThrow(end instanceof Error ? 'down' : /must answer/);
    await b
      .run((run) => run.step('refund', () => 'again'), { onUnknown: 'retry' })
      .then((result) => expect(result).toMatchObject({ value: 'refunded' }));
    expect(begun).toBe(1);
  });

  it('I3 that left no trace for want of room: the run is blocked, and they are not done again', async () => {
    const b = await lapsed({}, { maxRecordBytes: 3_000 });
    const calls: number[] = [];
    const onUnknown = async (run: Run) => {
      for (let n = 0; n < 40; n++) {
        const count = () => {
          calls[n] = (calls[n] ?? 0) + 1;
          return 'a value of some length, so that there is an end to it';
        };
        await run.step('s', count, { key: n }).catch(() => {});
      }
      throw new Error('nothing found');
    };
    await expect(b.run(() => 'work', { onUnknown: onUnknown as never })).rejects.toThrow('nothing found');
    expect(await b.run(() => 'work', { onUnknown: onUnknown as never })).toMatchObject({ kind: 'blocked', why: 'step-not-stored' });
    expect(calls.every((times) => times === 1)).toBe(true);
  });

  it('messages that no commit has written are no outcome', async () => {
    const b = await lapsed();
    const onUnknown = (run: Run) => {
      run.outbox.add({ topic: 'found', payload: 1 });
      return { done: 'found' };
    };
    await expect(b.run(() => 'work', { onUnknown: onUnknown as never })).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
    expect(await b.run(() => 'work', { onUnknown: 'block' })).toMatchObject({ kind: 'blocked' });
  });
});

describe('what is left to the invocation', () => {
  it('I10 bounds the wait for steps beside a throw', async () => {
    const b = bench({ leaseMs: 30_000 });
    const until = b.clock.nowMs() + 800;
    const run = b.run(
      (own) => {
        void own.step('hangs', () => new Promise(() => {}));
        throw new Error('beside it');
      },
      { remainingMs: () => until - b.clock.nowMs() },
    );
    await expect(inTime(b.clock, run, 800)).rejects.toThrow('beside it');
    expect(b.clock.nowMs()).toBeLessThan(until);
  });

  it('I3 leaves room for the record where the store hangs on its parts: the work is not run again', async () => {
    const b = bench({ leaseMs: 1_200, renew: 'none' }, { inlineBytes: 1_000, maxRecordBytes: 4_000 });
    b.plan.putPart = () => 'hang';
    let runs = 0;
    const work = () => {
      runs += 1;
      return Array.from({ length: 900 }, (_, n) => Math.sin(n));
    };
    const first = b.run(work);
    first.catch(() => {});
    const second = b.run(work, { onInFlight: { waitMs: 10_000 } });
    second.catch(() => {});
    expect(await inTime(b.clock, first)).toMatchObject({ kind: 'completed', saved: true });
    await expect(inTime(b.clock, second)).rejects.toMatchObject({ code: 'RESULT_NOT_STORED' });
    expect(runs).toBe(1);
  });
});
