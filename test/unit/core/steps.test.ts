import { describe, expect, it } from 'vitest';
import { NotDoneError, RerunSafeError, type Run, resolveRun, type Step, type StepOptions } from '../../../src/index.ts';
import { incompressible } from '../../support/incompressible.ts';
import { bench, inTime } from './engine.ts';

const crash = new Error('crash');
const never = <T>(): Promise<T> => new Promise<T>(() => {});

/** An at-most-once step, interrupted in attempts up to `dies`: its lease runs out while it is at work. */
function shipping(dies: number, more: StepOptions<string> = {}) {
  const shipped: Step[] = [];
  const work = (run: Run<string>): Promise<string> =>
    run.step(
      'ship',
      (step) => {
        shipped.push(step);
        return run.attempt <= dies ? never<string>() : `parcel ${run.attempt}`;
      },
      { mode: 'atMostOnce', ...more },
    );
  return { shipped, work };
}

describe("mode: 'atMostOnce'", () => {
  it('writes its mark before the work starts, its value afterwards, and gives that back in later attempts', async () => {
    const b = bench();
    const seen: unknown[] = [];
    const work = async (run: Run<string>): Promise<string> => {
      const value = await run.step(
        'ship',
        async () => {
          const { record } = (await b.store.read((run.fence as { id: string }).id)) as never as { record: { steps: unknown } };
          seen.push(record.steps);
          return 'parcel';
        },
        { mode: 'atMostOnce' },
      );
      if (run.attempt === 1) throw crash;
      return value;
    };
    await expect(b.run(work)).rejects.toBe(crash);
    expect(await b.run(work)).toMatchObject({ value: 'parcel', attempt: 2 });
    expect(seen).toEqual([{ ship: { begun: 1 } }]);
  });

  it('interrupted, and nobody to ask: the run is blocked, and the step is not run again', async () => {
    const b = bench({ renew: 'none' });
    const { shipped, work } = shipping(1);
    void b.run(work).catch(() => {});
    await b.clock.settle();
    await b.clock.advance(1_100);
    expect(await b.run(work)).toMatchObject({ kind: 'blocked', why: 'unknown', attempt: 2 });
    expect(await b.run(work)).toMatchObject({ kind: 'blocked' });
    expect(shipped).toHaveLength(1);
  });

  it("a person's 'not-done' lets it start once more; steps that were finished stay so", async () => {
    const b = bench({ renew: 'none' });
    const { shipped, work } = shipping(1);
    let charges = 0;
    const both = async (run: Run<string>): Promise<string> => `${await run.step('charge', () => ++charges)} ${await work(run)}`;
    void b.run(both).catch(() => {});
    await b.clock.settle();
    await b.clock.advance(1_100);
    expect(await b.run(both)).toMatchObject({ kind: 'blocked' });
    expect(await resolveRun({ store: b.store, operation: 'test/op', key: 'k' }, 'not-done')).toEqual({ kind: 'written' });
    const again = shipping(0);
    const bothAgain = async (run: Run<string>): Promise<string> => `${await run.step('charge', () => ++charges)} ${await again.work(run)}`;
    expect(await b.run(bothAgain)).toMatchObject({ value: '1 parcel 1' });
    expect(shipped).toHaveLength(1);
    expect(charges).toBe(1);
  });

  it.each([
    ['{ done: value } is its value, and the work is not called', { done: 'parcel of attempt 1' } as const, 'parcel of attempt 1', 1],
    ["'not-done' lets it start", 'not-done' as const, 'parcel 2', 2],
  ])('onInterrupted: %s', async (_, answer, value, starts) => {
    const b = bench({ renew: 'none' });
    const asked: Step[] = [];
    const { shipped, work } = shipping(1, {
      onInterrupted: (step) => {
        asked.push(step);
        return answer;
      },
    });
    void b.run(work).catch(() => {});
    await b.clock.settle();
    await b.clock.advance(1_100);
    expect(await b.run(work)).toMatchObject({ kind: 'completed', value });
    expect(shipped).toHaveLength(starts);
    expect(asked).toMatchObject([{ name: 'ship', attempt: 2, key: shipped[0]?.key }]);
    expect(await b.run(work)).toMatchObject({ value, replayed: true });
  });

  it("onInterrupted: 'block', and what is no answer", async () => {
    for (const [answer, end] of [
      ['block', { kind: 'blocked' }],
      ['perhaps', { code: 'INVALID_OPTIONS' }],
      [undefined, { code: 'INVALID_OPTIONS' }],
    ] as const) {
      const b = bench({ renew: 'none' });
      const { shipped, work } = shipping(1, { onInterrupted: () => answer as never });
      void b.run(work).catch(() => {});
      await b.clock.settle();
      await b.clock.advance(1_100);
      expect(await b.run(work).catch((error: unknown) => error)).toMatchObject(end);
      expect(shipped).toHaveLength(1);
    }
  });

  it('a throw says nothing of what was done: the next attempt is interrupted too; a NotDoneError says it', async () => {
    for (const [thrown, starts] of [
      [crash, 1],
      [new NotDoneError('no connection'), 2],
    ] as const) {
      const b = bench();
      let started = 0;
      const work = (run: Run<string>): Promise<string> =>
        run.step(
          'ship',
          () => {
            started += 1;
            if (started === 1) throw thrown;
            return 'parcel';
          },
          { mode: 'atMostOnce' },
        );
      await expect(b.run(work)).rejects.toBe(thrown);
      expect((await b.run(work)).kind).toBe(starts === 2 ? 'completed' : 'blocked');
      expect(started).toBe(starts);
    }
  });

  it('I4 its work does not start when somebody else has taken over before the mark', async () => {
    const b = bench({ renew: 'none' });
    const starts: number[] = [];
    let goOn = (): void => {};
    const paused = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    const work = async (run: Run<string>): Promise<string> => {
      if (run.attempt === 1) await paused;
      return run.step(
        'ship',
        () => {
          starts.push(run.attempt);
          return `parcel ${run.attempt}`;
        },
        { mode: 'atMostOnce' },
      );
    };
    const first = b.run(work);
    await b.clock.settle();
    await b.clock.advance(1_100);
    expect(await b.run(work)).toMatchObject({ value: 'parcel 2' });
    goOn();
    expect(await first.catch((error: unknown) => error)).toMatchObject({ code: 'LEASE_LOST' });
    expect(starts).toEqual([2]);
  });

  it('I7 its mark meets a lost answer: begun once, finished once', async () => {
    const b = bench({ leaseMs: 5_000 });
    b.plan.replace = { 1: 'lost-answer' };
    const { shipped, work } = shipping(0);
    expect(await inTime(b.clock, b.run(work))).toMatchObject({ value: 'parcel 1' });
    expect(shipped).toHaveLength(1);
  });
});

