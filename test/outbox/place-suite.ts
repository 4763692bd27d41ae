/**
 * What every place for messages has to keep, on real servers.
 *
 * @module
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { PendingMessage } from '../../src/core/outbox.ts';
import type { Fence } from '../../src/core/ports.ts';
import { memoryStore, storeLeases } from '../../src/index.ts';
import type { Deliver, RelayOptions } from '../../src/outbox/options.ts';
import type { OutboxPlace, ParkedMessage, WaitingMessage } from '../../src/outbox/port.ts';
import { type RelayResult, relayOutbox } from '../../src/outbox/relay.ts';
import { refusing } from './stage.ts';

export interface PlaceSubject {
  readonly outbox: OutboxPlace;
  /** One transaction with these messages, as the commit of a run writes them. */
  write(messages: readonly PendingMessage[]): Promise<void>;
  /** What waits for its next try is due. */
  timePasses(): Promise<void>;
  stop(): Promise<void>;
}

export const pending = (id: string, key?: string, payload: unknown = { id }, position = 0): PendingMessage => ({
  id,
  topic: 'test/happened',
  key,
  payload,
  position,
});

const relayFence = (token: number): Fence => ({ id: 'relay', owner: randomUUID(), token });

export function placeSuite(name: string, start: () => Promise<PlaceSubject>): void {
  describe(`an outbox in ${name}`, () => {
    let subject: PlaceSubject;
    beforeAll(async () => {
      subject = await start();
      await subject.outbox.setUp();
      await subject.outbox.setUp();
    });
    afterAll(() => subject?.stop());

    // One for all tests of a file: a place takes no relay with a token lower than the last.
    const leases = storeLeases(memoryStore());
    const relay = (deliver: Deliver, more: Partial<RelayOptions> = {}): Promise<RelayResult> =>
      relayOutbox({ outbox: subject.outbox, leases, deliver, backoff: { firstMs: 600_000 }, ...more });
    const parked = async (): Promise<ParkedMessage[]> => {
      const all: ParkedMessage[] = [];
      for await (const one of subject.outbox.listParked()) all.push(one);
      return all;
    };
    const waiting = async (): Promise<WaitingMessage[]> => {
      const all: WaitingMessage[] = [];
      for (let after: unknown; ; ) {
        const taken = await subject.outbox.take({ limit: 1_000, holdParked: false, ...(after === undefined ? {} : { after }) });
        all.push(...taken.messages);
        after = taken.next;
        if (after === undefined) return all;
      }
    };

    it('gives back what was written, whatever is in it, and of each key in the order of the commits', async () => {
      const payloads = [null, 'a\0b', '\ud800', { deep: [1, 1e-7, { ü: '𝄞' }] }, '"', [], -0.5, { toJSON: 'no' }];
      for (const [n, payload] of payloads.entries()) await subject.write([pending(`p${n}`, 'payloads', payload)]);
      const got: unknown[] = [];
      const result = await relay(({ payload, topic, key, attempt, createdAtMs }) => {
        expect([topic, key, attempt]).toEqual(['test/happened', 'payloads', 1]);
        expect(Math.abs(createdAtMs - Date.now())).toBeLessThan(60_000);
        got.push(payload);
      });
      expect(got).toEqual(payloads);
      expect(result).toEqual({ kind: 'done', ended: 'empty', delivered: payloads.length, retried: 0, parked: 0, left: 0 });
    });

    it('keeps the order of a run with many messages over several keys, in small batches', async () => {
      const run = Array.from({ length: 60 }, (_, n) => pending(`r${n}`, n % 4 === 3 ? undefined : `run${n % 4}`, n, n));
      // The position decides, not the place in the array.
      await subject.write([...run].reverse());
      const got: number[] = [];
      expect(await relay(({ payload }) => void got.push(payload as number), { batchSize: 7, concurrency: 3 })).toMatchObject({ delivered: 60 });
      for (const rest of [0, 1, 2]) {
        const own = got.filter((n) => n % 4 === rest);
        expect(own).toEqual([...own].sort((a, b) => a - b));
        expect(own).toHaveLength(15);
      }
    });

    it('I10 a message that fails holds back the rest of its key, also of its own run, and no other key, however much waits behind it', async () => {
      await subject.write([pending('f0', 'failing', 0, 0), pending('f1', 'failing', 1, 1), pending('f2', 'failing', 2, 2)]);
      for (let n = 3; n < 30; n++) await subject.write([pending(`f${n}`, 'failing', n)]);
      await subject.write([pending('other', 'other'), pending('free')]);
      const told: string[] = [];
      const times = { f1: 2 };
      const deliver = refusing(told, times);
      expect(await relay(deliver, { batchSize: 5 })).toEqual({ kind: 'done', ended: 'empty', delivered: 3, retried: 1, parked: 0, left: 29 });
      expect([...told].sort()).toEqual(['f0', 'free', 'other']);
      expect(await relay(deliver)).toMatchObject({ delivered: 0, retried: 0, left: 29 });
      await subject.timePasses();
      let attempt = 0;
      expect(
        await relay((message, call) => {
          attempt = message.attempt;
          return deliver(message, call);
        }),
      ).toMatchObject({ retried: 1, delivered: 0 });
      expect(attempt).toBe(2);
      await subject.timePasses();
      expect(await relay(deliver, { batchSize: 5 })).toMatchObject({ delivered: 29, left: 0 });
      expect(told.filter((id) => id.startsWith('f') && id !== 'free')).toEqual(Array.from({ length: 30 }, (_, n) => `f${n}`));
    });

    it('parks poison with its last error, goes on with its key, and delivers it when a person says so', async () => {
      await subject.write([pending('k0', 'poisoned', 0, 0), pending('k1', 'poisoned', { bad: true }, 1), pending('k2', 'poisoned', 2, 2)]);
      const told: string[] = [];
      const deliver = refusing(told, { k1: 1 });
      expect(await relay(deliver, { maxAttempts: 1 })).toEqual({ kind: 'done', ended: 'empty', delivered: 2, retried: 0, parked: 1, left: 0 });
      expect(told).toEqual(['k0', 'k2']);
      const [one, ...others] = await parked();
      expect(one).toMatchObject({
        id: 'k1',
        key: 'poisoned',
        payload: { bad: true },
        attempts: 1,
        lastError: 'Error: no k1',
        topic: 'test/happened',
      });
      expect(Math.abs((one?.parkedAtMs ?? 0) - Date.now())).toBeLessThan(60_000);
      expect(others).toEqual([]);
      expect(await subject.outbox.unpark('nobody')).toBe(false);
      expect(await subject.outbox.unpark('k1')).toBe(true);
      expect(await subject.outbox.unpark('k1')).toBe(false);
      expect(await relay(deliver)).toMatchObject({ delivered: 1 });
      expect(told.at(-1)).toBe('k1');
      expect(await parked()).toEqual([]);
    });

    it('with onParked: hold the key waits, also in later runs, and is released by unparking or dropping', async () => {
      await subject.write([pending('h0', 'held', 0, 0), pending('h1', 'held', 1, 1)]);
      await subject.write([pending('h2', 'held')]);
      const hold = { maxAttempts: 1, onParked: 'hold' } as const;
      const told: string[] = [];
      const deliver = refusing(told, { h0: 2, h1: 1 });
      expect(await relay(deliver, hold)).toMatchObject({ parked: 1, delivered: 0, left: 2 });
      expect(await relay(deliver, hold)).toMatchObject({ parked: 0, delivered: 0, left: 2 });
      expect(await subject.outbox.unpark('h0')).toBe(true);
      expect(await relay(deliver, hold)).toMatchObject({ parked: 1, delivered: 0 });
      expect(await subject.outbox.unpark('h0')).toBe(true);
      expect(await relay(deliver, hold)).toMatchObject({ parked: 1, delivered: 1 });
      expect(await subject.outbox.dropParked('h1')).toBe(true);
      expect(await subject.outbox.dropParked('h1')).toBe(false);
      expect(await relay(deliver, hold)).toMatchObject({ delivered: 1, left: 0 });
      expect(told).toEqual(['h0', 'h2']);
    });

    it('I4 once another relay has entered, one that was overtaken marks nothing', async () => {
      const { outbox } = subject;
      await subject.write([pending('s0', 'stale', 0, 0), pending('s1', 'stale', 1, 1)]);
      const old = relayFence(Date.now());
      await outbox.enter(old);
      const [first] = await waiting();
      if (first === undefined) throw new Error('nothing waits');
      await outbox.enter(old);
      const next = relayFence(old.token + 1);
      await outbox.enter(next);
      for (const ending of [
        { kind: 'delivered' },
        { kind: 'retry', attempts: 9, delayMs: 9_999_999, error: 'stale' },
        { kind: 'parked', attempts: 9, error: 'stale' },
      ] as const) {
        await expect(outbox.settle(old, [{ message: first, ending }])).rejects.toMatchObject({
          code: 'STALE_TOKEN',
          facts: { token: old.token, storedToken: next.token },
        });
      }
      await expect(outbox.enter(old)).rejects.toMatchObject({ code: 'STALE_TOKEN' });
      await expect(outbox.enter({ ...next, owner: 'another with the same token' })).rejects.toMatchObject({ code: 'STALE_TOKEN' });
      expect((await waiting()).map(({ id, attempts }) => [id, attempts])).toEqual([
        ['s0', 0],
        ['s1', 0],
      ]);
      expect(await parked()).toEqual([]);
      const settlements = [{ message: first, ending: { kind: 'retry', attempts: 1, delayMs: 5_000, error: 'no' } }] as const;
      await outbox.settle(next, settlements);
      // Its answer was lost: the same again.
      await outbox.settle(next, settlements);
      expect(await waiting()).toEqual([]);
      expect(await outbox.waiting()).toBe(2);
      await subject.timePasses();
      const [again, second] = await waiting();
      expect([again?.attempts, second?.id]).toEqual([1, 's1']);
      const done = [again, second].flatMap((message) => (message === undefined ? [] : [{ message, ending: { kind: 'delivered' } as const }]));
      await outbox.settle(next, done);
      await outbox.settle(next, done);
      expect(await outbox.waiting()).toBe(0);
    });

    it('settles more at once than one transaction of the service may hold', async () => {
      const run = Array.from({ length: 40 }, (_, n) => pending(`m${n}`, undefined, n, n));
      for (let n = 0; n < 4; n++) await subject.write(run.map((message) => ({ ...message, id: `${message.id}/${n}` })));
      const fence = relayFence(Date.now() + 1_000);
      await subject.outbox.enter(fence);
      const all = await waiting();
      expect(all).toHaveLength(160);
      const settlements = all.map((message, n) => ({
        message,
        ending: n % 2 === 0 ? ({ kind: 'delivered' } as const) : ({ kind: 'parked', attempts: 1, error: 'no' } as const),
      }));
      await subject.outbox.settle(fence, settlements);
      expect(await subject.outbox.waiting()).toBe(0);
      const left = await parked();
      expect(left).toHaveLength(80);
      for (const { id } of left) await subject.outbox.dropParked(id);
    });

    it('I6 of two relays at once one delivers, and the other is told that somebody is at it', async () => {
      await subject.write([pending('two')]);
      let go = (): void => {};
      const gone = new Promise<void>((resolve) => {
        go = resolve;
      });
      let begun = (): void => {};
      const started = new Promise<void>((resolve) => {
        begun = resolve;
      });
      // The test before has entered from the future.
      const later = storeLeases(memoryStore({ clock: { nowMs: () => Date.now() + 10_000 } }));
      const first = relay(
        async () => {
          begun();
          await gone;
        },
        { leases: later },
      );
      await started;
      const told: string[] = [];
      expect(await relay(({ id }) => void told.push(id), { leases: later })).toMatchObject({ kind: 'held' });
      go();
      expect(await first).toMatchObject({ delivered: 1 });
      expect(told).toEqual([]);
    });
  });
}
