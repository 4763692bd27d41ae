/**
 * Leases of ours and `dynamodb-lock-client`, which needs version 2 of the SDK: fetched when it is asked for, into a folder of its own, and kept there.
 *
 * @module
 */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { Agent } from 'node:http';
import { createRequire } from 'node:module';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { dynamodbStore } from 'rerunsafe/dynamodb';
import { powertoolsTable } from '../../../test/support/powertools.ts';
import type { DynamodbService } from '../dynamodb.ts';
import { counterOf, type Meter, meterOf } from '../meter.ts';
import { leases } from './leases.ts';
import { LOCK_MS, type LockContender, type LockService, type Locks } from './lock.ts';

const PACKAGES = ['dynamodb-lock-client@0.7.3', 'aws-sdk@2.1693.0'];

/** undefined: it cannot be had here. */
export async function dynamodbLocks({ emulator, tableName }: DynamodbService): Promise<LockService | undefined> {
  const folder = await fetched();
  if (folder === undefined) return undefined;
  const table = await powertoolsTable(emulator.client());
  const counted = emulator.client();
  const meter = meterOf(counted);
  const ours = (client: typeof counted): Locks => leases(dynamodbStore({ client, tableName }));
  return {
    name: 'DynamoDB Local',
    contenders: [{ locks: ours(emulator.client()), counted: ours(counted), meter }, ...theirs(folder, emulator.endpoint, table)],
    rounds: 30,
    times: 20,
  };
}

type Callback<T> = (error: unknown, value: T) => void;
interface Lock {
  release(done: Callback<void>): void;
}
interface Client {
  acquireLock(name: string, done: Callback<Lock>): void;
}
interface Documents {
  get(...args: unknown[]): unknown;
  put(...args: unknown[]): unknown;
  delete(...args: unknown[]): unknown;
}
interface LockClient {
  readonly FailOpen: new (config: object) => Client;
  readonly FailClosed: new (config: object) => Client;
}
interface Aws {
  readonly DynamoDB: { readonly DocumentClient: new (config: object) => Documents };
}

function theirs(folder: string, endpoint: string, lockTable: string): LockContender[] {
  process.env.AWS_SDK_JS_SUPPRESS_MAINTENANCE_MODE_MESSAGE = '1';
  const load = createRequire(join(folder, 'package.json'));
  const { DynamoDB } = load('aws-sdk') as Aws;
  const { FailOpen, FailClosed } = load('dynamodb-lock-client') as LockClient;
  // Connections are kept, as version 3 keeps them by itself.
  const httpOptions = { agent: new Agent({ keepAlive: true, maxSockets: 50 }) };
  const documents = new DynamoDB.DocumentClient({ endpoint, region: 'eu-west-1', accessKeyId: 'local', secretAccessKey: 'local', httpOptions });
  let requests = 0;
  const counting =
    (name: keyof Documents) =>
    (...args: unknown[]) => {
      requests += 1;
      return documents[name](...args);
    };
  const watched: Documents = { get: counting('get'), put: counting('put'), delete: counting('delete') };
  const meter: Meter = counterOf(() => requests);
  const settings = { lockTable, partitionKey: 'id', retryCount: 0 };
  const contender = (name: string, make: (dynamodb: Documents) => Client): LockContender => ({
    locks: locksOf(name, make(documents)),
    counted: locksOf(name, make(watched)),
    meter,
    waits: true,
  });
  return [
    contender('dynamodb-lock-client, fail open', (dynamodb) => new FailOpen({ ...settings, dynamodb, leaseDurationMs: LOCK_MS })),
    contender('dynamodb-lock-client, fail closed', (dynamodb) => new FailClosed({ ...settings, dynamodb, acquirePeriodMs: 1_000 })),
  ];
}

const locksOf = (name: string, client: Client): Locks => ({
  name,
  async acquire(lockName) {
    const lock = await answered<Lock>((done) => client.acquireLock(`${name} ${lockName}`, done));
    return () => answered<void>((done) => lock.release(done));
  },
});

const answered = <T>(ask: (done: Callback<T>) => void): Promise<T> =>
  new Promise((resolve, reject) => ask((error, value) => (error ? reject(error) : resolve(value))));

async function fetched(): Promise<string | undefined> {
  const root = join(tmpdir(), `rerunsafe-bench-${userInfo().username}`);
  const home = join(root, 'lock-client');
  if (existsSync(home)) return home;
  await mkdir(root, { recursive: true, mode: 0o700 });
  const work = await mkdtemp(join(root, 'tmp-'));
  try {
    await promisify(execFile)('npm', ['install', '--prefix', work, '--no-audit', '--no-fund', '--ignore-scripts', '--silent', ...PACKAGES], {
      cwd: work,
      timeout: 120_000,
    });
    await rename(work, home);
    return home;
  } catch (error) {
    await rm(work, { recursive: true, force: true });
    if (existsSync(home)) return home;
    console.warn(`dynamodb-lock-client is left out: it could not be fetched (${String((error as Error).message).split('\n', 1)[0]}).`);
    return undefined;
  }
}
