/**
 * The stores that processes share, each on a server of this file's own.
 *
 * @module
 */
import { startAzurite } from '../../support/azurite.ts';
import { javaAvailable, startDynamoDbLocal } from '../../support/dynamodb.ts';
import { postgresAvailable, startPostgres } from '../../support/postgres.ts';
import { redisAvailable, startRedis } from '../../support/redis.ts';
import { databaseFolder } from '../../support/sqlite-file.ts';

export interface Place {
  readonly url: string;
  readonly env: Readonly<Record<string, string>>;
  /** What others wait beyond the end of a lease, ms. */
  readonly uncertaintyMs: number;
  stop(): Promise<void>;
}

export interface PlaceKind<P extends Place = Place> {
  readonly name: string;
  start(): Promise<P>;
}

export const AWS_ENV = { AWS_ACCESS_KEY_ID: 'local', AWS_SECRET_ACCESS_KEY: 'local' };
/** The name of the setting, for `?connection=`. */
export const AZURE_SETTING = 'RERUNSAFE_TEST_STORAGE';

export const sqlite: PlaceKind = {
  name: 'SQLite',
  async start() {
    const { path, remove } = await databaseFolder();
    return { url: `sqlite:${path}`, env: {}, uncertaintyMs: 0, stop: remove };
  },
};

const postgres: PlaceKind = {
  name: 'PostgreSQL',
  async start() {
    const server = await startPostgres();
    const { url, drop } = await server.database();
    const stop = async (): Promise<void> => {
      await drop();
      await server.stop();
    };
    return { url, env: {}, uncertaintyMs: 0, stop };
  },
};

const redis: PlaceKind = {
  name: 'Redis',
  async start() {
    const server = await startRedis();
    return { url: `${server.url}/0#accept-failover-loss`, env: {}, uncertaintyMs: 0, stop: server.stop };
  },
};

const dynamodb: PlaceKind = {
  name: 'DynamoDB Local',
  async start() {
    const { endpoint, stop } = await startDynamoDbLocal();
    return { url: `dynamodb:records?region=eu-west-1&endpoint=${endpoint}`, env: AWS_ENV, uncertaintyMs: 1_000, stop };
  },
};

export const azureTables: PlaceKind = {
  name: 'Azure tables',
  async start() {
    const { connectionString, stop } = await startAzurite({ services: ['table'] });
    return { url: `azure-tables:records?connection=${AZURE_SETTING}`, env: { [AZURE_SETTING]: connectionString }, uncertaintyMs: 2_000, stop };
  },
};

/** Under `CI=true` a missing server is a failure, elsewhere it is said in a line. */
export const postgreses = async (): Promise<PlaceKind[]> => ((await postgresAvailable()) ? [postgres] : []);
export const redises = async (): Promise<PlaceKind[]> => (redisAvailable() ? [redis] : []);
export const dynamodbs = async (): Promise<PlaceKind[]> => ((await javaAvailable()) ? [dynamodb] : []);
