import { describe, expect, it } from 'vitest';
import { forgetById, resolveById } from '../../../src/core/person.ts';
import type { RecordId } from '../../../src/core/record.ts';
import { type Found, sweep } from '../../../src/index.ts';
import { bench, eventsOf, inTime } from './engine.ts';

const failed = (): never => {
  throw new Error('exit code 3');
};
const judged = { onThrow: () => ({ as: 'block', note: 'exit code 3' }) as const };

describe('I8 a failure that must not run again by itself', () => {
  it("'block' refuses every later call until a person has said what is to become of it", async () => {
    const { run, store } = bench();
    expect(await eventsOf(() => run(failed, { onThrow: () => 'block' }).catch(() => {}))).toEqual(['claimed', 'blocked']);
    const refused = await run(() => 'again');
    expect(refused).toMatchObject({ kind: 'blocked', why: 'failed', attempt: 1 });
    const { id } = refused as { id: RecordId };
    expect(await resolveById(store, id, {}, 'not-done')).toEqual({ kind: 'written' });
    expect(await run((own) => own.attempt)).toMatchObject({ kind: 'completed', value: 1, replayed: false });
  });

  it('the caller gets the very thing that was thrown, also when the record cannot be blocked', async () => {
    for (const fault of ['unavailable', 'lost-answer', 'lost-request'] as const) {
      const { run, plan, clock } = bench(judged);
      plan.replace = () => fault;
      await expect(inTime(clock, run(failed))).rejects.toThrow('exit code 3');
      expect(
        (
          await inTime(
            clock,
            run(() => 1, { onUnknown: 'block' }),
          )
        ).kind,
      ).not.toBe('completed');
    }
  });

  it('I4 after the lease is over nothing is declared', async () => {
    const { run, clock, store } = bench({ ...judged, renew: 'none' });
    const late = run(async () => {
      await new Promise<void>((resolve) => clock.timers.after(2_000, resolve, { keepAlive: true }));
      return failed();
    });
    await expect(inTime(clock, late)).rejects.toThrow('exit code 3');
    for await (const { record } of store.list({})) expect(record).toMatchObject({ state: 'running', attempt: 1 });
    expect(await run(() => 2)).toMatchObject({ value: 2 });
  });
});

describe('a note says how the last attempt ended', () => {
  const noteIn = async (store: ReturnType<typeof bench>['store']): Promise<unknown> => {
    for await (const { record } of store.list({})) return record.note;
    return 'no record';
  };

  it.each(['release', 'unknown', 'block', 'withdraw'] as const)('kept with %s, and gone with the next attempt', async (as) => {
    const { run, store } = bench();
    await run(failed, { onThrow: () => ({ as, note: 'x'.repeat(2_000) }) }).catch(() => {});
    expect(await noteIn(store)).toBe('x'.repeat(1_000));
    if (as !== 'block') {
      await run(() => 'done');
      expect(await noteIn(store)).toBeUndefined();
    }
  });

  it('stays when the unknown outcome is blocked by the next call, and is shown to the sweeper', async () => {
    const { run, store, clock } = bench({ onUnknown: 'block' });
    await run(failed, { onThrow: () => ({ as: 'unknown', note: 'died by SIGKILL' }) }).catch(() => {});
    expect(await run(() => 1)).toMatchObject({ kind: 'blocked', why: 'unknown' });
    await clock.advance(61_000);
    const shown: Found[] = [];
    await sweep({ store }, (found) => void shown.push(found));
    expect(shown).toMatchObject([{ kind: 'blocked', why: 'unknown', note: 'died by SIGKILL' }]);
  });

  it.each([{ as: 'explode', note: 'n' }, { note: 'n' }, { as: 'release', note: 7 }, 42])('%j is no answer, or has no note', async (answer) => {
    const { run, store } = bench();
    await run(failed, { onThrow: () => answer as never }).catch(() => {});
    expect(await noteIn(store)).toBeUndefined();
  });

  it('is forgotten with the run, and with what a person says of it', async () => {
    for (const said of ['forget', 'not-done', { done: 1 }] as const) {
      const { run, store } = bench();
      await run(failed, judged).catch(() => {});
      const { id } = (await run(() => 1)) as { id: RecordId };
      await (said === 'forget' ? forgetById(store, id, {}) : resolveById(store, id, {}, said));
      expect(await noteIn(store)).toBeUndefined();
    }
  });
});

const firstIn = async (store: ReturnType<typeof bench>['store']) => {
  for await (const listed of store.list({})) return listed;
  throw new Error('no record');
};

describe('I1 to forget what one has seen', () => {
  it('leaves alone what has come since', async () => {
    const { run, store } = bench();
    await run(() => 'first');
    const { id } = await firstIn(store);
    const seen = await store.read(id);
    await forgetById(store, id, {}, seen);
    await run(() => 'second');
    expect(await forgetById(store, id, {}, seen)).toEqual({ kind: 'changed' });
    expect(await run(() => 'third')).toMatchObject({ value: 'second', replayed: true });
  });
});
