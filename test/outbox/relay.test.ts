import { describe, expect, it } from 'vitest';
import { PermanentError } from '../../src/core/errors.ts';
import type { ParkedMessage } from '../../src/outbox/port.ts';
import { refusing, stage } from './stage.ts';

describe('the relay', () => {
  it('delivers what waits, of each key in order, and says how it ended', async () => {
    const { clock, outbox, relay, told } = stage();
    for (const n of [1, 2, 3]) for (const key of ['a', 'b']) outbox.add(`${key}${n}`, key);
    outbox.add('free');
    expect(await relay({ concurrency: 2 })).toEqual({ kind: 'done', ended: 'empty', delivered: 7, retried: 0, parked: 0, left: 0 });
    expect(told.filter((id) => id.startsWith('a'))).toEqual(['a1', 'a2', 'a3']);
    expect(told.filter((id) => id.startsWith('b'))).toEqual(['b1', 'b2', 'b3']);
    expect(outbox.rows).toEqual([]);
    expect(clock.pendingTimers()).toBe(0);
  });

  it('goes on batch after batch, and hands over topic, key, payload, attempt and time', async () => {
    const { clock, outbox, relay } = stage();
    for (let n = 0; n < 25; n++) outbox.add(`${n}`, 'one', { n });
    const got: unknown[] = [];
    expect(await relay({ batchSize: 10, deliver: (message) => void got.push(message) })).toMatchObject({ delivered: 25 });
    expect(got[24]).toEqual({ id: '24', topic: 'test', key: 'one', payload: { n: 24 }, attempt: 1, createdAtMs: clock.nowMs() });
    expect(got).toHaveLength(25);
  });

  it('a message that fails holds back the later ones of its key, not other keys, and comes again when its time has come', async () => {
    const { clock, outbox, relay, told } = stage();
    for (const id of ['a1', 'a2', 'b1', 'b2']) outbox.add(id, id[0]);
    const deliver = refusing(told, { a1: 1 });
    expect(await relay({ deliver })).toEqual({ kind: 'done', ended: 'empty', delivered: 2, retried: 1, parked: 0, left: 2 });
    expect(told).toEqual(['b1', 'b2']);
    expect(await relay({ deliver })).toMatchObject({ delivered: 0, left: 2 });
    await clock.advance(1_500);
    expect(await relay({ deliver })).toMatchObject({ delivered: 2, left: 0 });
    expect(told).toEqual(['b1', 'b2', 'a1', 'a2']);
  });

  it('the pauses double with each try up to the longest, give or take half', async () => {
    const { clock, outbox, relay } = stage();
    outbox.add('poison', 'k');
    const pauses: number[] = [];
    for (let attempt = 1; attempt <= 8; attempt++) {
      await relay({ backoff: { firstMs: 100, mostMs: 2_000 }, deliver: refusing([], { poison: 1 }) });
      const dueInMs = (outbox.rows[0]?.dueAtMs ?? 0) - clock.nowMs();
      pauses.push(dueInMs);
      await clock.advance(dueInMs);
    }
    const middle = [100, 200, 400, 800, 1_600, 2_000, 2_000, 2_000];
    pauses.forEach((ms, n) => {
      expect(ms).toBeGreaterThanOrEqual((middle[n] ?? 0) * 0.5);
      expect(ms).toBeLessThanOrEqual((middle[n] ?? 0) * 1.5);
    });
    // Without jitter all that failed together would come again together.
    expect(new Set(pauses.slice(5)).size).toBe(3);
  });

  it('I10 a message that always fails is parked with its last error, and its key goes on', async () => {
    const { clock, outbox, relay, told } = stage();
    for (const id of ['a1', 'a2']) outbox.add(id, 'a');
    const deliver = refusing(told, { a1: 99 });
    await relay({ deliver, maxAttempts: 2 });
    await clock.advance(2_000);
    expect(await relay({ deliver, maxAttempts: 2 })).toEqual({ kind: 'done', ended: 'empty', delivered: 1, retried: 0, parked: 1, left: 0 });
    expect(told).toEqual(['a2']);
    const parked: ParkedMessage[] = [];
    for await (const one of outbox.listParked()) parked.push(one);
    expect(parked).toMatchObject([{ id: 'a1', attempts: 2, lastError: 'Error: no a1' }]);
  });

  it('with onParked: hold its key waits for a person, and goes on in order after that', async () => {
    const { outbox, relay, told } = stage();
    for (const id of ['a1', 'a2', 'b1']) outbox.add(id, id[0]);
    const hold = { maxAttempts: 1, onParked: 'hold' } as const;
    expect(await relay({ ...hold, deliver: refusing(told, { a1: 1 }) })).toMatchObject({ parked: 1, delivered: 1, left: 1 });
    expect(await relay(hold)).toMatchObject({ delivered: 0, left: 1 });
    expect(await outbox.unpark('a1')).toBe(true);
    expect(await relay(hold)).toMatchObject({ delivered: 2, left: 0 });
    expect(told).toEqual(['b1', 'a1', 'a2']);
  });

  it('a PermanentError parks at once', async () => {
    const { outbox, relay } = stage();
    outbox.add('x');
    const deliver = (): void => {
      throw new PermanentError('no such customer');
    };
    expect(await relay({ deliver })).toMatchObject({ parked: 1, retried: 0 });
    expect(outbox.rows[0]?.error).toBe('PermanentError: no such customer');
  });
});
