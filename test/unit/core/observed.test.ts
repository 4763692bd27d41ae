import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { afterEach, describe, expect, it } from 'vitest';
import { withLease } from '../../../src/core/lease.ts';
import { type CallMessage, observed } from '../../../src/core/observed.ts';
import { storeLeases } from '../../../src/core/store-leases.ts';
import { memoryStore } from '../../../src/stores/memory/index.ts';
import { bench } from './engine.ts';

const RUN = { kind: 'run', operation: 'o', id: 'r1_x', store: 'memory' } as const;

const stops: (() => void)[] = [];
afterEach(() => {
  for (const stop of stops.splice(0)) stop();
});

function observe(hear: (message: CallMessage) => void): void {
  const listener = hear as (message: unknown) => void;
  subscribe('rerunsafe:call', listener);
  stops.push(() => unsubscribe('rerunsafe:call', listener));
}

/** Warnings of this process, while it lasts. */
async function warnings(body: () => Promise<unknown>): Promise<string[]> {
  const heard: string[] = [];
  const listener = ({ message, ...more }: Error): void => void heard.push(`${(more as { code?: string }).code}: ${message}`);
  process.on('warning', listener);
  await body();
  await new Promise(setImmediate);
  process.off('warning', listener);
  return heard;
}

describe('who observes a call', () => {
  // The first here: it is warned about once in a process.
  it('one that throws, before or after it has begun the call, is warned about once; the others go on around it', async () => {
    const seen: string[] = [];
    observe(({ around }) =>
      around((call) => {
        seen.push('inner');
        return call();
      }),
    );
    observe(({ around }) =>
      around(() => {
        throw new Error('broken');
      }),
    );
    const heard = await warnings(async () => {
      expect(await observed(RUN, () => 1)).toBe(1);
      expect(await observed(RUN, () => 2)).toBe(2);
    });
    expect(seen).toEqual(['inner', 'inner']);
    expect(heard).toEqual(['RERUNSAFE_OBSERVER: Who observes the calls has thrown; the call goes on without. Error: broken']);
  });

  it('I11 nobody: neither run nor step nor lease publishes anything, and the work of a step is handed on as it is', async () => {
    const b = bench();
    expect(await b.run((run) => run.step('s', () => 1))).toMatchObject({ value: 1 });
    expect(await withLease(storeLeases(memoryStore()), 'job', {}, () => 2)).toMatchObject({ value: 2 });
  });

  it('begins it, in the order in which it was asked, sees how it ends, and changes nothing of it', async () => {
    const seen: string[] = [];
    for (const name of ['inner', 'outer']) {
      observe(({ around }) =>
        around((call) => {
          seen.push(`${name} begins`);
          call().then(
            (value) => seen.push(`${name}: ${value}`),
            () => {},
          );
          seen.push(`${name} has begun`);
          return 'something else';
        }),
      );
    }
    const work = (): string => {
      seen.push('the call');
      return 'v';
    };
    expect(await observed(RUN, work)).toBe('v');
    await new Promise(setImmediate);
    expect(seen.slice(0, 5)).toEqual(['outer begins', 'inner begins', 'the call', 'inner has begun', 'outer has begun']);
    expect(seen.slice(5).sort()).toEqual(['inner: v', 'outer: v']);
  });

  it.each<[string, (call: () => Promise<unknown>) => unknown]>([
    ['never begins it', () => undefined],
    ['begins it twice', (call) => [call(), call()]],
    ['begins it a while later', (call) => setImmediate(call)],
    ['fails a while later', (call) => call().then(() => Promise.reject(new Error('mine')))],
  ])('I4 one that %s: the call begins once, and its caller gets what came out of it', async (_, wrap) => {
    observe(({ around }) => around(wrap));
    const unhandled: unknown[] = [];
    const listener = (error: unknown): void => void unhandled.push(error);
    process.on('unhandledRejection', listener);
    let calls = 0;
    expect(await observed(RUN, () => ++calls)).toBe(1);
    await new Promise(setImmediate);
    process.off('unhandledRejection', listener);
    expect([calls, unhandled]).toEqual([1, []]);
  });

  it('I4 one whose work asks for the call from inside of it: it begins once', async () => {
    let again: () => Promise<unknown> = async () => {};
    observe(({ around }) =>
      around((call) => {
        again = call;
        return call();
      }),
    );
    let calls = 0;
    const run = observed(RUN, () => {
      void again();
      return ++calls;
    });
    expect([await run, calls]).toEqual([1, 1]);
  });

  it('one that asks for it when the call has begun is too late for this one', async () => {
    let late: CallMessage['around'] = () => {};
    observe(({ around }) => {
      late = around;
    });
    let wrapped = 0;
    const run = observed(RUN, () => 1);
    late(() => ++wrapped);
    expect([await run, wrapped]).toEqual([1, 0]);
  });

  it('what the call throws, at once or later, reaches its caller untouched', async () => {
    observe(({ around }) => around((call) => call().catch(() => {})));
    const thrown = new Error('mine');
    await expect(
      observed(RUN, () => {
        throw thrown;
      }),
    ).rejects.toBe(thrown);
    await expect(observed(RUN, async () => Promise.reject(thrown))).rejects.toBe(thrown);
  });
});

describe('what is observed', () => {
  it('is each call that guards something, each step whose work is done, and each lease around work; the key only as its label', async () => {
    const messages: unknown[] = [];
    observe(({ around: _, ...what }) => void messages.push(what));
    const b = bench();
    const work = (run: { step(name: string, work: () => number): Promise<number> }): Promise<number> => run.step('charge', () => 1);
    await b.run(work, { key: 'order-7' });
    await b.run(work, { key: 'order-7' });
    await b.run(work, { key: 'order-8', label: false });
    await withLease(storeLeases(memoryStore()), 'nightly', {}, () => 1);
    const run = { kind: 'run', operation: 'test/op', id: expect.stringMatching(/^r1_/), store: b.store.name };
    const step = { kind: 'step', operation: 'test/op', id: expect.stringMatching(/^r1_/), store: b.store.name, step: 'charge' };
    expect(messages).toEqual([
      { ...run, label: 'order-7' },
      step,
      { ...run, label: 'order-7' },
      { ...run, label: undefined },
      step,
      { kind: 'lease', name: 'nightly', provider: storeLeases(memoryStore()).name },
    ]);
  });

  it('is not what was refused before it began: options, keys', async () => {
    const messages: unknown[] = [];
    observe((message) => void messages.push(message));
    const b = bench();
    await expect(b.run(() => 1, { key: '' })).rejects.toMatchObject({ code: 'MISSING_KEY' });
    await expect(withLease(storeLeases(memoryStore()), '', {}, () => 1)).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
    await expect(withLease(undefined as never, 'job', {}, () => 1)).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
    expect(messages).toEqual([]);
  });

  it('a step that was kept by an earlier attempt is not: its work is not done', async () => {
    const steps: string[] = [];
    observe((message) => {
      if (message.kind === 'step') steps.push(message.step);
    });
    const b = bench();
    await b
      .run(async (run) => {
        await run.step('kept', () => 1);
        throw new Error('crash');
      })
      .catch(() => {});
    await b.run(async (run) => run.step('kept', () => 1));
    expect(steps).toEqual(['kept']);
  });
});
