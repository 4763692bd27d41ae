import { describe, expect, it } from 'vitest';
import { derivedKey, recordId } from '../../../src/core/key.ts';
import { outcomeOf, unguardedRun } from '../../../src/core/live-run.ts';
import { type CommitRequest, currentRun, forgetRun, type Run, type StepOptions } from '../../../src/index.ts';
import { type Bench, ended, written } from './claims.ts';
import { bench, held, inTime } from './engine.ts';
import { runEvents } from './run-events.ts';

const ID = recordId('test/op', [], ['k']);
const caught = (promise: Promise<unknown>): Promise<unknown> => promise.catch((error: unknown) => error);
const to =
  (b: Bench) =>
  ({ id, record, version }: CommitRequest) =>
    b.store.replace(id, record, version as never);
/** What an attempt's own function is answered, within the run. */
async function within(ask: (run: Run, b: Bench) => unknown, b = bench({ leaseMs: 60_000, renew: 'none' })): Promise<unknown> {
  let answer: unknown;
  const running = b.run(async (run) => {
    answer = await caught((async () => ask(run, b))());
    return 1;
  });
  await ended(b, running);
  return answer;
}

describe('a run', () => {
  it('says who it is: the same keys in every attempt, and the fence that its writes are checked against', async () => {
    const b = bench();
    const seen = await within((run) => [run.key, run.keyFor('a'), run.operation, run.attempt, run.fence, run.token], b);
    const { owner, token } = written(b)[0] as { owner: string; token: number };
    expect(seen).toEqual([derivedKey(ID, ''), derivedKey(ID, 'a'), 'test/op', 1, { id: ID, owner, token }, token]);
  });

  it('I6 says how long it may go on, and whether that is enough', async () => {
    const answer = await within((run) => {
      expect(run.remainingMs()).toBe(59_400);
      run.assertHeld();
      run.assertHeld(59_400);
      run.assertHeld(59_401);
    });
    expect(answer).toMatchObject({ code: 'LEASE_LOST' });
  });

  it.each([[''], [undefined], [7]])('keyFor: %j is no name', async (name) => {
    expect(await within((run) => run.keyFor(name as never))).toMatchObject({
      code: 'INVALID_OPTIONS',
      message: 'run.keyFor: the name must be a string that is not empty.',
    });
  });
});

