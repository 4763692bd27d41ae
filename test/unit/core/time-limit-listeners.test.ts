import { expect, it } from 'vitest';
import { timeLimit } from '../../../src/core/time-limit.ts';

/** How many listen to it at the moment. */
function listenersOf(signal: AbortSignal): () => number {
  let listeners = 0;
  const [add, remove] = [signal.addEventListener.bind(signal), signal.removeEventListener.bind(signal)];
  signal.addEventListener = (...given: Parameters<typeof add>) => {
    listeners += 1;
    add(...given);
  };
  signal.removeEventListener = (...given: Parameters<typeof remove>) => {
    if (given[0] === 'abort') listeners -= 1;
    remove(...given);
  };
  return () => listeners;
}

it('I12 of a call that makes many requests none is listened for once it has ended', async () => {
  const limit = timeLimit(60_000, undefined);
  const listeners = listenersOf(limit.signal);
  const failure = new Error('refused');
  expect(await limit.race(Promise.resolve(7))).toBe(7);
  await expect(limit.race(Promise.reject(failure))).rejects.toBe(failure);
  await new Promise((resolve) => setImmediate(resolve));
  expect(listeners()).toBe(0);
  limit.done();
  expect(limit.signal.aborted).toBe(false);
});
