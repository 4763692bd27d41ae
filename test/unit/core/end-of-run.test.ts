import { describe, expect, it } from 'vitest';
import { storeMisconfigured, writeUnknown } from '../../../src/core/errors.ts';
import { forgetRun, PermanentError, type Run } from '../../../src/index.ts';
import { incompressible } from '../../support/incompressible.ts';
import { answering, type Bench, ended, fails, operations, written } from './claims.ts';
import { bench, held, inTime } from './engine.ts';
import { runEvents } from './run-events.ts';

const caught = (promise: Promise<unknown>): Promise<unknown> => promise.catch((error: unknown) => error);
async function heard(b: Bench, run: () => Promise<unknown>) {
  const { events, stop } = runEvents();
  const answer = await ended(b, run());
  stop();
  return { answer, events, names: events.map(({ event }) => event), last: events.at(-1) };
}
const misconfigured = (b: Bench, n = 1) => {
  const failure = storeMisconfigured('no table.');
  b.plan.before = (operation, which) => {
    if (operation === 'replace' && which >= n) throw failure;
  };
  return failure;
};
const forget = (b: Bench) => forgetRun({ store: b.store, operation: 'test/op', key: 'k', force: true });

describe('a save that failed', () => {
  it('is told with its cause, and thrown where that was asked for', async () => {
    const b = bench({ leaseMs: 60_000, onSaveFailed: 'throw' });
    const cause = misconfigured(b);
    const { answer, last } = await heard(b, () => b.run(() => 'charged'));
    expect(answer).toMatchObject({
      code: 'WRITE_UNKNOWN',
      message: 'test/op: the work succeeded, but nobody knows whether its outcome was saved.',
      cause,
    });
    expect(last).toMatchObject({ event: 'save-failed', error: cause, attempt: 1, token: expect.any(Number) });
  });

  it('for its size, even without the value: the caller has it, and it is told', async () => {
    const b = answering(bench(), async () => ({ ok: false, reason: 'too-large' }));
    const { answer, last } = await heard(b, () => b.run(() => 'charged'));
    expect(answer).toMatchObject({ kind: 'completed', value: 'charged', saved: false });
    expect(last?.event).toBe('save-failed');
    expect(last).not.toHaveProperty('error');
  });

  it('of an error that is to be remembered: the caller gets what was thrown', async () => {
    const b = bench({ leaseMs: 60_000 });
    misconfigured(b);
    const thrown = new PermanentError('declined');
    const { answer, last } = await heard(b, () => b.run(() => Promise.reject(thrown)));
    expect(answer).toBe(thrown);
    expect(last).toMatchObject({ event: 'save-failed', error: thrown });
  });

  it('of a block: the caller gets what was thrown, and why it is not blocked is told', async () => {
    const b = bench({ leaseMs: 60_000, onThrow: () => 'block' });
    const cause = misconfigured(b);
    const { answer, last } = await heard(b, () => b.run(fails));
    expect(answer).toMatchObject({ message: 'failed' });
    expect(last).toMatchObject({ event: 'save-failed', error: { code: 'WRITE_UNKNOWN', cause } });
  });

  it('of a release that somebody else has overtaken: told without a cause', async () => {
    const b = bench({ leaseMs: 60_000, renew: 'none' });
    const { last } = await heard(b, () =>
      b.run(async () => {
        await forget(b);
        fails();
      }),
    );
    expect(last?.event).toBe('save-failed');
    expect(last).not.toHaveProperty('error');
  });
});

