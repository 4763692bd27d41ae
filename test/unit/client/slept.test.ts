import { describe, expect, it } from 'vitest';
import { idempotentFetch, newIntent } from '../../../src/adapters/client/index.ts';
import { virtualClock } from '../../../src/testing/index.ts';

describe('a machine that slept between two tries', () => {
  it('I3 does not send a key that the server may have forgotten: the last answer is told', async () => {
    const system = virtualClock();
    const agesMs: number[] = [];
    const intent = newIntent({ system, key: 'order-4711' });
    const send = idempotentFetch({
      system,
      maxElapsedMs: 60_000,
      fetch: async () => {
        agesMs.push(system.clock.wallMs() - intent.createdAtMs);
        return new Response(null, { status: agesMs.length === 1 ? 503 : 201 });
      },
    });
    const sent = send('http://127.0.0.1/charge', { method: 'POST', body: '{}' }, intent);
    await system.settle();
    // Wall and true time go on, the timer of the pause stands still.
    system.freezeMonotonic(2 * 86_400_000);
    await system.advance(30_000);
    expect((await sent).status).toBe(503);
    expect(agesMs).toHaveLength(1);
  });
});
