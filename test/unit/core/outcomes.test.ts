import { describe, expect, it } from 'vitest';
import { NotDoneError, PermanentError } from '../../../src/index.ts';
import { bench, inTime } from './engine.ts';

describe('what a throw means', () => {
  const frozen = Object.freeze(new Error('frozen'));
  const proxy = new Proxy(
    {},
    {
      get: () => {
        throw new Error('trap');
      },
    },
  );
  it.each([[null], [undefined], ['a string'], [0], [frozen], [Object.create(null)], [proxy]])(
    'the caller gets the very thing that was thrown: %#',
    async (thrown) => {
      for (const options of [{}, { onThrow: () => 'remember' as const }, { onUnknown: 'block' as const }]) {
        const { run } = bench();
        const result = await run((): never => {
          throw thrown;
        }, options).then(
          (r) => [r.kind === 'failed' ? r.error : 'completed'],
          (error) => [error],
        );
        expect(Object.is(result[0], thrown)).toBe(true);
      }
    },
  );

  it('the caller gets the very thing that was thrown when the clean-up fails as well', async () => {
    for (const fault of ['unavailable', 'lost-answer', 'lost-request', 'hang'] as const) {
      const { run, plan, clock } = bench();
      plan.replace = () => fault;
      await expect(
        inTime(
          clock,
          run(() => {
            throw frozen;
          }),
        ),
      ).rejects.toBe(frozen);
    }
  });

  it('releases by default: the next call runs again as attempt 2', async () => {
    const { run } = bench();
    await expect(
      run(() => {
        throw new Error('no');
      }),
    ).rejects.toThrow('no');
    expect(await run((own) => own.attempt)).toMatchObject({ value: 2 });
  });

  it('remembers a PermanentError: replayed with name, message, code and data, and not run again', async () => {
    const { run } = bench();
    const thrown = new PermanentError('declined', { code: 'card_declined', data: { at: new Date(5) }, name: 'CardError' });
    expect(
      await run(() => {
        throw thrown;
      }),
    ).toEqual({ kind: 'failed', error: thrown, replayed: false });
    const again = await run(() => 'ran again');
    expect(again).toMatchObject({
      kind: 'failed',
      replayed: true,
      error: { name: 'CardError', message: 'declined', code: 'card_declined', data: { at: new Date(5) } },
    });
    expect(again.kind === 'failed' && again.error).toBeInstanceOf(PermanentError);
  });

  it('I8 where onUnknown is block, a plain throw is unknown, and the next call is blocked', async () => {
    const { run } = bench({ onUnknown: 'block' });
    await expect(
      run(() => {
        throw new Error('time-out');
      }),
    ).rejects.toThrow('time-out');
    expect(await run(() => 'again')).toMatchObject({ kind: 'blocked' });
    expect(await run(() => 'again')).toMatchObject({ kind: 'blocked' });
  });

  it('a NotDoneError releases even there', async () => {
    const { run } = bench({ onUnknown: 'block' });
    await expect(
      run(() => {
        throw new NotDoneError('refused connection');
      }),
    ).rejects.toThrow('refused');
    expect(await run(() => 'again')).toMatchObject({ value: 'again' });
  });

  it('onThrow overrules, and a judge that fails makes it unknown', async () => {
    const { run } = bench({
      onUnknown: 'block',
      onThrow: (error) =>
        error === 1
          ? 'release'
          : error === 2
            ? 'remember'
            : (() => {
                throw new Error('judge');
              })(),
    });
    await expect(
      run(
        (): never => {
          throw 1;
        },
        { key: 1 },
      ),
    ).rejects.toBe(1);
    expect(await run(() => 'ok', { key: 1 })).toMatchObject({ value: 'ok' });
    expect(
      await run(
        (): never => {
          throw 2;
        },
        { key: 2 },
      ),
    ).toEqual({ kind: 'failed', error: 2, replayed: false });
    expect(await run(() => 'ok', { key: 2 })).toMatchObject({ kind: 'failed', replayed: true });
    await expect(
      run(
        (): never => {
          throw 3;
        },
        { key: 3 },
      ),
    ).rejects.toBe(3);
    expect(await run(() => 'ok', { key: 3 })).toMatchObject({ kind: 'blocked' });
  });

  it("I6 'lapse': a time-out that was raced against the work declares nothing; the lease has to run out", async () => {
    const { run, clock } = bench({ leaseMs: 1_000, onThrow: () => 'lapse' });
    const timeout = new Error('too late');
    await expect(run(() => Promise.reject(timeout))).rejects.toBe(timeout);
    expect(await run(() => 2)).toMatchObject({ kind: 'in-flight' });
    expect(clock.pendingTimers()).toBe(0);
    await clock.advance(1_001);
    expect(
      await inTime(
        clock,
        run(() => 2),
      ),
    ).toMatchObject({ value: 2, attempt: 2 });
  });

  it('I9 withdraws: the key may be used again with another input, by a first attempt without steps only', async () => {
    const { run } = bench({ onThrow: () => 'withdraw' });
    const refused = () => Promise.reject(new Error('invalid'));
    await expect(run(refused, { input: 1 })).rejects.toThrow('invalid');
    expect(await run((own) => own.attempt, { input: 2 })).toMatchObject({ value: 1, replayed: false });
    expect(await run(() => 0, { input: 1 })).toEqual({ kind: 'key-reused' });
    const stepped = run((own) => own.step('s', () => 1).then(refused), { key: 'stepped', input: 1 });
    await expect(stepped).rejects.toThrow('invalid');
    expect(await run(() => 0, { key: 'stepped', input: 2 })).toEqual({ kind: 'key-reused' });
  });

  it('I9 a step that has begun may have done something, kept or not: the key stays bound to its input', async () => {
    const { run, clock } = bench({ onThrow: () => 'withdraw' });
    const failing = run((own) => own.step('charge', () => Promise.reject(new Error('time-out'))), { input: 1 });
    await expect(failing).rejects.toThrow('time-out');
    expect(await run(() => 0, { input: 2 })).toEqual({ kind: 'key-reused' });
    const unawaited = run(
      (own) => {
        void own.step('charge', () => new Promise(() => {}));
        throw new Error('invalid');
      },
      { key: 'unawaited', input: 1 },
    );
    await expect(inTime(clock, unawaited)).rejects.toThrow('invalid');
    expect(await run(() => 0, { key: 'unawaited', input: 2 })).toEqual({ kind: 'key-reused' });
  });

  it('I8 a withdrawal after an unknown attempt leaves it unknown', async () => {
    const { run, clock } = bench({ onThrow: () => 'withdraw' });
    void run(() => new Promise(() => {}), { renew: 'none' });
    await clock.advance(1_001);
    await expect(run(() => Promise.reject(new Error('invalid')))).rejects.toThrow('invalid');
    expect(await run(() => 1, { onUnknown: 'block' })).toMatchObject({ kind: 'blocked' });
  });

  it('blocks beyond maxAttempts', async () => {
    const { run } = bench({ maxAttempts: 2 });
    for (const _ of [1, 2])
      await expect(
        run(() => {
          throw new Error('no');
        }),
      ).rejects.toThrow('no');
    expect(await run(() => 'ok')).toMatchObject({ kind: 'blocked' });
  });
});

