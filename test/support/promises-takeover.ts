import { describe, expect, it } from 'vitest';
import type { Run, RunResult } from '../../src/index.ts';
import type { Promised } from './promises.ts';
import { type Case, gate, held, LONG_MS, never, SHORT_MS, until } from './promises-case.ts';

const long = { leaseMs: LONG_MS } as const;
const short = { leaseMs: SHORT_MS, renew: 'none' } as const;

export function takeoverPromises({ fresh }: Promised): void {
  /** The first attempt outlives its lease, the second completes. What the first still does must change nothing. */
  async function zombie<T>(work: (resumed: Promise<void>, run: Run) => Promise<T>, options = {}) {
    const c = fresh({ ...short, ...options });
    const resume = gate();
    const first: Promise<RunResult<unknown>> = c.run((run) => work(resume.opened, run as Run));
    first.catch(() => {});
    await c.lapse();
    expect(await c.run(() => 'two', long)).toMatchObject({ value: 'two', replayed: false });
    const settled = await c.row();
    resume.open();
    return { c, first, settled };
  }

  describe('takeover', () => {
    it.concurrent("I4 I2 a late result changes nothing, and its caller gets the successor's outcome", async () => {
      const { c, first, settled } = await zombie(async (resumed) => {
        await resumed;
        return 'one';
      });
      expect(await first).toMatchObject({ kind: 'completed', value: 'two', replayed: true });
      expect(await c.row()).toBe(settled);
      expect(await c.run(() => 'three')).toMatchObject({ value: 'two' });
    });

    it.concurrent('I4 a late failure changes nothing, and its caller gets the very thing that was thrown', async () => {
      const thrown = new Error('late');
      const { c, first, settled } = await zombie(async (resumed) => {
        await resumed;
        throw thrown;
      });
      await expect(first).rejects.toBe(thrown);
      expect(await c.row()).toBe(settled);
    });

    it.concurrent('I4 a late step changes nothing: its work does not start, and its caller is told', async () => {
      let started = false;
      const { c, first, settled } = await zombie(async (resumed, run) => {
        await resumed;
        return run.step('late', () => {
          started = true;
        });
      });
      await expect(first).rejects.toMatchObject({ code: 'LEASE_LOST' });
      expect(started).toBe(false);
      expect(await c.row()).toBe(settled);
    });

    it.concurrent('I4 a step whose work outlives the lease is not kept, and what it found does not reach the successor', async () => {
      const { c, first, settled } = await zombie(async (resumed, run) => run.step('slow', () => resumed));
      await expect(first).rejects.toMatchObject({ code: 'LEASE_LOST' });
      expect(await c.row()).toBe(settled);
    });

    it.concurrent('I4 an owner that was overtaken is told by its signal and by assertHeld', async () => {
      let seen: unknown;
      const { first } = await zombie(async (resumed, run) => {
        await resumed;
        expect(run.signal.reason).toMatchObject({ code: 'LEASE_LOST' });
        expect(run.remainingMs()).toBe(0);
        seen = codeOf(() => run.assertHeld());
      });
      await first;
      expect(seen).toBe('LEASE_LOST');
    });

    it.concurrent.each(['renewal', 'step', 'failure', 'result'] as const)(
      'I4 a late copy of a %s that reaches the store only after the takeover is refused',
      async (late) => {
        const c = fresh({ leaseMs: SHORT_MS, renew: late === 'renewal' ? 'auto' : 'none' });
        c.plan.replace = () => 'lost-request';
        const first = c.run((run) => {
          if (late === 'step') void run.step('s', () => 1).catch(() => {});
          if (late === 'failure') throw new Error('mine');
          return late === 'result' ? 'one' : never();
        });
        first.catch(() => {});
        await until('it was sent', () => c.store.counts.replace > 0);
        await c.lapse();
        delete c.plan.replace;
        expect(await c.run(() => 'two', long)).toMatchObject({ kind: 'completed', value: 'two' });
        const settled = await c.row();
        expect(await lateCopies(c)).toBeGreaterThan(0);
        expect(await c.row()).toBe(settled);
      },
    );

    it.concurrent('I4 a late copy of a claim is refused, whoever holds the record by then', async () => {
      const c = fresh({ leaseMs: SHORT_MS });
      c.plan.create = () => 'lost-request';
      await expect(c.run(() => 'never')).rejects.toMatchObject({ code: 'WRITE_UNKNOWN' });
      delete c.plan.create;
      expect(await c.run(() => 'two', long)).toMatchObject({ value: 'two' });
      const settled = await c.row();
      expect(await lateCopies(c)).toBeGreaterThan(0);
      expect(await c.row()).toBe(settled);
    });

    it.concurrent('I4 overtaken while the successor still works: LEASE_LOST, and the successor is not disturbed', async () => {
      const c = fresh(short);
      const one = held<string>();
      const two = held<string>();
      const first = c.run(one.work);
      await c.lapse();
      const second = c.run(two.work, long);
      await two.started;
      one.end('one');
      await expect(first).rejects.toMatchObject({ code: 'LEASE_LOST', retryable: true });
      two.end('two');
      expect(await second).toMatchObject({ value: 'two', saved: true });
    });

    it.concurrent('I1 I2 I10 three parties: the takeover crashes too, and of those who come then one wins', async () => {
      const c = fresh(short);
      const one = held<string>();
      const two = held<string>();
      const first = c.run(one.work);
      await c.lapse();
      const second = c.run(two.work);
      await two.started;
      await c.lapse();
      const racers = ['three', 'four', 'five'].map((name) => c.run(() => name, { ...long, onInFlight: { waitMs: 10_000 } }));
      const results = await Promise.all(racers);
      const winners = results.filter((result) => result.kind === 'completed' && !result.replayed);
      expect(winners).toHaveLength(1);
      const value = winners[0]?.kind === 'completed' ? winners[0].value : undefined;
      two.end('two');
      one.end('one');
      for (const result of [...results, await second, await first, await c.run(() => 'six')])
        expect(result).toMatchObject({ kind: 'completed', value });
    });

    it.concurrent('I6 a lease that runs out while a takeover is being written is taken once', async () => {
      const c = fresh(short);
      void c.run(never).catch(() => {});
      await c.lapse();
      const others = gate();
      const before = c.store.counts.replace;
      // The first claim over the lapsed record is held back until another caller has gone by.
      c.plan.before = (operation, n) => (operation === 'replace' && n === before + 1 ? others.opened : undefined);
      const slow = c.run(() => 'slow', long);
      await until('its claim is under way', () => c.store.counts.replace > before);
      expect(await c.run(() => 'quick', long)).toMatchObject({ value: 'quick', replayed: false });
      others.open();
      expect(await slow).toMatchObject({ value: 'quick', replayed: true });
    });

    it.concurrent('I3 the lease ran out but nobody took over: the result is saved all the same', async () => {
      const c = fresh(short);
      const one = held<string>();
      const first = c.run(one.work);
      await c.lapse();
      one.end('one');
      expect(await first).toMatchObject({ value: 'one', saved: true });
      expect(await c.run(() => 'two')).toMatchObject({ value: 'one', replayed: true });
    });

    it.concurrent('I8 a throw after the lease is over declares nothing', async () => {
      const c = fresh(short);
      const one = held<string>();
      const first = c.run(one.work);
      await c.lapse();
      const before = await c.row();
      one.fail(new Error('late'));
      await expect(first).rejects.toThrow('late');
      expect(await c.row()).toBe(before);
    });
  });
}

/** Sends again, straight to the store, what a caller believes may have been lost. Returns how much was sent. */
async function lateCopies(c: Case): Promise<number> {
  const lost = c.store.calls.filter((call) => call.fault === 'lost-request');
  for (const { record, version } of lost) {
    if (record === undefined) continue;
    const answer = version === undefined ? await c.direct.create(c.id, record) : await c.direct.replace(c.id, record, version);
    expect(answer).toMatchObject({ ok: false, reason: 'conflict' });
  }
  return lost.length;
}

function codeOf(body: () => void): unknown {
  try {
    body();
    return undefined;
  } catch (error) {
    return (error as { code?: unknown }).code;
  }
}