describe('what the work of a step throws is its own', () => {
  it.each(['BLOCKED', 'RESULT_NOT_STORED'] as const)(
    '%s of another run inside of it releases this one: the next attempt may get on',
    async (code) => {
      const b = bench();
      const other = new RerunSafeError(code, 'of another run');
      const work = (run: Run<string>): Promise<string> =>
        run.step('inner', () => {
          if (run.attempt === 1) throw other;
          return 'got on';
        });
      await expect(b.run(work)).rejects.toBe(other);
      expect(await b.run(work)).toMatchObject({ value: 'got on', attempt: 2 });
    },
  );

  it('a NotDoneError goes to the caller, also where its mark cannot be taken back', async () => {
    const b = bench({ leaseMs: 1_000, renew: 'none' });
    const thrown = new NotDoneError('no connection');
    b.plan.replace = (nth) => (nth > 1 ? 'unavailable' : undefined);
    const failing = b.run((run) => run.step('ship', () => Promise.reject(thrown), { mode: 'atMostOnce' }));
    await expect(inTime(b.clock, failing)).rejects.toBe(thrown);
  });
});

describe('steps in a loop', () => {
  it('are told apart by a key, also when items come in another order or are new', async () => {
    const b = bench();
    const sent: string[] = [];
    const work = (items: readonly string[]) => async (run: Run<string[]>) => {
      const values: string[] = [];
      for (const item of items) {
        values.push(
          await run.step(
            'mail',
            (step) => {
              sent.push(`${item} ${step.key}`);
              return `mail to ${item}`;
            },
            { key: item },
          ),
        );
      }
      if (run.attempt === 1) throw crash;
      return values;
    };
    await expect(b.run(work(['a', 'b']))).rejects.toBe(crash);
    expect(await b.run(work(['c', 'b', 'a']))).toMatchObject({ value: ['mail to c', 'mail to b', 'mail to a'] });
    expect(sent.map((line) => line.split(' ')[0])).toEqual(['a', 'b', 'c']);
    expect(new Set(sent.map((line) => line.split(' ')[1])).size).toBe(3);
  });

  it('DUPLICATE_STEP for a key used twice; MISSING_KEY for one that is not there', async () => {
    const b = bench();
    const twice = b.run(async (run) => {
      await run.step('mail', () => 1, { key: ['a', 7] });
      return run.step('mail', () => 2, { key: ['a', 7] });
    });
    await expect(twice).rejects.toMatchObject({ code: 'DUPLICATE_STEP' });
    await expect(b.run((run) => run.step('mail', () => 1, { key: undefined as never }))).rejects.toMatchObject({ code: 'MISSING_KEY' });
  });
});

describe('parallel steps', () => {
  it('that finish while a write is under way share the next one', async () => {
    const b = bench();
    const names = Array.from({ length: 20 }, (_, n) => `s${n}`);
    await b.run((run) => Promise.all(names.map((name) => run.step(name, () => name))));
    const writes = b.store.calls.filter(({ operation }) => operation === 'replace').length;
    // One for the first to finish, one for the others, one for the completion.
    expect(writes).toBeLessThanOrEqual(3);
  });

  it('one that is too large does not take the others with it', async () => {
    const b = bench({ leaseMs: 60_000 });
    const names = ['a', 'large', 'c'];
    const work = async (run: Run) => {
      const values = await Promise.all(
        names.map((name) => run.step(name, () => (name === 'large' ? incompressible(1_200_000) : `${name} ${run.attempt}`))),
      );
      if (run.attempt === 1) throw crash;
      return values;
    };
    await expect(b.run(work)).rejects.toBe(crash);
    const later = b.run(async (run) => [
      await run.step('a', () => 'again'),
      await run.step('c', () => 'again'),
      await run.step('large', () => 'again').catch((error: { code: string }) => error.code),
    ]);
    expect(await later).toMatchObject({ value: ['a 1', 'c 1', 'RESULT_NOT_STORED'] });
  });
});

describe('nonsense', () => {
  it.each([
    ['an unknown option', { once: true }],
    ['an unknown mode', { mode: 'exactlyOnce' }],
    ['onInterrupted where nothing is marked', { onInterrupted: () => 'block' }],
    ['onInterrupted that is no function', { mode: 'atMostOnce', onInterrupted: 'block' }],
  ])('%s is refused, and nothing is run', async (_, options) => {
    const b = bench();
    let runs = 0;
    await expect(b.run((run) => run.step('s', () => ++runs, options as never))).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
    await expect(b.run((run) => run.step('s', 'work' as never))).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
    expect(runs).toBe(0);
  });
});
