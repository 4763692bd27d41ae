import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { scheduledEvent } from '../support/aws-events.ts';
import { javaAvailable } from '../support/dynamodb.ts';
import { isInFlight, openStage, payloadOf, type Stage, untilTaken } from './stage.ts';

const KEYS = 20;
vi.setConfig({ testTimeout: 60_000 });

describe.runIf(await javaAvailable()).concurrent('invocations at the same time', () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await openStage();
  });
  afterAll(() => stage?.close());

  it('I1 I2 in two sandboxes with one key: one runs, the other is refused, and then is given the same', async () => {
    const [first, second] = [stage.sandbox('order'), stage.sandbox('order')];
    const order = { id: 'one key', task: 'hold' };
    const running = first.invoke(order);
    await stage.ledger.reached(order.id, 'holds');
    expect(isInFlight(await second.invoke(order))).toBe(true);
    stage.ledger.letGo(order.id);
    const value = payloadOf(await running);
    expect(payloadOf(await second.invoke(order))).toEqual(value);
    expect(stage.ledger.of(order.id, 'charged')).toHaveLength(1);
  });

  it(`I1 I2 in two sandboxes with the same ${KEYS} keys: each effect once, and both are given the same for each`, async () => {
    const sandboxes = [stage.sandbox('order'), stage.sandbox('order')];
    const orders = Array.from({ length: KEYS }, (_, n) => ({ id: `of many ${n}`, task: 'charge' }));
    const values = await Promise.all(
      sandboxes.map(async (sandbox) => {
        const mine: unknown[] = [];
        for (const order of orders) mine.push(payloadOf(await untilTaken(sandbox, order, isInFlight)));
        return mine;
      }),
    );
    expect(values[0]).toEqual(values[1]);
    for (const { id } of orders) expect(stage.ledger.of(id).map(({ what }) => what)).toEqual(['begun', 'charged']);
  });

  it('I1 in two sandboxes with one scheduled event: one runs, the other is skipped, also when it comes once more', async () => {
    const sandboxes = [stage.sandbox('nightly'), stage.sandbox('nightly')];
    const event = { ...scheduledEvent(), order: { id: 'the night', task: 'hold' } };
    const both = sandboxes.map((sandbox) => sandbox.invoke(event));
    await stage.ledger.reached('the night', 'holds');
    expect(payloadOf(await Promise.race(both))).toBeNull();
    stage.ledger.letGo('the night');
    const payloads = (await Promise.all(both)).map(payloadOf);
    expect(payloads.filter((payload) => payload !== null)).toHaveLength(1);
    for (const sandbox of sandboxes) expect(payloadOf(await sandbox.invoke(event))).toBeNull();
    expect(stage.ledger.of('the night').map(({ what }) => what)).toEqual(['begun', 'holds', 'charged']);
  });

  describe('in one process, as in managed instances', () => {
    const shared = (options: object = {}) => stage.sandbox('order', options, { maxConcurrency: 16 });

    it('I1 share nothing: each has its own run, found from anywhere below, its own deadline and its own signal', async () => {
      const sandbox = shared();
      const orders = Array.from({ length: 12 }, (_, n) => ({ id: `side by side ${n}`, task: 'look' }));
      // Of each two, one has little time and one has much.
      const limitMs = (n: number): number => (n % 2 === 0 ? 10_000 : 30_000);
      const running = orders.map((order, n) => sandbox.invoke(order, { timeoutMs: limitMs(n) }));
      await Promise.all(orders.map(({ id }) => stage.ledger.reached(id, 'holds')));
      for (const { id } of orders) stage.ledger.letGo(id);
      const seen = (await Promise.all(running)).map((invoked) =>
        payloadOf<{ isCurrent: boolean; key: string; remainingMs: number; aborted: boolean }>(invoked),
      );
      expect(new Set(seen.map(({ key }) => key)).size).toBe(orders.length);
      for (const [n, { isCurrent, aborted, remainingMs }] of seen.entries()) {
        expect([isCurrent, aborted]).toEqual([true, false]);
        expect(remainingMs).toBeLessThanOrEqual(limitMs(n));
        expect(remainingMs).toBeGreaterThan(limitMs(n) - 10_000);
      }
    });

    it('I1 I2 with one key: one runs, the others are refused', async () => {
      const sandbox = shared();
      const order = { id: 'one key, one process', task: 'hold' };
      const running = Array.from({ length: 5 }, () => sandbox.invoke(order));
      await stage.ledger.reached(order.id, 'holds');
      let refused = 0;
      const others = new Promise<void>((resolve) => {
        for (const one of running) void one.then((invoked) => (isInFlight(invoked) && ++refused === 4 ? resolve() : undefined));
      });
      await others;
      stage.ledger.letGo(order.id);
      const invoked = await Promise.all(running);
      expect(invoked.filter(isInFlight)).toHaveLength(4);
      expect(invoked.filter(({ kind }) => kind === 'response')).toHaveLength(1);
      expect(stage.ledger.of(order.id, 'charged')).toHaveLength(1);
    });

    it('I10 I12 one that comes near its limit is told to stop; the signal of another, with time left, stays quiet', async () => {
      const sandbox = shared();
      await sandbox.invoke({ id: 'before both', task: 'charge' });
      const [long, short] = [
        { id: 'long', task: 'look' },
        { id: 'short', task: 'heed' },
      ] as const;
      const longOne = sandbox.invoke(long);
      await stage.ledger.reached(long.id, 'holds');
      expect(await sandbox.invoke(short, { timeoutMs: 2_500 })).toMatchObject({ kind: 'error', errorType: 'TimeoutError' });
      expect(await stage.record(short.id)).toMatchObject({ state: 'released' });
      stage.ledger.letGo(long.id);
      const seen = payloadOf<{ aborted: boolean; remainingMs: number; isCurrent: boolean }>(await longOne);
      expect(seen).toMatchObject({ aborted: false, isCurrent: true });
      expect(seen.remainingMs).toBeGreaterThan(10_000);
    });

    it('I2 I4 work that goes on after its caller was told of a time-out, past its lease: taken over in the same process, it is told and changes nothing', async () => {
      const sandbox = shared({ leaseMs: 3_000 });
      const id = 'goes on';
      await sandbox.invoke({ id: 'before it goes on', task: 'charge' });
      const cut = await sandbox.invoke({ id, task: 'fenced' }, { timeoutMs: 1_500 });
      expect(cut.kind).toBe('timeout');
      const taking = untilTaken(sandbox, { id, task: 'fenced' }, isInFlight);
      await stage.ledger.reached(id, 'fenced', 2);
      stage.ledger.letGo(id);
      const taken = await taking;
      const found = [await stage.ledger.reached(id, 'found'), await stage.ledger.reached(id, 'found', 2)].map(({ facts }) => facts);
      expect(found).toContainEqual(expect.objectContaining({ assertHeld: 'done', put: 'done', update: 'done' }));
      expect(found).toContainEqual({ assertHeld: 'LEASE_LOST', aborted: true, step: 'LEASE_LOST', put: 'STALE_TOKEN', update: 'STALE_TOKEN' });
      expect(taken).toMatchObject({ pid: cut.pid, payload: { attempt: 2 } });
      expect(await stage.record(id)).toMatchObject({ state: 'completed', attempt: 2 });
    });
  });
});
