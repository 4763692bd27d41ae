import { describe, expect, it } from 'vitest';
import { isRerunSafeError, RerunSafeError } from '../../src/core/errors.ts';
import { withLease } from '../../src/index.ts';
import type { Deliver, RelayOptions } from '../../src/outbox/options.ts';
import { relayOutbox } from '../../src/outbox/relay.ts';
import { stage } from './stage.ts';

describe('the relay, when something is in its way', () => {
  it('I12 whatever deliver throws is a failed try, kept as text that any database takes', async () => {
    const { outbox, relay } = stage();
    const unprintable = {
      toString() {
        throw new Error('not even this');
      },
    };
    const thrown: unknown[] = [
      undefined,
      null,
      7,
      unprintable,
      Symbol('s'),
      new Error('a\0b\ud800', { cause: new TypeError('deeper') }),
      'x'.repeat(5_000),
    ];
    thrown.forEach((_, n) => {
      outbox.add(String(n));
    });
    expect(
      await relay({
        deliver: ({ id }) => {
          throw thrown[Number(id)];
        },
      }),
    ).toMatchObject({ retried: 7 });
    const errors = outbox.rows.map(({ error }) => error);
    expect(errors.slice(0, 6)).toEqual([
      'undefined',
      'null',
      '7',
      'an error that cannot be printed',
      'Symbol(s)',
      'Error: ab\ufffd; because of TypeError: deeper',
    ]);
    expect(errors[6]).toHaveLength(1_000);
  });

  it('I12 a delivery that hangs is told by its signal, has failed, and holds nobody up; a late end of it changes nothing', async () => {
    const { clock, outbox, relay } = stage();
    outbox.add('hangs');
    let signal: AbortSignal | undefined;
    let endLate = (_: Error): void => {};
    const running = relay({
      deliverTimeoutMs: 5_000,
      deliver: (_message, call) => {
        signal = call.signal;
        return new Promise((_, reject) => {
          endLate = reject;
        });
      },
    });
    await clock.advance(5_000);
    expect(await running).toMatchObject({ retried: 1, delivered: 0 });
    expect(signal?.aborted).toBe(true);
    endLate(new Error('long gone'));
    await clock.settle();
    expect(outbox.rows[0]?.error).toBe('Error: the delivery was not done within 5000 ms');
    expect(clock.pendingTimers()).toBe(0);
  });

  it('I6 two at once: one works, the other is told who is at it and delivers nothing', async () => {
    const { clock, outbox, relay, told } = stage();
    outbox.add('x');
    let go = (): void => {};
    const first = relay({
      deliver: () =>
        new Promise<void>((resolve) => {
          go = resolve;
        }),
    });
    await clock.settle();
    expect(await relay()).toMatchObject({ kind: 'held' });
    go();
    expect(await first).toMatchObject({ kind: 'done', delivered: 1 });
    expect(told).toEqual([]);
  });

  it('I4 a relay that was paused past its lease delivers nothing more, and marks nothing', async () => {
    const { clock, outbox, relay, told } = stage();
    for (const id of ['a1', 'a2']) outbox.add(id, 'a');
    let wake = (): void => {};
    const paused = relay({
      leaseMs: 1_000,
      deliver: async ({ id }) => {
        told.push(`old ${id}`);
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
        throw new Error('the old one says it failed');
      },
    });
    await clock.settle();
    // The process stands still: no timer of it fires, and the clocks move on.
    clock.freezeMonotonic(5_000);
    const next = await relay();
    wake();
    await expect(paused).rejects.toMatchObject({ code: 'LEASE_LOST' });
    expect(next).toMatchObject({ delivered: 2 });
    expect(told).toEqual(['old a1', 'a1', 'a2']);
    expect(outbox.rows).toEqual([]);
    expect(clock.pendingTimers()).toBe(0);
  });

  it('near the end of the invocation nothing new begins, and what that cuts short has not failed', async () => {
    const { clock, outbox, relay } = stage();
    for (const n of [1, 2, 3]) outbox.add(`${n}`, 'k');
    const endMs = clock.nowMs() + 10_000;
    const running = relay({
      remainingMs: () => endMs - clock.nowMs(),
      deliver: ({ id }) => new Promise<void>((resolve) => void clock.timers.after(id === '1' ? 3_000 : 60_000, resolve)),
    });
    await clock.advance(9_800);
    expect(await running).toEqual({ kind: 'done', ended: 'time-up', delivered: 1, retried: 0, parked: 0 });
    expect(outbox.rows.map(({ id, attempts }) => [id, attempts])).toEqual([
      ['2', 0],
      ['3', 0],
    ]);
  });

  it('I12 cancelled: what is on its way is told, what was delivered is marked, nothing has failed', async () => {
    const { clock, outbox, relay } = stage();
    for (const id of ['done', 'cut', 'later']) outbox.add(id, 'k');
    const stop = new AbortController();
    const running = relay({
      signal: stop.signal,
      deliver: ({ id }, { signal }) =>
        id === 'done' ? undefined : new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true })),
    });
    await clock.settle();
    stop.abort();
    expect(await running).toEqual({ kind: 'done', ended: 'cancelled', delivered: 1, retried: 0, parked: 0 });
    expect(outbox.rows.map(({ id, attempts }) => [id, attempts])).toEqual([
      ['cut', 0],
      ['later', 0],
    ]);
    expect(await relay({ signal: stop.signal })).toMatchObject({ ended: 'cancelled', delivered: 0 });
    expect(clock.pendingTimers()).toBe(0);
  });

  it('an outbox that does not answer is asked again; one that stays away ends the relay with its error', async () => {
    const { clock, outbox, relay } = stage();
    outbox.add('x');
    const away = new RerunSafeError('STORE_UNAVAILABLE', 'away');
    outbox.fail('settle', new RerunSafeError('WRITE_UNKNOWN', 'no answer'), away);
    const running = relay();
    await clock.advance(1_000);
    expect(await running).toMatchObject({ delivered: 1 });
    expect(outbox.rows).toEqual([]);
    outbox.fail('take', ...Array.from({ length: 20 }, () => away));
    const failing = expect(relay()).rejects.toBe(away);
    await clock.advance(30_000);
    await failing;
    outbox.fail('enter', new RerunSafeError('STORE_MISCONFIGURED', 'no table'));
    await expect(relay()).rejects.toMatchObject({ code: 'STORE_MISCONFIGURED' });
    expect(clock.pendingTimers()).toBe(0);
  });

  it('when nothing can be marked, nothing more is delivered', async () => {
    const { outbox, relay, told } = stage();
    for (let n = 0; n < 50; n++) outbox.add(`${n}`, 'k');
    outbox.fail('settle', new RerunSafeError('STALE_TOKEN', 'overtaken'));
    await expect(
      relay({
        deliver: async ({ id }) => {
          told.push(id);
          await new Promise(setImmediate);
        },
      }),
    ).rejects.toMatchObject({ code: 'STALE_TOKEN' });
    expect(told.length).toBeLessThan(5);
  });

  it('works under a lease that the caller holds', async () => {
    const { clock, outbox, leases, told } = stage();
    outbox.add('x');
    const deliver: Deliver = ({ id }) => void told.push(id);
    const done = await withLease(leases, 'mine', {}, (lease) => relayOutbox({ outbox, lease, deliver }, clock), clock);
    expect(done).toMatchObject({ kind: 'done', value: { kind: 'done', delivered: 1 } });
  });

  it('nonsense is refused, all of it in one message', async () => {
    const { outbox, leases } = stage();
    const deliver: Deliver = () => {};
    const wrong = (options: object): Promise<unknown> => relayOutbox(options as RelayOptions).catch((error: unknown) => error);
    const error = await wrong({ outbox: {}, deliver: 1, leases: {}, batchSize: 0, concurrency: 1.5, maxAttempts: 0, onParked: 'drop', typo: 1 });
    expect(isRerunSafeError(error, 'INVALID_OPTIONS')).toBe(true);
    for (const name of ['outbox', 'deliver', 'leases', 'batchSize', 'concurrency', 'maxAttempts', 'onParked', 'typo'])
      expect(String(error)).toContain(name);
    for (const options of [
      { outbox, deliver },
      { outbox, leases },
      { outbox, deliver, leases, backoff: { firstMs: 10, mostMs: 5 } },
      { outbox, deliver, leases, backoff: { first: 10 } },
      { outbox, deliver, leases, deliverTimeoutMs: 2 ** 31 },
      { outbox, deliver, leases, leaseMs: 5 },
      undefined,
    ]) {
      expect(isRerunSafeError(await wrong(options as object), 'INVALID_OPTIONS')).toBe(true);
    }
  });
});