describe('what is told of an outcome', () => {
  it('why, and where, a value could not be kept; and nothing of the sort where it was', async () => {
    const b = bench();
    const { last } = await heard(b, () => b.run(() => ({ total: () => 1 })));
    expect(last).toMatchObject({ event: 'completed', notKept: 'not-serializable', notKeptAt: '.total is a function' });
    const kept = await heard(b, () => b.run(() => 1, { key: 'kept' }));
    expect(kept.last?.event).toBe('completed');
    for (const name of ['notKept', 'notKeptAt', 'error']) expect(kept.last).not.toHaveProperty(name);
  });

  it('a value that the store refuses for its size completes without it', async () => {
    const b = answering(bench(), async (n) => (n === 1 ? { ok: false, reason: 'too-large' } : undefined));
    const { answer, last } = await heard(b, () => b.run(() => 'large'));
    expect(answer).toMatchObject({ value: 'large', saved: true });
    expect(last).toMatchObject({ event: 'completed', notKept: 'too-large' });
    expect(await caught(b.run(() => 'again'))).toMatchObject({ code: 'RESULT_NOT_STORED', facts: { reason: 'too-large' } });
  });

  it('an error that the store refuses for its size is remembered bare', async () => {
    const b = answering(bench(), async (n) => (n === 1 ? { ok: false, reason: 'too-large' } : undefined));
    const thrown = new PermanentError('declined', { code: 'card', data: incompressible(100) });
    const { answer, names } = await heard(b, () => b.run(() => Promise.reject(thrown)));
    expect(answer).toMatchObject({ kind: 'failed', error: thrown, replayed: false });
    expect(names).toEqual(['claimed', 'remembered']);
    const again = (await b.run(() => 'again')) as unknown as { error: PermanentError };
    expect(again).toMatchObject({ kind: 'failed', replayed: true, error: { message: 'declined', code: 'card' } });
    expect(again.error.data).toBeUndefined();
  });

  it('a large error whose parts cannot be put is remembered bare, too', async () => {
    const b = bench({ leaseMs: 1_000 }, { inlineBytes: 2_000, maxRecordBytes: 4_000 });
    b.plan.putPart = () => 'unavailable';
    const thrown = new PermanentError('declined', { code: 'card', data: incompressible(6_000) });
    expect(
      await ended(
        b,
        b.run(() => Promise.reject(thrown)),
      ),
    ).toMatchObject({ kind: 'failed', error: thrown });
    const again = (await b.run(() => 'again')) as unknown as { error: PermanentError };
    expect(again).toMatchObject({ kind: 'failed', replayed: true, error: { message: 'declined', code: 'card' } });
    expect(again.error.data).toBeUndefined();
  });

  it('a large error is kept for as long as errors are', async () => {
    const b = bench({ leaseMs: 1_000, retentionMs: { completed: 500_000, error: 40_000 } }, { inlineBytes: 2_000, maxRecordBytes: 4_000 });
    const kept: unknown[] = [];
    const putPart = (...[id, name, bytes, options]: Parameters<NonNullable<typeof b.store.putPart>>): Promise<void> => {
      kept.push(options.keepMs);
      return b.store.putPart?.(id, name, bytes, options) as Promise<void>;
    };
    const options = { store: { ...b.store, putPart } } as never;
    await b.run(() => Promise.reject(new PermanentError('declined', { data: incompressible(6_000) })), options);
    await b.run(() => incompressible(6_000), { ...(options as object), key: 'value' } as never);
    expect([...new Set(kept)]).toEqual([41_000, 501_000]);
  });
});

describe('somebody else took over', () => {
  it('I4 while the lease seemed to last: the value is lost, and that is told', async () => {
    const b = bench({ leaseMs: 60_000, renew: 'none' });
    const { answer, names } = await heard(b, () =>
      b.run(async () => {
        await forget(b);
        return 'mine';
      }),
    );
    expect(answer).toMatchObject({ code: 'LEASE_LOST', message: expect.stringContaining('somebody else took it over') });
    expect(names).toEqual(['claimed', 'lease-lost']);
  });

  it('I2 and has completed: its outcome, with what lies beside it', async () => {
    const b = bench({ leaseMs: 60_000, renew: 'none' }, { inlineBytes: 2_000, maxRecordBytes: 4_000 });
    const theirs = incompressible(6_000);
    const first = held<unknown>();
    const { answer, names } = await heard(b, async () => {
      const mine = b.run(first.work);
      await first.started;
      await forget(b);
      await b.run(() => theirs);
      first.end('mine');
      return mine;
    });
    expect(answer).toMatchObject({ kind: 'completed', value: theirs, replayed: true });
    expect(names).toContain('lease-lost');
  });
});

