import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { idempotentHttp, singleton } from '../../src/adapters/aws-lambda/index.ts';
import { RerunSafeError, storeLeases } from '../../src/index.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';
import { faultyStore } from '../../src/testing/faulty-store.ts';
import { gate, httpApiEvent, lambdaContext } from '../support/aws-events.ts';

const context = lambdaContext();
const down = () => faultyStore(memoryStore(), { create: () => 'unavailable', read: () => 'unavailable', replace: () => 'unavailable' });
/** Made in 1970: older than any retention. */
const OLD_KEY = '00000000-0000-7000-8000-000000000000';

describe('RERUNSAFE_DISABLED=1, for local work', () => {
  beforeEach(() => void vi.stubEnv('RERUNSAFE_DISABLED', '1'));
  afterEach(() => void vi.unstubAllEnvs());

  it.each(['"k"', OLD_KEY])('I10 http: nothing is asked of a store, whatever the key: %s', async (key) => {
    let runs = 0;
    const handler = idempotentHttp({ store: down(), operation: 'payments/charge', scope: 'public' }, async () => ({
      statusCode: 200,
      body: `${++runs}`,
    }));
    for (const body of ['1', '2']) {
      expect(await handler(httpApiEvent({ headers: { 'Idempotency-Key': key } }), context)).toEqual({ statusCode: 200, body });
    }
  });

  it('I6 leases stay guarded: a job is handed a fence, and there is none without a lease', async () => {
    const inside = gate();
    const go = gate();
    const job = singleton(
      { leases: storeLeases(memoryStore()), name: 'reports/nightly', slot: false, onSkipped: () => {} },
      async (_e, _c, lease) => {
        inside.open();
        await go.opened;
        return lease.token;
      },
    );
    const first = job({}, context);
    await inside.opened;
    expect(await job({}, lambdaContext())).toBeUndefined();
    go.open();
    expect(await first).toBeGreaterThan(0);
    const without = singleton({ leases: storeLeases(down()), name: 'reports/nightly', slot: false }, () => 'ran');
    await expect(without({}, context)).rejects.toThrow(RerunSafeError);
  });
});
