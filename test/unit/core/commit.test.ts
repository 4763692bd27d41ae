import { describe, expect, it } from 'vitest';
import { writeUnknown } from '../../../src/core/errors.ts';
import type { CommitRequest, Run } from '../../../src/index.ts';
import { bench, eventsOf, held, inTime } from './engine.ts';

type Bench = ReturnType<typeof bench>;

/** A transaction of the record and one business row, as a store would write it. */
function transaction(b: Bench) {
  const rows: string[] = [];
  const send = async ({ id, record, version }: CommitRequest, row = 'row') => {
    const result = version === undefined ? await b.store.create(id, record) : await b.store.replace(id, record, version);
    if (result.ok) rows.push(row);
    return result;
  };
  return { rows, send };
}

describe('run.commit', () => {
  it('is the completion: one write, and what the work does afterwards changes nothing', async () => {
    const b = bench();
    const { rows, send } = transaction(b);
    const result = await b.run(async (run: Run<string>) => {
      await run.commit('committed', send);
      throw new Error('afterwards');
    });
    expect(result).toMatchObject({ kind: 'completed', value: 'committed', saved: true });
    expect(rows).toEqual(['row']);
    expect(b.store.counts).toMatchObject({ create: 1, replace: 1 });
    expect(await b.run(() => 'again')).toMatchObject({ value: 'committed', replayed: true });
  });

  it.each(['lost-answer', 'retried-lost-answer', 'lost-request'] as const)('I7 meets %s: committed once', async (fault) => {
    const b = bench({ leaseMs: 5_000 });
    const { send } = transaction(b);
    b.plan.replace = { 1: fault };
    expect(
      await inTime(
        b.clock,
        b.run(async (run: Run<string>) => {
          await run.commit('v', send);
          return 'ignored';
        }),
      ),
    ).toMatchObject({ value: 'v', saved: true });
    expect(await b.run(() => 'again')).toMatchObject({ value: 'v', replayed: true });
  });

  it('I4 after a takeover nothing is written, and the work is told', async () => {
    const b = bench({ leaseMs: 1_000, renew: 'none' });
    const { rows, send } = transaction(b);
    const gate = held<void>();
    const first = b.run(async (run: Run<string>) => {
      await gate.work();
      await run.commit('one', send);
      return 'one';
    });
    first.catch(() => {});
    await b.clock.advance(1_001);
    expect(await b.run(() => 'two')).toMatchObject({ value: 'two' });
    gate.end();
    await expect(inTime(b.clock, first)).rejects.toMatchObject({ code: 'LEASE_LOST' });
    expect(rows).toEqual([]);
    expect(await b.run(() => 'three')).toMatchObject({ value: 'two' });
  });

  it('I8 no answer until the lease ends: WRITE_UNKNOWN, also when the work swallows it and returns something else', async () => {
    const b = bench({ leaseMs: 1_000 });
    const result = b.run(async (run: Run<string>) => {
      await run
        .commit('v', async () => {
          throw Object.assign(new (await import('../../../src/index.ts')).RerunSafeError('WRITE_UNKNOWN', 'no answer'));
        })
        .catch(() => {});
      return 'something else';
    });
    await expect(inTime(b.clock, result)).rejects.toMatchObject({ code: 'WRITE_UNKNOWN' });
    expect(b.store.calls.filter((call) => call.record?.state === 'completed')).toEqual([]);
  });

  it.each<[string, () => string]>([
    ['returns', () => 'something else'],
    [
      'throws',
      () => {
        throw new Error('something else');
      },
    ],
  ])('I8 a commit that is in doubt is told as unknown, once, also where the work swallows it and %s', async (_, end) => {
    const b = bench({ leaseMs: 1_000 });
    const events = await eventsOf(() => {
      const run = b.run(async (run: Run<string>) => {
        await run
          .commit('v', async () => {
            throw writeUnknown('the transaction', undefined);
          })
          .catch(() => {});
        return end();
      });
      return inTime(b.clock, run).catch(() => {});
    });
    expect(events).toEqual(['claimed', 'lease-lost', 'unknown']);
  });

  it("the caller's own error from send goes through, nothing is committed, and the attempt goes on", async () => {
    const b = bench();
    const { rows, send } = transaction(b);
    const own = new Error('constraint');
    const result = await b.run(async (run: Run<string>) => {
      await expect(run.commit('v', () => Promise.reject(own))).rejects.toBe(own);
      run.assertHeld();
      await run.commit('second', send);
      return 'ignored';
    });
    expect(result).toMatchObject({ value: 'second', saved: true });
    expect(rows).toEqual(['row']);
  });

  it('after it nothing is held, so no loss is told, however long the work goes on', async () => {
    const b = bench({ leaseMs: 1_000 });
    const { send } = transaction(b);
    const gate = held<void>();
    let aborted: boolean | undefined;
    const events = await eventsOf(async () => {
      const running = b.run(async (run: Run<string>) => {
        await run.commit('v', send);
        await gate.work();
        aborted = run.signal.aborted;
        return 'ignored';
      });
      await gate.started;
      await b.clock.advance(5_000);
      gate.end();
      expect(await inTime(b.clock, running)).toMatchObject({ value: 'v', saved: true });
    });
    expect(aborted).toBe(false);
    expect(events).toEqual(['claimed', 'completed']);
    expect(b.clock.pendingTimers()).toBe(0);
  });

  it('twice is refused', async () => {
    const b = bench();
    const { send } = transaction(b);
    let code: unknown;
    await b.run(async (run: Run<string>) => {
      await run.commit('v', send);
      await run.commit('w', send).catch((error) => {
        code = error.code;
      });
      return 'x';
    });
    expect(code).toBe('DUPLICATE_STEP');
    expect(await b.run(() => 'again')).toMatchObject({ value: 'v' });
  });

  it('a renewal under way does not come between: the commit meets the moved version and is decided anew', async () => {
    const b = bench({ leaseMs: 3_000 });
    const { rows, send } = transaction(b);
    const gate = held<void>();
    b.plan.replace = (_, call) => (call.record?.state === 'running' ? 'lost-answer' : undefined);
    const running = b.run(async (run: Run<string>) => {
      await gate.work();
      await run.commit('v', send);
      return 'ignored';
    });
    await b.clock.advance(2_000);
    gate.end();
    expect(await inTime(b.clock, running)).toMatchObject({ value: 'v', saved: true });
    expect(rows).toEqual(['row']);
  });
});

