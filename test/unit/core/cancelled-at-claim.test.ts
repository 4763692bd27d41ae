import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { expect, it } from 'vitest';
import type { RunEvent } from '../../../src/core/events.ts';
import { bench, inTime } from './engine.ts';

it('I12 cancelled once the claim is there, before the work: it does not start, and the next call need not wait', async () => {
  const b = bench();
  const cancel = new AbortController();
  const hear = (event: unknown): void => {
    if ((event as RunEvent).event === 'claimed') cancel.abort(new Error('too late'));
  };
  let started = false;
  subscribe('rerunsafe:run', hear);
  try {
    const cancelled = b.run(() => (started = true), { signal: cancel.signal });
    await expect(inTime(b.clock, cancelled)).rejects.toThrow('too late');
  } finally {
    unsubscribe('rerunsafe:run', hear);
  }
  expect(started).toBe(false);
  // Nothing was begun: as if it had never been.
  expect(await b.run((run) => run.attempt)).toMatchObject({ value: 1 });
});