describe('run.step', () => {
  it.each<[name: unknown, work: unknown, options: unknown, message: string]>([
    ['', () => 1, {}, 'run.step: the name must be a string of 1 to 200 characters, without control characters.'],
    ['a'.repeat(201), () => 1, {}, 'run.step: the name must be a string of 1 to 200 characters, without control characters.'],
    ['s', 7, {}, 'run.step "s": the work must be a function.'],
    ['s', () => 1, { mode: 'twice' }, "run.step \"s\": mode must be 'atLeastOnce' or 'atMostOnce'."],
    ['s', () => 1, { onInterrupted: 7, mode: 'atMostOnce' }, 'run.step "s": onInterrupted must be a function.'],
    ['s', () => 1, { times: 1 }, 'run.step "s": times is not an option. The options are input, key, mode, onInterrupted.'],
    ['s', () => 1, { onInterrupted: () => 'block' }, 'run.step "s": onInterrupted is only ever asked about a step with mode: \'atMostOnce\'.'],
    ['s', () => 1, { key: undefined }, 'run.step "s": the idempotency key is missing (undefined). Nothing was run.'],
  ])('%j with %s and %j: refused in words, and not begun', async (name, work, options, message) => {
    let begun = 0;
    const counted = typeof work === 'function' ? () => ++begun : work;
    expect(await within((run) => run.step(name as string, counted as never, options as StepOptions))).toMatchObject({ message });
    expect(begun).toBe(0);
  });

  it('I2 a name is used once, and each key of it; what to do about it is said', async () => {
    const answer = await within(async (run) => {
      expect(await Promise.all([run.step('s', () => 0), run.step('s', () => 1, { key: 1 }), run.step('s', () => 2, { key: 2 })])).toEqual([0, 1, 2]);
      await run.step('s', () => 3, { key: 1 });
    });
    expect(answer).toMatchObject({
      code: 'DUPLICATE_STEP',
      message: 'The step "s" was already used in this attempt. In a loop, give each round a key of its own: { key: item.id }.',
      facts: { step: 's' },
    });
  });

  it('hands its work what it needs for the far side: name, key, attempt, signal', async () => {
    await within(async (run) => {
      const plain = await run.step('s', (step) => [step.name, step.key, step.attempt, step.signal === run.signal].join());
      const keyed = await run.step('s', (step) => step.key, { key: 'a' });
      expect(plain).toBe(['s', derivedKey(ID, 'step/s'), 1, true].join());
      expect(keyed).not.toBe(derivedKey(ID, 'step/s'));
      expect(keyed).toMatch(/^[\w-]{43}$/);
    }).then((error) => expect(error).toBeUndefined());
  });

  it('I12 nobody has to hear of one that failed', async () => {
    const unheard: unknown[] = [];
    const listener = (reason: unknown): void => void unheard.push(reason);
    process.on('unhandledRejection', listener);
    await within((run) => {
      void run.step('s', () => Promise.reject(new Error('failed')));
      void run.commit(1, () => Promise.reject(new Error('failed')));
    });
    await new Promise((resolve) => setImmediate(resolve));
    process.off('unhandledRejection', listener);
    expect(unheard).toEqual([]);
  });

  it('what was not kept of it is told, with where it is', async () => {
    const { events, stop } = runEvents();
    await within((run) => run.step('s', () => ({ total: () => 1 })));
    stop();
    expect(events[1]).toEqual({
      event: 'step-not-kept',
      operation: 'test/op',
      id: ID,
      store: 'memory',
      attempt: 1,
      token: expect.any(Number),
      step: 's',
      notKept: 'not-serializable',
      notKeptAt: '.total is a function',
    });
  });

  it('one whose value was not kept blocks the run only where the work lets that through', async () => {
    const b = bench();
    const crash = new Error('crash');
    await caught(b.run((run) => run.step('s', () => () => 1).then(() => Promise.reject(crash))));
    expect(await caught(b.run((run) => run.step('s', () => 2).catch(() => Promise.reject(crash))))).toBe(crash);
    expect(await caught(b.run((run) => run.step('s', () => 2)))).toMatchObject({ code: 'RESULT_NOT_STORED' });
    expect(await b.run((run) => run.step('s', () => 2))).toMatchObject({ kind: 'blocked', why: 'step-not-stored', attempt: 3 });
  });

  it('an error of the same kind that its work throws is the work’s own: the run is not blocked for it', async () => {
    const b = bench();
    const other = await caught(b.run((run) => run.step('s', () => () => 1).then(() => Promise.reject(new Error('crash')))));
    expect(other).toMatchObject({ message: 'crash' });
    const notStored = await caught(b.run((run) => run.step('s', () => 2).catch((error: unknown) => Promise.reject(error))));
    expect(notStored).toMatchObject({ code: 'RESULT_NOT_STORED' });
    const c = bench();
    expect(await caught(c.run((run) => run.step('inner', () => Promise.reject(notStored))))).toBe(notStored);
    expect(await c.run(() => 'again')).toMatchObject({ value: 'again', attempt: 2 });
  });
});

describe('run.commit', () => {
  it('is handed the store and what is to be written with it; what comes too late for that is refused', async () => {
    const b = bench();
    let request: CommitRequest | undefined;
    await b.run(async (run: Run<number>) => {
      run.outbox.add({ topic: 't', payload: 1 });
      await run.commit(1, (given) => {
        request = given;
        return to(b)(given);
      });
      const late = { code: 'DUPLICATE_STEP', message: 'The run was already committed.' };
      expect(() => run.outbox.add({ topic: 't', payload: 2 })).toThrow(expect.objectContaining(late));
      expect(await caught(run.commit(2, to(b)))).toMatchObject(late);
      return 0;
    });
    expect(request).toMatchObject({ id: ID, record: { state: 'completed' }, messages: [{ topic: 't' }] });
    expect(request?.store.name).toBe('memory');
  });

  it('neither a step nor a second one begins while it is under way', async () => {
    const b = bench();
    const words = {
      code: 'INVALID_OPTIONS',
      message: 'test/op: the run is being committed: no step and no second commit can begin until that has ended.',
    };
    const { events, stop } = runEvents();
    const result = await b.run(async (run: Run<string>) => {
      await run.commit('one', async (request) => {
        expect(await caught(run.step('s', () => 1))).toMatchObject(words);
        expect(await caught(run.commit('two', to(b)))).toMatchObject(words);
        return to(b)(request);
      });
      return 'ignored';
    });
    stop();
    expect(result).toMatchObject({ value: 'one' });
    expect(events.map(({ event }) => event)).toEqual(['claimed', 'completed']);
  });

  it('the end of the run waits for one that nobody awaited, also beside one that is refused', async () => {
    const b = bench({ leaseMs: 60_000 });
    const sent = held<void>();
    const running = b.run((run: Run<string>) => {
      void run.commit('one', async (request) => {
        await sent.work();
        return to(b)(request);
      });
      void run.commit('two', to(b));
      return 'ignored';
    });
    await sent.started;
    await b.clock.settle();
    sent.end();
    expect(await inTime(b.clock, running)).toMatchObject({ value: 'one', saved: true });
  });

  it('I4 somebody else took over: the work is told, and everything in the run', async () => {
    let signal: AbortSignal | undefined;
    const error = await within(async (run, b) => {
      signal = run.signal;
      await forgetRun({ store: b.store, operation: 'test/op', key: 'k', force: true });
      await run.commit(1 as never, to(b));
    });
    expect(error).toMatchObject({ code: 'LEASE_LOST', message: expect.stringContaining('somebody else took it over') });
    expect(signal?.reason).toBe(error);
  });

  it('I8 no answer to it is said in words, with its cause', async () => {
    const error = await within(
      async (run, b) => {
        b.plan.replace = () => 'lost-request';
        await run.commit(1 as never, to(b));
      },
      bench({ leaseMs: 1_000 }),
    );
    expect(error).toMatchObject({
      code: 'WRITE_UNKNOWN',
      message: 'No answer to a write (the commit): it may have taken effect.',
      cause: { code: 'WRITE_UNKNOWN' },
    });
  });

  it('I2 the caller gets a value of its own, as a replay would be', async () => {
    const b = bench();
    const value = { list: [1] };
    const result = await b.run(async (run: Run<typeof value>) => {
      await run.commit(value, to(b));
      return value;
    });
    expect(result).toMatchObject({ value });
    expect(await b.run(() => value)).toMatchObject({ value: { list: [1] }, replayed: true });
  });
});