describe('what a throw leaves behind', () => {
  it.each(['explode', 7, {}, Promise.resolve('release')])('onThrow that answers %j: unknown, and it is said what it may answer', async (answer) => {
    const warned = new Promise<Error & { code?: string }>((resolve) => process.once('warning', resolve));
    const b = bench({ onThrow: () => answer as never });
    const { names } = await heard(b, () => b.run(fails));
    expect(names).toEqual(['claimed', 'unknown']);
    expect(await b.run(() => 1, { onUnknown: 'block' })).toMatchObject({ kind: 'blocked' });
    expect(await warned).toMatchObject({
      code: 'RERUNSAFE_ON_THROW',
      message:
        "onThrow must answer 'release', 'remember', 'unknown', 'withdraw', 'lapse', 'block', { as, note } or undefined, at once. The attempt is taken for unknown.",
    });
  });

  it.each([
    ['release', ['claimed', 'released']],
    ['withdraw', ['claimed', 'released']],
    ['unknown', ['claimed', 'unknown']],
    ['lapse', ['claimed', 'unknown']],
    ['block', ['claimed', 'blocked']],
    ['remember', ['claimed', 'remembered']],
    [undefined, ['claimed', 'released']],
  ] as const)('onThrow that answers %s is told as %j, with what was thrown', async (as, expected) => {
    const b = bench();
    const { names, last } = await heard(b, () => b.run(fails, { onThrow: () => as }));
    expect(names).toEqual(expected);
    if (as !== 'block') expect(last).toMatchObject({ error: { message: 'failed' } });
    expect(operations(b)).toEqual(as === 'lapse' ? ['create'] : ['create', 'replace']);
  });

  it('I8 a withdrawal after an unknown attempt is told as unknown', async () => {
    const b = bench({ onThrow: () => 'withdraw', renew: 'none' });
    b.run(() => new Promise(() => {})).catch(() => {});
    await b.clock.advance(1_001);
    const { names } = await heard(b, () => b.run(fails));
    expect(names).toEqual(['taken-over', 'unknown']);
  });

  it('I9 a withdrawal with a step behind it is a release: the attempt counts', async () => {
    const b = bench({ onThrow: () => 'withdraw' });
    await heard(b, () => b.run((run) => run.step('s', () => 1).then(fails), { input: 1 }));
    expect(written(b).at(-1)).toMatchObject({ state: 'released', attempt: 1, fingerprint: expect.any(String) });
  });

  it('I6 beside a step that never ends nothing is given up, and that is told as unknown', async () => {
    const b = bench({ leaseMs: 1_000 });
    const { names } = await heard(b, () =>
      b.run((run) => {
        void run.step('hangs', () => new Promise(() => {}));
        fails();
      }),
    );
    expect(names).toEqual(['claimed', 'unknown']);
    expect(operations(b)).toEqual(['create']);
  });

  it('I8 beside a commit of which nobody knows whether it happened, nothing is given up', async () => {
    const b = bench({ leaseMs: 60_000 });
    const thrown = new Error('mine');
    let leftMs = 10_000;
    const { answer } = await heard(b, () =>
      b.run(
        async (run: Run<string>) => {
          const send = async () => {
            leftMs = 0;
            throw writeUnknown('the transaction', undefined);
          };
          await caught(run.commit('v', send));
          throw thrown;
        },
        { remainingMs: () => leftMs },
      ),
    );
    expect(answer).toBe(thrown);
    expect(operations(b)).toEqual(['create', 'read']);
  });

  it('I8 work that swallows such a doubt and returns is told of it, and nothing is saved over it', async () => {
    const b = bench({ leaseMs: 1_000 });
    const running = b.run(async (run: Run<string>) => {
      await caught(run.commit('v', () => Promise.reject(writeUnknown('the transaction', undefined))));
      return 'other';
    });
    await expect(inTime(b.clock, running)).rejects.toMatchObject({ code: 'WRITE_UNKNOWN' });
    expect(b.store.counts.replace).toBe(0);
  });

  it('messages that no commit has written fail the run', async () => {
    const b = bench();
    const { answer, names } = await heard(b, () => b.run((run) => run.outbox.add({ topic: 't', payload: 1 })));
    expect(answer).toMatchObject({ code: 'INVALID_OPTIONS', message: expect.stringMatching(/^test\/op: 1 message\(s\) were added/) });
    expect(names).toEqual(['claimed', 'released']);
  });
});
