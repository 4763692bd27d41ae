/**
 * `@node-idempotency/core` on its Redis adapter, as its README sets it up: `onRequest` before the work, `onResponse` after it.
 *
 * @module
 */
import { Idempotency, IdempotencyError, IdempotencyErrorCodes } from '@node-idempotency/core';
import { RedisStorageAdapter } from '@node-idempotency/storage-adapter-redis';
import type { Peer } from '../peer.ts';

export interface Opened {
  readonly peer: Peer;
  close(): Promise<void>;
}

export async function nodeIdempotency(url: string): Promise<Opened> {
  const storage = new RedisStorageAdapter({ url });
  await storage.connect();
  const idempotency = new Idempotency(storage);
  const peer: Peer = {
    name: 'node-idempotency',
    async call(key, work, leaseMs) {
      const request = {
        method: 'POST',
        path: '/charge',
        headers: { 'idempotency-key': key },
        // Its one number: how long a key that is in progress is kept, and how long an answer.
        ...(leaseMs === undefined ? {} : { options: { cacheTTLMS: leaseMs } }),
      };
      const known = await idempotency.onRequest<unknown, string>(request);
      if (known !== undefined) return known.body;
      let body: unknown;
      try {
        body = await work();
      } catch (error) {
        await idempotency.onResponse(request, { error: String(error) });
        throw error;
      }
      await idempotency.onResponse(request, { body });
      return body;
    },
    isInFlight: (error) => error instanceof IdempotencyError && error.code === IdempotencyErrorCodes.REQUEST_IN_PROGRESS,
  };
  return { peer, close: () => storage.disconnect() };
}
