import { describe, expect, it } from 'vitest';
import { isPastRetention, madeAtMs } from '../../../src/http/time-ordered-key.ts';
import { memoryStore, type RecordStore, RerunSafeError, resolveRun } from '../../../src/index.ts';
import { virtualClock } from '../../../src/testing/virtual-clock.ts';
import { headerOf, operation, problemOf, reply } from './exchange.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const uuid7 = (ms: number): string => {
  const hex = ms.toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7abc-9def-0123456789ab`;
};

describe('when a key was made', () => {
  it.each([
    ['017f22e2-79b0-7cc3-98c4-dc0c0c07398f', 1_645_557_742_000],
    ['017F22E2-79B0-7CC3-98C4-DC0C0C07398F', 1_645_557_742_000],
    ['919108f7-52d1-4320-9bac-f847db4148a8', undefined],
    ['1ec9414c-232a-6b00-b3c8-9f6bdeced846', undefined],
    ['017f22e2-79b0-7cc3-18c4-dc0c0c07398f', undefined],
    ['017f22e279b07cc398c4dc0c0c07398f', undefined],
    ['{017f22e2-79b0-7cc3-98c4-dc0c0c07398f}', undefined],
    ['order-017f22e2-79b0-7cc3-98c4-dc0c0c07398f', undefined],
    [1_645_557_742_000, undefined],
  ])('%s: %s', (key, ms) => {
    expect(madeAtMs(key)).toBe(ms);
  });

  it.each([
    [DAY_MS, DAY_MS - 60_000, false],
    [DAY_MS, DAY_MS - 59_999, true],
    [1_000, 900, false],
    [1_000, 901, true],
    [DAY_MS, -DAY_MS, false],
  ])('with a retention of %i ms and an age of %i ms: refused is %s', (retentionMs, ageMs, refused) => {
    const nowMs = 1_800_000_000_000;
    expect(isPastRetention(uuid7(nowMs - ageMs), { nowMs, retentionMs })).toBe(refused);
  });
});

describe('a time-ordered key', () => {
  const service = (options = {}) => {
    const clock = virtualClock();
    const charge = operation({ store: memoryStore({ clock }), ...options }, (n) => reply(201, `${n}`));
    return { clock, charge, send: (key: string) => charge.sendRaw({ headers: { 'idempotency-key': key } }) };
  };

  it('I3 that is older than the retention is refused, never run again', async () => {
    const { clock, charge, send } = service();
    const key = uuid7(clock.nowMs());
    expect((await send(key)).status).toBe(201);
    await clock.advance(DAY_MS + 1);
    for (let time = 0; time < 2; time += 1) {
      const answer = await send(key);
      expect([answer.status, problemOf(answer).type, headerOf(answer, 'retry-after')]).toEqual([400, 'urn:rerunsafe:problem:key-expired', undefined]);
    }
    expect(charge.calls).toBe(1);
    expect((await send(uuid7(clock.nowMs()))).status).toBe(201);
  });

  it('I3 that is refused costs one read, and leaves nothing that a later attempt could take for its own', async () => {
    const clock = virtualClock();
    const store = memoryStore({ clock });
    const calls: string[] = [];
    const counting: RecordStore = {
      ...store,
      read(...given) {
        calls.push('read');
        return store.read(...given);
      },
      create(...given) {
        calls.push('create');
        return store.create(...given);
      },
    };
    const { send } = service({ store: counting });
    expect((await send(uuid7(clock.nowMs() - 2 * DAY_MS))).status).toBe(400);
    expect(calls).toEqual(['read']);
  });

  it('I3 whose record is forgotten between the look and the claim is not run either, and the key stays free', async () => {
    const { clock, charge, send } = service();
    const key = uuid7(clock.nowMs());
    const { store } = charge.bound.guard;
    const stale = operation(
      {
        store: {
          ...store,
          read: async (...given) => {
            const seen = await store.read(...given);
            await clock.advance(2 * DAY_MS);
            return seen;
          },
        },
      },
      () => reply(500),
    );
    await clock.advance(DAY_MS - HOUR_MS);
    await send(key);
    await clock.advance(2 * HOUR_MS);
    const answer = await stale.sendRaw({ headers: { 'idempotency-key': key } });
    expect([answer.status, stale.calls]).toEqual([400, 0]);
    for await (const { record } of store.list({})) expect([record.state, record.attempt]).toEqual(['released', 0]);
  });

  it('I3 is not run while the store cannot say whether it was', async () => {
    const clock = virtualClock();
    const down = () => Promise.reject(new RerunSafeError('STORE_UNAVAILABLE', 'down'));
    const { charge, send } = service({ store: { ...memoryStore({ clock }), read: down } });
    expect([(await send(uuid7(0))).status, charge.calls]).toEqual([503, 0]);
  });

  it('I3 is replayed for as long as its record stands, however old it is', async () => {
    const { clock, charge, send } = service();
    const key = uuid7(clock.nowMs());
    await clock.advance(DAY_MS - HOUR_MS);
    await send(key);
    await clock.advance(2 * HOUR_MS);
    expect(headerOf(await send(key), 'idempotent-replayed')).toBe('true');
    expect(charge.calls).toBe(1);
  });

  it('I9 and another request with it is 422, as with any key', async () => {
    const { clock, charge, send } = service();
    const key = uuid7(clock.nowMs());
    await clock.advance(DAY_MS - HOUR_MS);
    await send(key);
    await clock.advance(2 * HOUR_MS);
    expect((await charge.sendRaw({ headers: { 'idempotency-key': key }, body: 'other' })).status).toBe(422);
  });

  it('is one only in the header, and only where it is asked for', async () => {
    const off = service({ timeOrderedKeys: false });
    expect((await off.send(uuid7(0))).status).toBe(201);
    const own = service({ key: () => uuid7(0) });
    expect((await own.send('k')).status).toBe(201);
    expect((await service().send('919108f7-52d1-4320-9bac-f847db4148a8')).status).toBe(201);
  });
});

describe('an old key of which a person said that it was not done', () => {
  it('I10 runs: age says nothing any more; another payload is still refused', async () => {
    const store = memoryStore();
    const key = uuid7(Date.now() - 2 * DAY_MS);
    let broken = true;
    const work = () => {
      if (broken) throw new Error('time-out');
      return reply(201);
    };
    const send = (body: string, timeOrderedKeys: boolean) =>
      operation({ store, onUnknown: 'block', timeOrderedKeys }, work).sendRaw({ headers: { 'idempotency-key': key }, body });
    await send('one', false).catch(() => {});
    expect((await send('one', true)).status).toBe(409);
    broken = false;
    await resolveRun({ store, operation: 'payments/charge', key }, 'not-done');
    expect((await send('two', true)).status).toBe(422);
    expect((await send('one', true)).status).toBe(201);
  });
});