describe('run.step', () => {
  it('keeps its value for later attempts, by name, and never runs it again', async () => {
    const b = bench();
    const calls: string[] = [];
    const work = async (run: Run) => {
      const one = await run.step('one', () => calls.push('one') && new Date(5));
      const two = await run.step('two', () => calls.push('two') && undefined);
      if (run.attempt === 1) throw new Error('crash');
      return [one, two];
    };
    await expect(b.run(work)).rejects.toThrow('crash');
    expect(await b.run(work)).toMatchObject({ value: [new Date(5), undefined], attempt: 2 });
    expect(calls).toEqual(['one', 'two']);
  });

  it('a name used twice in one attempt is DUPLICATE_STEP; another declared input is STEP_CHANGED; its own throw goes through', async () => {
    const b = bench();
    const thrown = new Error('mine');
    await expect(
      b.run(async (run) => {
        await run.step('a', () => 1);
        await run.step('a', () => 1);
      }),
    ).rejects.toMatchObject({ code: 'DUPLICATE_STEP' });
    await expect(
      b.run(async (run) => {
        await run.step('b', () => 1, { input: 1 });
        throw thrown;
      }),
    ).rejects.toBe(thrown);
    await expect(b.run((run) => run.step('b', () => 1, { input: 2 }))).rejects.toMatchObject({ code: 'STEP_CHANGED' });
    await expect(
      b.run((run) =>
        run.step('c', () => {
          throw thrown;
        }),
      ),
    ).rejects.toBe(thrown);
    expect(await b.run((run) => run.step('c', () => 3))).toMatchObject({ value: 3 });
  });

  it('parallel steps are kept all, none over another', async () => {
    const b = bench();
    const work = async (run: Run) => {
      const all = await Promise.all(['a', 'b', 'c', 'd'].map((name) => run.step(name, async () => (run.attempt === 1 ? name : 'again'))));
      if (run.attempt === 1) throw new Error('crash');
      return all;
    };
    await expect(b.run(work)).rejects.toThrow('crash');
    expect(await b.run(work)).toMatchObject({ value: ['a', 'b', 'c', 'd'] });
  });

  it.each(['lost-answer', 'retried-lost-answer', 'lost-request'] as const)('I7 its write meets %s: kept', async (fault) => {
    const b = bench({ leaseMs: 5_000 });
    b.plan.replace = { 1: fault };
    let runs = 0;
    const work = async (run: Run) => {
      const value = await run.step('s', () => ++runs);
      if (run.attempt === 1) throw new Error('crash');
      return value;
    };
    await expect(inTime(b.clock, b.run(work))).rejects.toThrow('crash');
    expect(await b.run(work)).toMatchObject({ value: 1 });
  });

  it('I12 a write that hangs does not outlast the invocation', async () => {
    const b = bench({ leaseMs: 60_000, renew: 'none' });
    b.plan.replace = (_, call) => (call.record?.steps === undefined ? undefined : 'hang');
    const endsAtMs = b.clock.nowMs() + 1_000;
    const remainingMs = () => endsAtMs - b.clock.nowMs();
    const stepped = b.run((run) => run.step('s', () => 1), { remainingMs });
    await expect(inTime(b.clock, stepped)).rejects.toMatchObject({ code: 'WRITE_UNKNOWN' });
    expect(b.clock.nowMs() - endsAtMs).toBeLessThan(500);
  });

  it('a value that cannot be kept: the first attempt gets it, the next one RESULT_NOT_STORED, and no attempt is made for ever', async () => {
    const b = bench();
    let runs = 0;
    const work = async (run: Run) => {
      await run.step('s', () => {
        runs += 1;
        return () => 1;
      });
      throw new Error('crash');
    };
    await expect(b.run(work)).rejects.toThrow('crash');
    await expect(b.run(work)).rejects.toMatchObject({ code: 'RESULT_NOT_STORED', retryable: false });
    expect(await b.run(work)).toMatchObject({ kind: 'blocked', why: 'step-not-stored' });
    expect(runs).toBe(1);
  });
});
