/**
 * A process of its own: does what it is told, and says what happened.
 *
 * @module
 */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import type { Caller } from './callers/caller.ts';
import type { Hold, Locks } from './locks/locks.ts';
import type { Answer, CallOrder, LockAnswer, Order, PeerId, Place, Said } from './protocol.ts';
import { addEffect } from './witness.ts';

const CALLERS: Readonly<Partial<Record<PeerId, (place: Place) => Promise<Caller>>>> = {
  'rerunsafe-dynamodb': async (place) => (await import('./callers/rerunsafe.ts')).onDynamodb(place),
  'rerunsafe-redis': async (place) => (await import('./callers/rerunsafe.ts')).onRedis(place),
  powertools: async (place) => (await import('./callers/powertools.ts')).powertools(place),
  'node-idempotency': async (place) => (await import('./callers/node-idempotency.ts')).nodeIdempotency(place),
};
const LOCKS: Readonly<Partial<Record<PeerId, (place: Place) => Promise<Locks>>>> = {
  'leases-dynamodb': async (place) => (await import('./locks/leases.ts')).leasesOnDynamodb(place),
  'leases-redis': async (place) => (await import('./locks/leases.ts')).leasesOnRedis(place),
  redlock: async (place) => (await import('./locks/redlock.ts')).redlock(place),
  'semaphore-mutex': async (place) => (await import('./locks/redis-semaphore.ts')).mutexOnOne(place),
  'semaphore-redlock': async (place) => (await import('./locks/redis-semaphore.ts')).mutexOnThree(place),
};

const say = (said: Said): void => void process.send?.(said);

async function answerTo(call: Promise<string>, caller: Caller): Promise<Answer> {
  try {
    return { kind: 'value', value: await call };
  } catch (error) {
    const kind = caller.meaning(error);
    return kind === undefined ? { kind: 'failed', why: String(error) } : { kind };
  }
}

function calls(place: Place, caller: Caller) {
  const waiting = new Map<number, (by: 'return' | 'throw') => void>();
  const perform = (n: number, { key, ends, afterMs }: CallOrder) =>
    async function work(attempt: number): Promise<string> {
      addEffect(place.witness, { key, attempt, who: place.who });
      const told = new Promise<'return' | 'throw'>((resolve) => waiting.set(n, resolve));
      say({ say: 'at work', n, again: attempt > 1 });
      await pause(afterMs);
      if (ends === 'hold' && (await told) === 'throw') throw new Error(`the work of ${place.who} failed`);
      return `by ${place.who}`;
    };
  return {
    call: async (n: number, order: CallOrder) => say({ say: 'answer', n, answer: await answerTo(caller.call(order, perform(n, order)), caller) }),
    goOn: (n: number, by: 'return' | 'throw') => waiting.get(n)?.(by),
  };
}

function locking(place: Place, locks: Locks) {
  const holds = new Map<string, Hold>();
  return async (order: Exclude<Order, { do: 'call' | 'go on' }>): Promise<LockAnswer> => {
    if (order.do === 'acquire') {
      const hold = await locks.acquire(order.name, order.leaseMs);
      if (hold !== undefined) holds.set(order.name, hold);
      return { done: hold !== undefined, token: hold?.token };
    }
    const hold = holds.get(order.name) as Hold;
    switch (order.do) {
      case 'stall':
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, order.ms);
        return { done: hold.held() };
      case 'held':
        return { done: hold.held() };
      case 'write': {
        const done = await hold.write(place.who);
        if (done) addEffect(place.witness, { key: order.name, attempt: hold.token ?? 0, who: place.who });
        return { done };
      }
      case 'extend':
        return { done: await hold.extend() };
      case 'release':
        return { done: await hold.release() };
    }
  };
}

async function main(): Promise<void> {
  // A parent that was killed leaves nothing behind.
  process.once('disconnect', () => process.exit(0));
  const [place] = (await once(process, 'message')) as [Place];
  const caller = await CALLERS[place.peer]?.(place);
  const locks = await LOCKS[place.peer]?.(place);
  const called = caller && calls(place, caller);
  const locked = locks && locking(place, locks);
  process.on('message', (order: Order) => {
    if (order.do === 'call') void called?.call(order.n, order);
    else if (order.do === 'go on') called?.goOn(order.n, order.by);
    else {
      const failed = (error: unknown): LockAnswer => ({ done: false, why: String(error) });
      void locked?.(order)
        .catch(failed)
        .then((answer) => say({ say: 'answer', n: order.n, answer }));
    }
  });
  // What is loaded late, and scripts that a server does not know yet, are no part of what is looked at.
  const key = `warm up ${randomUUID()}`;
  await caller?.call({ key, amount: 1, terms: { leaseMs: 20_000, keepMs: 86_400_000, wait: false, onUnknown: 'retry' } }, async () => 'warm');
  const hold = await locks?.acquire(key, 20_000);
  await hold?.write('warm');
  await hold?.release();
  say({ say: 'ready' });
}

await main();
