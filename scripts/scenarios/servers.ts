/**
 * The servers and emulators, each started when the first part asks for it, and shared by all.
 *
 * @module
 */
import { type Azurite, startAzurite } from '../../test/support/azurite.ts';
import { type Emulator, startDynamoDbLocal } from '../../test/support/dynamodb.ts';
import { type PostgresServer, startPostgres } from '../../test/support/postgres.ts';
import { type RedisServer, startRedis } from '../../test/support/redis.ts';

export interface Servers {
  azurite(): Promise<Azurite>;
  dynamodb(): Promise<Emulator>;
  postgres(): Promise<PostgresServer>;
  /** With 20 connections, of which 3 are the administrators'. */
  smallPostgres(): Promise<PostgresServer>;
  redis(): Promise<RedisServer>;
  stop(): Promise<void>;
}

export function lazyServers(): Servers {
  const running: Promise<{ stop(): Promise<unknown> }>[] = [];
  const once = <S extends { stop(): Promise<unknown> }>(start: () => Promise<S>): (() => Promise<S>) => {
    let started: Promise<S> | undefined;
    return () => {
      if (started === undefined) {
        started = start();
        running.push(started);
      }
      return started;
    };
  };
  return {
    azurite: once(() => startAzurite()),
    dynamodb: once(() => startDynamoDbLocal()),
    postgres: once(() => startPostgres()),
    smallPostgres: once(() => startPostgres({ settings: { max_connections: 20, superuser_reserved_connections: 3 } })),
    redis: once(() => startRedis()),
    async stop() {
      await Promise.allSettled(running.map(async (server) => (await server).stop()));
    },
  };
}
