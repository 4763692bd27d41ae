import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { countTimers } from './counting-timers.ts';
import type { Promised } from './promises.ts';
import { gate, held, never, SHORT_MS, until } from './promises-case.ts';

/** Registers the other promises with `body`, watches them, and then shows what is left behind. */
export function hygienePromises({ fresh }: Promised, body: () => void): void {
  const unhandled: unknown[] = [];
  const onUnhandled = (reason: unknown): void => void unhandled.push(reason);
  beforeAll(() => void process.on('unhandledRejection', onUnhandled));
  afterAll(() => void process.off('unhandledRejection', onUnhandled));

  body();

  describe('hygiene', () => {
    it('I12 no rejection of all the runs above went unhandled', async () => {
      await new Promise((resolve) => setTimeout(resolve, 50));
      expect(unhandled).toEqual([]);
    });

    it('I12 no timer is left behind by runs that end, fail, wait, renew, lose their lease or are cancelled', async () => {
      const timers = countTimers();
      try {
        await fresh().run(() => 1);
        const failed = fresh();
        await failed.run(() => Promise.reject(new Error('no'))).catch(() => {});
        const renewed = fresh({ leaseMs: 1_500 });
        await renewed.run(() => until('it was renewed', () => renewed.store.counts.replace > 0));
        const lost = fresh({ leaseMs: SHORT_MS, renew: 'none' });
        await lost.run((run) => until('it is lost', () => run.signal.aborted));
        const waited = fresh();
        const first = held<number>();
        const running = waited.run(first.work);
        await first.started;
        const cancelled = new AbortController();
        const waiting = [
          waited.run(() => 2, { onInFlight: { waitMs: 60_000 } }),
          waited.run(() => 2, { onInFlight: { waitMs: 60_000 }, signal: cancelled.signal }),
        ];
        const outcomes = Promise.allSettled(waiting);
        expect(timers.open().length).toBeGreaterThan(0);
        cancelled.abort();
        first.end(1);
        await running;
        expect((await outcomes).map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
        // Cancelled timers are reported a turn later.
        await until('all are gone', () => timers.open().length === 0, 2_000).catch(() => {});
        expect(timers.open()).toEqual([]);
        expect(timers.started()).toBeGreaterThan(10);
      } finally {
        timers.stop();
      }
    });

    it('I12 a caller that cancels gets its own reason: before, while waiting, and as the signal of the work', async () => {
      const reason = new Error('the client hung up');
      const c = fresh();
      const forbidden = (): never => {
        throw new Error('the work ran');
      };
      await expect(c.run(forbidden, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
      expect(await c.stands()).toBeUndefined();

      const first = held<number>();
      const running = c.run(first.work);
      await first.started;
      const waiting = new AbortController();
      const waited = c.run(forbidden, { onInFlight: { waitMs: 60_000 }, signal: waiting.signal });
      setTimeout(() => waiting.abort(reason), 100);
      await expect(waited).rejects.toBe(reason);
      first.end(1);
      await running;

      const working = new AbortController();
      const other = fresh();
      const started = gate();
      const cancelled = other.run(
        (run) => {
          started.open();
          return Promise.race([never(), new Promise((_, reject) => run.signal.addEventListener('abort', () => reject(run.signal.reason)))]);
        },
        { signal: working.signal },
      );
      await started.opened;
      working.abort(reason);
      await expect(cancelled).rejects.toBe(reason);
      expect((await other.stands())?.record.state).toBe('released');
    });
  });
}
