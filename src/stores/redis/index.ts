/**
 * Records in Redis, and writes to the same server in one script with them.
 *
 * @module
 */
export type { RedisClient } from './client.ts';
export { type CommitOptions, commitWith } from './commit-with.ts';
export { type FencedScriptOptions, fencedScript } from './fenced.ts';
export { type RedisStoreOptions, redisStore } from './store.ts';
export type { RedisWork } from './work.ts';
