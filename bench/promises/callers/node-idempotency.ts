/**
 * `@node-idempotency/core` on its Redis adapter, as its README sets it up: `onRequest` before the work, `onResponse` after it ("to be called on receiving
 * response/error", page "Class: Idempotency").
 *
 * @module
 */
import { Idempotency, IdempotencyError, IdempotencyErrorCodes } from '@node-idempotency/core';
import { RedisStorageAdapter } from '@node-idempotency/storage-adapter-redis';
import type { Place } from '../protocol.ts';
import { type Caller, WAIT_MS } from './caller.ts';

const MEANINGS: Readonly<Partial<Record<IdempotencyErrorCodes, ReturnType<Caller['meaning']>>>> = {
  [IdempotencyErrorCodes.REQUEST_IN_PROGRESS]: 'in-progress',
  [IdempotencyErrorCodes.IDEMPOTENCY_FINGERPRINT_MISSMATCH]: 'other-payload',
};

export async function nodeIdempotency(place: Place): Promise<Caller> {
  const storage = new RedisStorageAdapter({ url: place.redis[0] ?? '' });
  await storage.connect();
  const idempotency = new Idempotency(storage);
  return {
    async call({ key, amount, terms }, work) {
      const request = {
        method: 'POST',
        path: '/charge',
        headers: { 'idempotency-key': key },
        body: { amount },
        options: {
          // Its one number: how long a key that is in progress is kept, and how long an answer.
          cacheTTLMS: terms.keepMs,
          ...(terms.wait ? { inProgressStrategy: { wait: true, pollingIntervalMs: 50, maxWaitMs: WAIT_MS } } : {}),
        },
      };
      const known = await idempotency.onRequest<string, string>(request);
      if (known?.error !== undefined) throw new Error(known.error);
      if (known !== undefined) return String(known.body);
      let body: string;
      try {
        body = await work(0);
      } catch (error) {
        await idempotency.onResponse(request, { error: String(error) });
        throw error;
      }
      await idempotency.onResponse(request, { body });
      return body;
    },
    meaning: (error) => (error instanceof IdempotencyError ? MEANINGS[error.code] : undefined),
  };
}