describe('an outcome', () => {
  it('of a codec that cannot take the value is not kept, and that is said', async () => {
    const warned = new Promise<Error & { code?: string }>((resolve) => process.once('warning', resolve));
    const codec = {
      encode: () => {
        throw new Error('no money');
      },
    };
    expect(outcomeOf(1, codec)).toEqual({ kind: 'not-stored', reason: 'not-serializable' });
    expect(await warned).toMatchObject({
      code: 'RERUNSAFE_CODEC',
      message: 'The codec could not encode what is to be stored; it is done, and not kept. Error: no money',
    });
  });

  it('is what the codec makes of the value, or the value as it is', () => {
    expect(outcomeOf(2, { encode: (value: number) => value * 2 })).toEqual(outcomeOf(4));
    expect(outcomeOf(4)).toMatchObject({ kind: 'value' });
    expect(outcomeOf(() => 1)).toEqual({ kind: 'not-stored', reason: 'not-serializable' });
  });
});

describe('an unguarded run', () => {
  const plain = (leftMs = 500) => unguardedRun({ operation: 'test/op', id: ID, remainingMs: () => leftMs, signal: undefined });

  it('has keys, and no record', async () => {
    const run = plain();
    expect([run.key, run.keyFor('a'), run.operation, run.attempt, run.token, run.fence]).toEqual([
      derivedKey(ID, ''),
      derivedKey(ID, 'a'),
      'test/op',
      1,
      undefined,
      undefined,
    ]);
    expect(() => run.keyFor('')).toThrow(expect.objectContaining({ code: 'INVALID_OPTIONS' }));
    expect(run.signal.aborted).toBe(false);
    expect(currentRun()).toBeUndefined();
  });

  it('says how long the invocation lasts', () => {
    expect([plain(500).remainingMs(), plain(-1).remainingMs()]).toEqual([500, 0]);
    plain(0).assertHeld();
    plain(500).assertHeld(500);
    expect(() => plain(500).assertHeld(501)).toThrow(
      expect.objectContaining({ code: 'LEASE_LOST', message: 'Less than 501 ms are left to this invocation.' }),
    );
  });

  it('runs steps each time; commits nothing, and takes no messages', async () => {
    const { signal } = new AbortController();
    const run = unguardedRun<number>({ operation: 'test/op', id: ID, remainingMs: () => 1, signal });
    const step = await run.step('s', (given) => given);
    expect(step).toEqual({ name: 's', key: derivedKey(ID, 'step/s'), attempt: 1, signal });
    const words = { code: 'STORE_UNAVAILABLE', message: 'An unguarded run has no record to commit with.' };
    await expect(run.commit(1, () => Promise.reject(new Error('sent')))).rejects.toMatchObject(words);
    expect(() => run.outbox.add({ topic: 't', payload: 1 })).toThrow(expect.objectContaining(words));
  });
});
