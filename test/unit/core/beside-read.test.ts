import { describe, expect, it } from 'vitest';
import { writeUnknown } from '../../../src/core/errors.ts';
import type { RecordStore } from '../../../src/index.ts';
import { incompressible } from '../../support/incompressible.ts';
import { type Bench, ended, fails } from './claims.ts';
import { bench } from './engine.ts';
import { runEvents } from './run-events.ts';

async function heard(b: Bench, run: () => Promise<unknown>) {
  const { events, stop } = runEvents();
  const answer = await ended(b, run());
  stop();
  return { answer, names: events.map(({ event }) => event) };
}

describe('what lies beside a record', () => {
  const large = () => bench({ leaseMs: 60_000 }, { inlineBytes: 2_000, maxRecordBytes: 4_000 });
  const value = incompressible(6_000);
  type ReadPart = NonNullable<RecordStore['readPart']>;

  it('I3 is gone for good, beside a record that names it: said, and nothing is run', async () => {
    const b = large();
    await b.run(() => value);
    const readPart: ReadPart = async () => undefined;
    const { answer, names } = await heard(b, () => b.run(fails, { store: { ...b.store, readPart } } as never));
    expect(answer).toMatchObject({ code: 'STORE_MISCONFIGURED' });
    expect(names).toEqual(['refused']);
  });

  it('I2 was there a moment ago: the record is looked at once more, and may be gone with it; then the work runs', async () => {
    const b = large();
    await b.run(() => value);
    const readPart: ReadPart = async () => {
      for await (const one of b.store.list({})) await b.store.delete(one.id, one.version);
      return undefined;
    };
    const { answer, names } = await heard(b, () => b.run(() => 'new', { store: { ...b.store, readPart } } as never));
    expect(answer).toMatchObject({ kind: 'completed', value: 'new', replayed: false });
    expect(names).toEqual(['claimed', 'completed']);
  });

  it('I2 or has come again: then that is the outcome', async () => {
    const b = large();
    await b.run(() => value);
    let reads = 0;
    // Of two parts, as they are read the first time.
    const readPart: ReadPart = async (...call) => (++reads <= 2 ? undefined : b.store.readPart?.(...call));
    const { answer, names } = await heard(b, () => b.run(fails, { store: { ...b.store, readPart } } as never));
    expect(answer).toMatchObject({ value, replayed: true });
    expect(names).toEqual(['replayed']);
  });

  it('I3 could not be read: no reason to run the work, not even unguarded', async () => {
    const b = large();
    await b.run(() => value);
    const readPart: ReadPart = () => Promise.reject(writeUnknown('read', undefined));
    const { answer, names } = await heard(b, () => b.run(fails, { store: { ...b.store, readPart }, onStoreDown: 'run' } as never));
    expect(answer).toMatchObject({ code: 'STORE_UNAVAILABLE', message: expect.stringContaining('read a part of the outcome') });
    expect(names).toEqual(['refused']);
  });

  it('I12 is not waited for by a caller who has given up', async () => {
    const b = large();
    await b.run(() => value);
    const caller = new AbortController();
    const reason = new Error('gone');
    const readPart: ReadPart = () => {
      caller.abort(reason);
      return new Promise<never>(() => {});
    };
    const { answer } = await heard(b, () => b.run(fails, { store: { ...b.store, readPart }, signal: caller.signal } as never));
    expect(answer).toBe(reason);
    expect(b.clock.pendingTimers()).toBe(0);
  });
});
