import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { describe, expect, it } from 'vitest';
import type { RunEvent } from '../../../src/core/events.ts';
import { forgetRun, type Run, resolveRun, sweep } from '../../../src/index.ts';
import { bench } from './engine.ts';

class Parcel {
  readonly id = 'p_1';
}

/** Ships a parcel whose value cannot be kept, and fails after it, once. */
async function stuck() {
  const b = bench({ operation: 'orders/ship' });
  const calls = { charge: 0, ship: 0 };
  let fails = true;
  const work = async (run: Run) => {
    await run.step('charge', () => ++calls.charge);
    const ship = () => {
      calls.ship += 1;
      return { parcel: new Parcel() };
    };
    const parcel = await run.step('ship', ship, { mode: 'atMostOnce' });
    if (fails) throw new Error('crash');
    return parcel.parcel.id;
  };
  await b.run(work).catch(() => {});
  await expect(b.run(work)).rejects.toMatchObject({ code: 'RESULT_NOT_STORED' });
  fails = false;
  return { b, calls, work, of: { store: b.store, operation: 'orders/ship', key: 'k' } };
}

describe('a step that is done, and whose value could not be kept', () => {
  it('I3 blocks the run and says why; a person who says not done is told that it would run again', async () => {
    const { b, calls, work, of } = await stuck();
    expect(await b.run(work)).toMatchObject({ kind: 'blocked', why: 'step-not-stored' });
    await expect(resolveRun(of, 'not-done')).rejects.toMatchObject({ code: 'INVALID_OPTIONS', facts: { steps: ['ship'] } });
    await b.clock.advance(1);
    const swept = await sweep({ store: b.store, olderThanMs: 0 }, ({ why, steps }) => {
      expect(why).toBe('step-not-stored');
      expect(steps).toEqual([
        { name: 'charge', state: 'done' },
        { name: 'ship', state: 'not-stored' },
      ]);
      return 'not-done';
    });
    expect(swept).toMatchObject({ settled: 0, failures: [{ error: { code: 'INVALID_OPTIONS' } }] });
    expect(await b.run(work)).toMatchObject({ kind: 'blocked' });
    expect(calls).toEqual({ charge: 1, ship: 1 });
  });

  it('ends by what it came to, by being forgotten, or by force', async () => {
    const done = await stuck();
    expect(await resolveRun(done.of, { done: 'p_1' })).toEqual({ kind: 'written' });
    expect(await done.b.run(done.work)).toMatchObject({ value: 'p_1', replayed: true });
    expect(done.calls).toEqual({ charge: 1, ship: 1 });

    const forgotten = await stuck();
    expect(await forgetRun(forgotten.of)).toEqual({ kind: 'written' });
    expect(await forgotten.b.run(forgotten.work)).toMatchObject({ value: 'p_1', replayed: false });
    expect(forgotten.calls).toEqual({ charge: 2, ship: 2 });

    const forced = await stuck();
    expect(await resolveRun({ ...forced.of, force: true }, 'not-done')).toEqual({ kind: 'written' });
    expect(await forced.b.run(forced.work)).toMatchObject({ value: 'p_1', replayed: false });
    expect(forced.calls).toEqual({ charge: 1, ship: 2 });
  });

  it('is told when it ends, and not only after a crash: an event, and a warning once, with the place in the value', async () => {
    const warnings: (Error & { code?: string })[] = [];
    const events: RunEvent[] = [];
    const onWarning = (warning: Error): void => void warnings.push(warning);
    const onEvent = (event: unknown): void => void events.push(event as RunEvent);
    process.on('warning', onWarning);
    subscribe('rerunsafe:run', onEvent);
    try {
      const b = bench({ operation: 'orders/told' });
      for (const key of [1, 2]) await b.run((run) => run.step('ship', () => ({ list: [1, new Parcel()] })).then(() => 'done'), { key });
      await new Promise(setImmediate);
    } finally {
      process.off('warning', onWarning);
      unsubscribe('rerunsafe:run', onEvent);
    }
    expect(events.filter(({ event }) => event === 'step-not-kept')).toMatchObject([
      { step: 'ship', notKept: 'not-serializable', notKeptAt: '.list[1] is an instance of Parcel', attempt: 1 },
      { step: 'ship' },
    ]);
    const told = warnings.filter(({ code }) => code === 'RERUNSAFE_NOT_STORED');
    expect(told.map(({ message }) => message)).toHaveLength(1);
    expect(told[0]?.message).toMatch(/orders\/told, step "ship".*\.list\[1\] is an instance of Parcel/);
  });
});

describe('where a value cannot be kept', () => {
  it.each<[string, unknown, string]>([
    ['a function', () => 1, 'It is a function'],
    ['in an object', { a: { b: Symbol('s') } }, '.a.b is a symbol'],
    ['in a map', new Map([['k', new Parcel()]]), '.get(k) is an instance of Parcel'],
    ['an error', { failures: [new TypeError('no')] }, '.failures[0] is an instance of TypeError'],
    ['a hidden property', { a: Object.defineProperty({}, 'hidden', { value: 1 }) }, '.a is an object that has more than plain data'],
  ])('%s', async (name, value, at) => {
    const events: RunEvent[] = [];
    const onEvent = (event: unknown): void => void events.push(event as RunEvent);
    subscribe('rerunsafe:run', onEvent);
    try {
      await bench({ operation: `where/${name}` }).run(() => value);
    } finally {
      unsubscribe('rerunsafe:run', onEvent);
    }
    expect(events.find(({ event }) => event === 'completed')).toMatchObject({ notKept: 'not-serializable', notKeptAt: at });
  });
});
