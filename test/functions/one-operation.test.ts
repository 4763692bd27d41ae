import { describe, expect, it } from 'vitest';
import { idempotentHttp } from '../../src/adapters/aws-lambda/index.ts';
import { idempotent } from '../../src/adapters/azure-functions/index.ts';
import { memoryStore } from '../../src/index.ts';
import { httpApiEvent, lambdaContext } from '../support/aws-events.ts';

const KEY = 'order-1';
const queue = { options: { trigger: { type: 'queueTrigger', name: 'q' }, extraOutputs: [] }, functionName: 'f', invocationId: 'i' } as never;

describe('two kinds of wrappers that share an operation', () => {
  it("I1 neither takes the other's outcome for its own, and neither runs", async () => {
    let runs = 0;
    const work = () => ({ statusCode: 201, body: String(++runs) });
    for (const first of ['http', 'queue'] as const) {
      const store = memoryStore();
      const http = idempotentHttp({ store, operation: 'shared', scope: 'public' }, work);
      const item = idempotent({ store, operation: 'shared', key: () => KEY }, work);
      const call = { http: () => http(httpApiEvent({ headers: { 'idempotency-key': KEY } }), lambdaContext()), queue: () => item({}, queue) };
      runs = 0;
      await call[first]();
      if (first === 'http') await expect(call.queue()).rejects.toMatchObject({ code: 'STORE_MISCONFIGURED' });
      else expect(await call.http()).toMatchObject({ statusCode: expect.toSatisfy((status: number) => status === 422 || status === 500) });
      expect(runs).toBe(1);
    }
  });
});
