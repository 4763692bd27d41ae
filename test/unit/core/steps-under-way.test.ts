import { describe, expect, it } from 'vitest';
import type { Run } from '../../../src/index.ts';
import { bench, eventsOf, held, inTime } from './engine.ts';

describe('work that throws while other steps are under way', () => {
  it('I6 waits for them before it gives up: their values are kept, and nothing starts again beside them', async () => {
    const b = bench({ leaseMs: 5_000 });
    const mail = held<string>();
    const calls = { charge: 0, mail: 0 };
    const work = (run: Run) =>
      Promise.all([
        run.step('charge', () => {
          calls.charge += 1;
          if (calls.charge === 1) throw new Error('declined');
          return 'charged';
        }),
        run.step('mail', () => {
          calls.mail += 1;
          return mail.work();
        }),
      ]);
    const first = b.run(work);
    first.catch(() => {});
    await mail.started;
    await b.clock.advance(1_000);
    expect(await b.run(work)).toMatchObject({ kind: 'in-flight' });
    mail.end('sent');
    await expect(inTime(b.clock, first)).rejects.toThrow('declined');
    expect(await b.run(work)).toMatchObject({ value: ['charged', 'sent'], attempt: 2 });
    expect(calls).toEqual({ charge: 2, mail: 1 });
  });

  it('I6 I10 no longer than its lease: then nothing is declared, and the next caller comes after it', async () => {
    const b = bench({ leaseMs: 1_000 });
    const events = await eventsOf(async () => {
      const first = b.run((run) => {
        void run.step('hangs', () => new Promise(() => {}));
        throw new Error('beside it');
      });
      await expect(inTime(b.clock, first, 2_000)).rejects.toThrow('beside it');
    });
    expect(events).not.toContain('released');
    expect((await b.run(() => 'too early')).kind).toBe('in-flight');
    await b.clock.advance(500);
    expect(await b.run((run) => run.attempt)).toMatchObject({ value: 2 });
  });

  it('I6 nor after the caller has given up: those that stop when told have a moment for it, for the others nothing is declared', async () => {
    for (const stops of [true, false]) {
      const b = bench({ leaseMs: 60_000 });
      const caller = new AbortController();
      const run = b.run(
        (own) =>
          Promise.all([
            own.step('waits', () => new Promise((_, reject) => own.signal.addEventListener('abort', () => reject(own.signal.reason)))),
            own.step(
              'beside',
              () => new Promise((_, reject) => own.signal.addEventListener('abort', () => stops && setImmediate(reject, new Error('stopped')))),
            ),
          ]),
        { signal: caller.signal },
      );
      run.catch(() => {});
      await b.clock.settle();
      caller.abort(new Error('gone'));
      await new Promise(setImmediate);
      await expect(inTime(b.clock, run, 2_000)).rejects.toThrow('gone');
      expect((await b.run(() => 'next')).kind).toBe(stops ? 'completed' : 'in-flight');
    }
  });

  it('an error that is remembered is not held up for another attempt: there is none', async () => {
    const b = bench({ onThrow: () => 'remember' });
    const mail = held<string>();
    const first = b.run(async (run) => {
      void run.step('mail', mail.work);
      await mail.started;
      throw new Error('declined');
    });
    first.catch(() => {});
    await b.clock.settle();
    mail.end('sent');
    expect(await inTime(b.clock, first)).toMatchObject({ kind: 'failed' });
    expect(await b.run(() => 'again')).toMatchObject({ kind: 'failed', replayed: true });
  });
});
