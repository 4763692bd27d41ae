import { describe, expect, it } from 'vitest';
import type { Promised } from './promises.ts';
import { held, LONG_MS, never, SHORT_MS } from './promises-case.ts';

/** What a store needs to answer a few requests on a busy machine. */
const REQUESTS_MS = 6_000;
/** A response's Date is cut to seconds, so an age read from it can lag by that much. */
const DATE_RESOLUTION_MS = 1_000;
const PURGE_AHEAD_MS = 3 * 3_600_000;

export function ownerPromises({ fresh, subject, uncertaintyMs }: Promised): void {
  describe('owners', () => {
    it.concurrent('I5 tokens grow over release, takeover, blocking and deletion of the row', async () => {
      const c = fresh();
      const tokens: number[] = [];
      const seen = async (): Promise<void> => void tokens.push((await c.stands())?.record.token ?? 0);
      const remove = async (): Promise<void> => {
        const standing = await c.stands();
        // A first token is the time in ms: two rows of one ms would have the same.
        while (Date.now() <= (standing?.record.token ?? 0)) await new Promise((resolve) => setTimeout(resolve, 5));
        expect(await c.direct.delete(c.id, standing?.version ?? '')).toMatchObject({ ok: true });
      };
      await expect(c.run(() => Promise.reject(new Error('released')))).rejects.toThrow('released');
      await seen();
      await expect(c.run((run) => Promise.reject(new Error(`released ${run.token}`)))).rejects.toThrow('released');
      await seen();
      await remove();
      // Without an outcome, and so lapsed at once.
      const unknown = { onThrow: () => 'unknown' as const };
      await expect(c.run(() => Promise.reject(new Error('unknown')), unknown)).rejects.toThrow('unknown');
      await seen();
      await expect(c.run(() => Promise.reject(new Error('unknown')), unknown)).rejects.toThrow('unknown');
      await seen();
      expect(await c.run(() => 'x', { onUnknown: 'block' })).toMatchObject({ kind: 'blocked' });
      await seen();
      await remove();
      await c.run(() => 'done');
      await seen();
      expect(tokens).toHaveLength(6);
      expect(tokens, 'each is greater than the one before').toEqual([...new Set(tokens)].sort((a, b) => a - b));
    });

    it.concurrent('I5 the token of a purged record is never given out again', async () => {
      const operation = 'test/purged';
      const c = fresh({ operation, leaseMs: LONG_MS, retentionMs: LONG_MS + 1 });
      await c.run(() => 1);
      const standing = await c.stands();
      const before = standing?.record.token ?? Number.POSITIVE_INFINITY;
      const ahead = subject().ahead?.(PURGE_AHEAD_MS);
      // Where nobody can be ahead of the store's clock: what purge does to an old row is a deletion on its version.
      if (ahead === undefined) expect(await c.direct.delete(c.id, standing?.version ?? '')).toMatchObject({ ok: true });
      else expect(await ahead.purge({ operation })).toEqual({ removed: 1 });
      expect(await c.stands()).toBeUndefined();
      while (Date.now() <= before) await new Promise((resolve) => setTimeout(resolve, 5));
      const fenced = await c.run((run) => run.token);
      expect(fenced.kind === 'completed' && fenced.value).toBeGreaterThan(before);
    });

    it.concurrent('I6 I10 a key whose caller died is refused until its lease ran out, and runs again soon after', async () => {
      const c = fresh({ renew: 'none' });
      const startedAtMs = performance.now();
      void c.run(never, { leaseMs: SHORT_MS }).catch(() => {});
      while ((await c.stands()) === undefined) await new Promise((resolve) => setTimeout(resolve, 5));
      let second = await c.run<number[]>((run) => [run.attempt, performance.now() - startedAtMs]);
      let refusals = 0;
      while (second.kind === 'in-flight') {
        refusals += 1;
        expect(second.retryAfterMs).toBeLessThanOrEqual(SHORT_MS + uncertaintyMs);
        await new Promise((resolve) => setTimeout(resolve, 20));
        second = await c.run<number[]>((run) => [run.attempt, performance.now() - startedAtMs]);
      }
      if (second.kind !== 'completed') throw new Error(second.kind);
      const [attempt = 0, afterMs = 0] = second.value;
      expect(attempt).toBe(2);
      expect(refusals).toBeGreaterThan(0);
      expect(afterMs).toBeGreaterThanOrEqual(SHORT_MS + uncertaintyMs - 1);
      expect(afterMs).toBeLessThan(SHORT_MS + uncertaintyMs + DATE_RESOLUTION_MS + REQUESTS_MS);
    });

    it.concurrent('I10 who waits for a caller that died gets to run without asking again', async () => {
      const c = fresh({ renew: 'none' });
      void c.run(never, { leaseMs: SHORT_MS }).catch(() => {});
      while ((await c.stands()) === undefined) await new Promise((resolve) => setTimeout(resolve, 5));
      expect(await c.run((run) => run.attempt, { onInFlight: { waitMs: 20_000 } })).toMatchObject({ kind: 'completed', value: 2 });
    });

    it.concurrent('I6 renewal keeps the record for as long as the work takes', async () => {
      const leaseMs = 1_500;
      const c = fresh({ leaseMs });
      const work = held<string>();
      let lost: boolean | undefined;
      const running = c.run(async (run) => {
        const value = await work.work();
        lost = run.signal.aborted;
        return value;
      });
      await work.started;
      const endsAtMs = performance.now() + 2 * leaseMs + uncertaintyMs + DATE_RESOLUTION_MS;
      while (performance.now() < endsAtMs) {
        expect(await c.run(() => 'overlap')).toMatchObject({ kind: 'in-flight' });
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
      work.end('one');
      expect(await running).toMatchObject({ value: 'one', saved: true, attempt: 1 });
      expect(lost).toBe(false);
    });

    it.concurrent('I4 steps and renewals of one owner do not overtake each other', async () => {
      const c = fresh({ leaseMs: LONG_MS });
      const result = await c.run(async (run) => {
        const names = Array.from({ length: 8 }, (_, n) => `step ${n}`);
        return Promise.all(names.map((name) => run.step(name, async () => name)));
      });
      expect(result).toMatchObject({ kind: 'completed', saved: true, attempt: 1 });
      expect(c.store.calls.filter(({ answer }) => typeof answer === 'object' && 'ok' in answer && !answer.ok)).toHaveLength(0);
    });
  });
}
