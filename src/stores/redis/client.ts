/**
 * The two clients that people have, `redis` (node-redis) and `ioredis`, told apart by their shape.
 *
 * @module
 */
import type { Rule } from '../../core/options.ts';
import { type IoredisClient, ioredisWire, isIoredis } from './ioredis.ts';
import { isNodeRedis, type NodeRedisClient, nodeRedisWire } from './node-redis.ts';
import type { Wire } from './wire.ts';

/** A connected client of the package `redis` (a client, a pool, a cluster, a sentinel) or `ioredis` (a client, a cluster). It stays yours to close. */
export type RedisClient = NodeRedisClient | IoredisClient;

export const isClient: Rule = (value) => (isIoredis(value) || isNodeRedis(value) ? undefined : 'must be a client of the package redis or ioredis');

export const wireOf = (client: RedisClient): Wire => (isIoredis(client) ? ioredisWire(client) : nodeRedisWire(client as NodeRedisClient));
