import { describe, expect, it } from 'vitest';
import { bench, inTime } from './engine.ts';

describe('the look after a save that found no answer', () => {
  it('I3 no save gets through until the lease ends, and the record still stands as it was left: the save is sent once more, over that', async () => {
    const b = bench({ leaseMs: 1_000 });
    b.plan.replace = () => (b.store.counts.read === 0 ? 'unavailable' : undefined);
    const saving = b.run(() => 'charged');
    expect(await inTime(b.clock, saving)).toMatchObject({ kind: 'completed', value: 'charged', saved: true });
    expect(await b.run(() => 'again')).toMatchObject({ value: 'charged', replayed: true });
  });

  it('I3 no save gets through until the lease ends, and the record is gone: it is made anew', async () => {
    const b = bench({ leaseMs: 1_000 });
    b.plan.replace = () => 'unavailable';
    const saving = b.run(async () => {
      for await (const one of b.store.list({})) await b.store.delete(one.id, one.version);
      return 'charged';
    });
    expect(await inTime(b.clock, saving)).toMatchObject({ kind: 'completed', value: 'charged', saved: true });
    expect(await b.run(() => 'again')).toMatchObject({ value: 'charged', replayed: true });
  });

  it('I3 the save that is sent once more loses its answer: it is looked for again', async () => {
    const b = bench({ leaseMs: 1_000 });
    b.plan.replace = () => (b.store.counts.read === 0 ? 'unavailable' : 'lost-answer');
    expect(
      await inTime(
        b.clock,
        b.run(() => 'charged'),
      ),
    ).toMatchObject({ value: 'charged', saved: true });
  });

  it('I12 once the invocation is at its end, nothing more is sent after the look: the caller still has to get its answer', async () => {
    const b = bench({ leaseMs: 1_000 });
    b.plan.replace = () => 'unavailable';
    const endsAtMs = b.clock.nowMs() + 300;
    const guard = { remainingMs: () => endsAtMs - b.clock.nowMs() };
    expect(
      await inTime(
        b.clock,
        b.run(() => 'charged', guard as never),
      ),
    ).toMatchObject({ value: 'charged', saved: false });
    expect(b.store.calls.at(-1)?.operation).toBe('read');
    expect(b.store.counts.read).toBe(1);
  });

  it('a store that never takes the save, and always answers what stands there, is asked a bounded number of times', async () => {
    const b = bench({ leaseMs: 1_000 });
    b.plan.replace = () => 'unavailable';
    expect(
      await inTime(
        b.clock,
        b.run(() => 'charged'),
      ),
    ).toMatchObject({ value: 'charged', saved: false });
    expect(b.store.counts.read).toBe(2);
  });
});