describe('an attempt that ended with no outcome', () => {
  async function crashed(options: Parameters<typeof bench>[0]) {
    const b = bench(options);
    b.plan.replace = () => 'lost-request';
    void b.run(() => new Promise(() => {}), { renew: 'none' }).catch(() => {});
    await b.clock.advance(2_000);
    delete b.plan.replace;
    return b;
  }

  it('I6 I10 retry: the work starts again only after the lease ran out', async () => {
    const { run, clock } = bench();
    void run(() => new Promise<number>(() => {}), { renew: 'none' });
    await clock.advance(1_000);
    expect(await run(() => 2)).toMatchObject({ kind: 'in-flight' });
    await clock.advance(1);
    expect(await run((own) => own.attempt)).toMatchObject({ value: 2 });
  });

  it('I8 block: refused until a person resolves it, and the token is raised', async () => {
    const { run, store } = await crashed({ onUnknown: 'block' });
    expect(await run(() => 2)).toMatchObject({ kind: 'blocked' });
    const listed = [];
    for await (const one of store.list({})) listed.push(one);
    expect(listed).toMatchObject([{ record: { state: 'blocked' } }]);
  });

  it('asks under the new lease: { done } completes, not-done runs, block blocks', async () => {
    const done = await crashed({ onUnknown: () => ({ done: 'found' }) });
    expect(await done.run(() => 'ran')).toMatchObject({ value: 'found', replayed: false });
    expect(await done.run(() => 'ran')).toMatchObject({ value: 'found', replayed: true });
    const notDone = await crashed({ onUnknown: async (run) => (run.attempt === 2 ? 'not-done' : 'block') });
    expect(await notDone.run(() => 'ran')).toMatchObject({ value: 'ran' });
    const block = await crashed({ onUnknown: () => 'block' });
    expect(await block.run(() => 'ran')).toMatchObject({ kind: 'blocked' });
    expect(await block.run(() => 'ran')).toMatchObject({ kind: 'blocked' });
  });

  it('an asking that throws leaves the record lapsed, and the error goes to the caller', async () => {
    let asked = 0;
    const failure = new Error('the far side is down');
    const b = await crashed({
      onUnknown: () => {
        if (++asked === 1) throw failure;
        return { done: 1 };
      },
    });
    await expect(b.run(() => 2)).rejects.toBe(failure);
    expect(await b.run(() => 2)).toMatchObject({ value: 1 });
    expect(asked).toBe(2);
  });
});
