/**
 * Writes to the caller's own keys that a stale holder cannot make: the row of the lease or record is checked in the script that writes.
 *
 * @module
 */
import { randomUUID } from 'node:crypto';
import { writeUnknown } from '../../core/errors.ts';
import { checkFence, mustHold, rowIdOf } from '../../core/fence.ts';
import { checkOptions, isSignal } from '../../core/options.ts';
import type { Fence } from '../../core/ports.ts';
import { isClient, type RedisClient } from './client.ts';
import { connect, DEFAULT_REQUEST_TIMEOUT_MS } from './connection.ts';
import { fenced } from './scripts.ts';
import { DEFAULT_PREFIX, isPrefix, isRequestTimeout } from './store.ts';
import { type RedisWork, takeWork, unlessRefused } from './work.ts';

export interface FencedScriptOptions {
  /** Of the store that the lease or record is kept in. Default `{rerunsafe}:`. In a cluster it needs the hash tag of your keys. */
  readonly prefix?: string;
  /** The longest the call may take in all, ms. Default 5000. A script that arrives later does nothing. */
  readonly requestTimeoutMs?: number;
  readonly signal?: AbortSignal;
}

/**
 * Runs a script of yours if the lease (of `storeLeases(redisStore(…))`) or the record that the fence is of still has this owner and token, and gives what
 * it returned. A successor that takes the lease, and only then reads, sees all that its predecessor wrote and nothing that comes later.
 *
 * What counts is whether somebody else has taken it. A lease that has run out or was released, and that nobody has taken since, still is its last holder's.
 * As strong as the server: a lease that was lost in a failover can be taken by somebody else whom this server does not know.
 *
 * @throws RerunSafeError `STALE_TOKEN` with `facts.token` and `facts.storedToken`, and nothing was run; `STORE_UNAVAILABLE`, `STORE_MISCONFIGURED` (also
 * where nothing is kept under the fence's name); `WRITE_UNKNOWN`: it may have been run; `INVALID_OPTIONS`. What your script failed with, or returned as an
 * error, is an `Error` with that text.
 *
 * @example
 * await withLease(leases, 'nightly', {}, (lease) =>
 *   fencedScript(client, lease.fence, { script: "return redis.call('SET', KEYS[1], ARGV[1])", keys: ['report:2026-03-01'], arguments: ['7'] }),
 * );
 */
export async function fencedScript(client: RedisClient, fence: Fence, work: RedisWork, options: FencedScriptOptions = {}): Promise<unknown> {
  checkOptions('fencedScript', { client }, { client: isClient }, ['client']);
  checkFence(fence);
  const { script, keys, args } = takeWork('fencedScript', work);
  checkOptions('fencedScript', options, { prefix: isPrefix, requestTimeoutMs: isRequestTimeout, signal: isSignal });
  const { prefix = DEFAULT_PREFIX, requestTimeoutMs = DEFAULT_REQUEST_TIMEOUT_MS, signal } = options;
  const connection = connect(client, requestTimeoutMs);
  const row = `${prefix}${rowIdOf(fence.id)}`;
  const marks = connection.resends ? [`${row}:${randomUUID()}`] : [];
  const answer = await connection.run(
    {
      operation: 'fenced',
      script: fenced(script),
      keys: [row, ...marks, ...keys],
      args: [fence.owner, String(fence.token), marks.length === 0 ? '' : 'marked', ...args],
      writes: true,
      withWork: true,
    },
    signal && { signal },
  );
  const { status, rest } = answer;
  unlessRefused(answer);
  if (status === 'again')
    throw writeUnknown('Redis: the client has sent the script twice, it was run once, and what it returned was lost', undefined);
  if (status === 'stale') mustHold(fence, holderIn(rest[0] as unknown[]), `Redis, under the prefix ${prefix}`);
  return rest[0] ?? null;
}

const holderIn = ([owner, token]: readonly unknown[]): { owner: string; token: number } | undefined =>
  typeof owner === 'string' ? { owner, token: Number(token) } : undefined;
