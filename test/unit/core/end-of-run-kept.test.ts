import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { describe, expect, it } from 'vitest';
import { storeMisconfigured } from '../../../src/core/errors.ts';
import type { RunEvent } from '../../../src/core/events.ts';
import { PermanentError, type Run, tryRunOnce } from '../../../src/index.ts';
import { incompressible } from '../../support/incompressible.ts';
import { type Bench, ended, fails } from './claims.ts';
import { bench } from './engine.ts';
import { runEvents } from './run-events.ts';

async function heard(b: Bench, run: () => Promise<unknown>) {
  const { events, stop } = runEvents();
  const answer = await ended(b, run());
  stop();
  return { answer, names: events.map(({ event }) => event), last: events.at(-1) };
}
/** A first attempt that ended with no outcome. */
async function lapsed(b: Bench, work: (run: Run) => unknown = () => new Promise(() => {})): Promise<void> {
  b.run(work, { leaseMs: 1_000, renew: 'none' }).catch(() => {});
  await b.clock.advance(1_001);
}
const hangs = (): Promise<never> => new Promise(() => {});
/** Notes of steps, until there is no room for another. */
async function full(run: Run): Promise<void> {
  for (let n = 0; n < 200; n++) await run.step('s', () => incompressible(300), { key: n });
}

describe('a run that cannot get past a step', () => {
  it('I8 also where that is met while asking: blocked, and said to be', async () => {
    const b = bench();
    await lapsed(b, (run) => run.step('ship', hangs, { mode: 'atMostOnce' }));
    const onUnknown = (run: Run) => run.step('ship', hangs, { mode: 'atMostOnce' });
    const { answer, names, last } = await heard(b, () => b.run(fails, { onUnknown: onUnknown as never }));
    expect(answer).toEqual({ kind: 'blocked', id: last?.id, why: 'unknown', attempt: 2 });
    expect(names).toEqual(['taken-over', 'blocked']);
  });

  it('what is to be remembered is an outcome all the same', async () => {
    const b = bench({}, { maxRecordBytes: 20_000 });
    const thrown = new PermanentError('declined');
    const work = (run: Run) =>
      full(run).catch(() => {
        throw thrown;
      });
    expect(await ended(b, b.run(work))).toMatchObject({ kind: 'failed', error: thrown });
    expect(await b.run(fails)).toMatchObject({ kind: 'failed', replayed: true });
  });

  it('where it cannot be blocked either, that is told', async () => {
    const b = bench({ leaseMs: 60_000 }, { maxRecordBytes: 20_000 });
    const failure = storeMisconfigured('no table.');
    const { answer, last } = await heard(b, () =>
      b.run(async (run) => {
        await full(run).catch(() => {});
        b.plan.before = (operation) => {
          if (operation === 'replace') throw failure;
        };
        fails();
      }),
    );
    expect(answer).toMatchObject({ message: 'failed' });
    expect(last).toMatchObject({ event: 'save-failed', error: { code: 'WRITE_UNKNOWN', cause: failure } });
  });
});

describe('what is left unknown', () => {
  it('I8 I12 cancelled once the claim over it is there: it is as unknown as before', async () => {
    const b = bench();
    await lapsed(b);
    const caller = new AbortController();
    const reason = new Error('too late');
    const hear = (event: unknown): void => {
      if ((event as RunEvent).event === 'taken-over') caller.abort(reason);
    };
    subscribe('rerunsafe:run', hear);
    try {
      expect(await ended(b, b.run(fails, { signal: caller.signal }))).toBe(reason);
    } finally {
      unsubscribe('rerunsafe:run', hear);
    }
    expect(await b.run(fails, { onUnknown: 'block' })).toMatchObject({ kind: 'blocked', why: 'unknown' });
  });

  it('I6 asking has failed beside a step that never ends: nothing is given up, its lease has to run out', async () => {
    const b = bench({ leaseMs: 1_000 });
    await lapsed(b);
    const onUnknown = (run: Run): never => {
      void run.step('refund', hangs);
      return fails();
    };
    const { answer, names } = await heard(b, () => b.run(fails, { onUnknown }));
    expect(answer).toMatchObject({ message: 'failed' });
    expect(names).toEqual(['taken-over', 'unknown']);
    expect(b.store.counts.replace).toBe(1);
  });

  it('a release that does not get through is told, with why', async () => {
    const b = bench({ leaseMs: 60_000 });
    const failure = storeMisconfigured('no table.');
    b.plan.before = (operation) => {
      if (operation === 'replace') throw failure;
    };
    const { answer, last } = await heard(b, () => b.run(fails));
    expect(answer).toMatchObject({ message: 'failed' });
    expect(last).toMatchObject({ event: 'save-failed', error: failure });
  });
});

describe('what is kept of an outcome', () => {
  it('of a value that its codec cannot take: nothing, nor where in it; the first caller gets it as it is', async () => {
    const b = bench();
    const value = { total: () => 1 };
    const codec = {
      encode: (): never => {
        throw new Error('no money');
      },
      decode: () => 'decoded',
    };
    const { answer, last } = await heard(b, () => tryRunOnce({ store: b.store, operation: 'test/op', key: 'k', codec: codec as never }, () => value));
    expect((answer as { value: unknown }).value).toBe(value);
    expect(last).toMatchObject({ event: 'completed', notKept: 'not-serializable' });
    expect(last).not.toHaveProperty('notKeptAt');
  });

  it('of an error whose parts cannot be put: what it is, without its data, even where the record had room for that', async () => {
    const b = bench({ leaseMs: 1_000 }, { inlineBytes: 2_000, maxRecordBytes: 6_000 });
    b.plan.putPart = () => 'unavailable';
    const thrown = new PermanentError('declined', { code: 'card', data: incompressible(2_600) });
    expect(
      await ended(
        b,
        b.run(() => Promise.reject(thrown)),
      ),
    ).toMatchObject({ kind: 'failed', error: thrown });
    const again = (await b.run(fails)) as unknown as { error: PermanentError };
    expect(again).toMatchObject({ kind: 'failed', replayed: true, error: { message: 'declined', code: 'card' } });
    expect(again.error.data).toBeUndefined();
  });

  it.each([100, 6_000])('I2 an error with data of %d characters is replayed with them, by this process without a request', async (characters) => {
    const b = bench({ localReplay: { maxEntries: 5 }, retentionMs: 3_600_000 }, { inlineBytes: 2_000, maxRecordBytes: 4_000 });
    const data = incompressible(characters);
    await b.run(() => Promise.reject(new PermanentError('declined', { data })));
    const calls = b.store.calls.length;
    expect(await b.run(fails)).toMatchObject({ kind: 'failed', replayed: true, error: { message: 'declined', data } });
    expect(b.store.calls.length).toBe(calls);
    expect(await b.run(fails, { localReplay: undefined } as never)).toMatchObject({ kind: 'failed', error: { data } });
  });

  it.each([
    ['completed', 5_000, () => 1],
    ['error', 9_000, () => Promise.reject(new PermanentError('no'))],
  ])('I3 by this process, for as long as the store keeps it (%s)', async (_, ms, work) => {
    const b = bench({ localReplay: { maxEntries: 5 }, leaseMs: 1_000, retentionMs: { completed: 5_000, error: 9_000 } });
    await b.run(work);
    const calls = b.store.calls.length;
    await b.clock.advance(ms - 100);
    await b.run(fails);
    expect(b.store.calls.length).toBe(calls);
    await b.clock.advance(200);
    await ended(
      b,
      b.run(() => 2),
    );
    expect(b.store.calls.length).toBeGreaterThan(calls);
  });
});
