/**
 * What a failure of Redis, or of the client, means. A server that answers with an error has run nothing of the script, or stopped before its first
 * write. No answer leaves a write in doubt.
 *
 * @module
 */
import { isRerunSafeError, type RerunSafeError, storeMisconfigured, storeUnavailable, writeUnknown } from '../../core/errors.ts';
import { messageOf, Resent, Unsent } from './wire.ts';

/** Pass by themselves, or when the server has been helped: starting, busy, failing over, full. */
const PASSING: ReadonlySet<string> = new Set([
  ...['LOADING', 'BUSY', 'CLUSTERDOWN', 'MASTERDOWN', 'TRYAGAIN', 'OOM', 'MISCONF', 'NOREPLICAS', 'FAILOVER'],
  // In a failover the primary becomes a replica under its clients: a completion has to be tried again until they have found the new one.
  ...['READONLY', 'UNBLOCKED', 'INPROG'],
]);

const HINTS: Readonly<Record<string, string>> = {
  READONLY:
    'This server is a replica, which takes no writes. Connect to the primary; for failovers, with a client that looks for the new one (sentinel, cluster, or reconnectOnError of ioredis).',
  OOM: 'the server is full: more memory, or a shorter retention',
  NOAUTH: 'Give the client a user name and password.',
  WRONGPASS: 'Look at user name and password.',
  NOPERM:
    'The user needs the commands EVAL, EVALSHA, TIME, SET, EXISTS, HGET, HGETALL, HMGET, HKEYS, HSET, HDEL, DEL, PEXPIREAT, PERSIST and SCAN, on the keys with the prefix of the store.',
  WRONGTYPE: 'Under a key with the prefix of the store lies something of somebody else. Give the store a prefix of its own.',
  MOVED: 'The server is part of a cluster. Connect with the cluster client of your package (createCluster, Redis.Cluster).',
  CROSSSLOT:
    'All keys must have the hash tag of the prefix of the store (by default {rerunsafe}): give them that, or the store a prefix with theirs, like "{orders}:rerunsafe:".',
};
/** Of the store, or of the way to it, whoever's script it was. */
const OURS: ReadonlySet<string> = new Set([...PASSING, 'NOAUTH', 'WRONGPASS', 'NOPERM', 'MOVED', 'CROSSSLOT', 'ASK', 'NOSCRIPT']);

/** The first word of what the server answered, also of what a command in a script was answered (before Redis 7 that is wrapped); undefined: no answer. */
export function replyCodeOf(error: unknown): string | undefined {
  const { code, syscall } = (error ?? {}) as { code?: unknown; syscall?: unknown };
  if (syscall !== undefined || (typeof code === 'string' && /^E[A-Z]+$/.test(code))) return undefined;
  const message = messageOf(error);
  if (/^ERR The user executing the script can't/.test(message)) return 'NOPERM';
  return /^ERR Error running script.*?: -?([A-Z]{3,}) /.exec(message)?.[1] ?? /^([A-Z][A-Z0-9_]{2,})(?: |$)/.exec(message)?.[1];
}

/** Credentials. */
export const needsPerson = (error: unknown): boolean => /^(NOAUTH|WRONGPASS|NOPERM)$/.test(replyCodeOf(error) ?? '');

export const isNoScript = (error: unknown): boolean => replyCodeOf(error instanceof Resent ? error.cause : error) === 'NOSCRIPT';

const TOO_MANY_CLIENTS = /max number of clients/;

export interface Circumstances {
  readonly writes: boolean;
  /** The caller's own script is in it. */
  readonly withWork: boolean;
}

/** The store's error for what the client threw; what is about the caller's own script is thrown as it is. */
export function toStoreError(error: unknown, { writes, withWork }: Circumstances): RerunSafeError {
  if (isRerunSafeError(error)) return error;
  if (error instanceof Unsent) return isRerunSafeError(error.cause) ? error.cause : storeUnavailable('Redis', error.cause);
  const cause = error instanceof Resent ? error.cause : error;
  const code = replyCodeOf(cause);
  // What the first copy of the command has done is not told by the answer to the second.
  if (code === undefined || (error instanceof Resent && writes)) return writes ? writeUnknown('Redis', cause) : storeUnavailable('Redis', cause);
  const hint = HINTS[code];
  if (PASSING.has(code) || TOO_MANY_CLIENTS.test(messageOf(cause))) return storeUnavailable(hint === undefined ? 'Redis' : `Redis: ${hint}`, cause);
  if (withWork && !OURS.has(code)) throw cause;
  return storeMisconfigured(`Redis: ${messageOf(cause)}${hint === undefined ? '' : ` ${hint}`}`, cause);
}
