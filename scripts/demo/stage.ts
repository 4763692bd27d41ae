/**
 * What the scenes stand on: emulators, the payment provider, and processes of the sample app. All of it is taken down on every path.
 *
 * @module
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { type Azurite, startAzurite } from '../../test/support/azurite.ts';
import { startDynalite } from '../../test/support/dynamodb.ts';
import { type PaymentProvider, startPaymentProvider } from '../support/payment-provider.ts';
import { setUpAws, setUpAzure } from '../support/sample-storage.ts';
import { startWorker, type WorkerProcess } from './calls.ts';

/** A crashed attempt keeps its record for so long. */
export const LEASE_MS = 3_000;
/** The shortest that Blob Storage grants. */
export const JOB_LEASE_MS = 15_000;
export const AWS_TABLES = { records: 'rerunsafe', app: 'app' } as const;

export interface Stage {
  readonly azurite: Azurite;
  readonly dynamodb: DynamoDBClient;
  readonly provider: PaymentProvider;
  /** A process of the function app. `storage`: its connection string, where it is not the stage's own. */
  azureProcess(storage?: string): Promise<WorkerProcess>;
  lambdaProcess(): Promise<WorkerProcess>;
  /** Ends something with the stage. Last in, first out. */
  defer(end: () => Promise<unknown>): void;
}

/** Builds the stage into `ends`, which takes down whatever was built, also when the building broke off. */
export async function buildStage(ends: (() => Promise<unknown>)[]): Promise<Stage> {
  const defer: Stage['defer'] = (end) => void ends.push(end);
  const folder = await mkdtemp(join(tmpdir(), 'rerunsafe-demo-'));
  defer(() => rm(folder, { recursive: true, force: true }));
  const provider = await startPaymentProvider(join(folder, 'charges.jsonl'));
  defer(() => provider.stop());
  const dynalite = await startDynalite();
  defer(() => dynalite.stop());
  const azurite = await startAzurite();
  defer(() => azurite.stop());
  const dynamodb = dynalite.client();
  await Promise.all([setUpAzure(azurite.connectionString), setUpAws(dynamodb, AWS_TABLES)]);

  const start = async (script: string, env: Readonly<Record<string, string>>): Promise<WorkerProcess> => {
    const worker = await startWorker(script, { PAYMENTS_URL: provider.url, ...env });
    defer(() => worker.kill());
    return worker;
  };
  return {
    azurite,
    dynamodb,
    provider,
    azureProcess: (storage = azurite.connectionString) =>
      start('azure-worker.ts', { AzureWebJobsStorage: storage, LEASE_MS: String(LEASE_MS), JOB_LEASE_MS: String(JOB_LEASE_MS) }),
    lambdaProcess: () =>
      start('lambda-worker.ts', {
        RERUNSAFE_TABLE: AWS_TABLES.records,
        APP_TABLE: AWS_TABLES.app,
        AWS_ENDPOINT_URL_DYNAMODB: dynalite.endpoint,
        AWS_REGION: 'eu-west-1',
        AWS_ACCESS_KEY_ID: 'local',
        AWS_SECRET_ACCESS_KEY: 'local',
      }),
    defer,
  };
}

/** Takes down what was built; one end that fails does not keep the others from theirs. */
export async function takeDown(ends: (() => Promise<unknown>)[]): Promise<void> {
  for (let end = ends.pop(); end !== undefined; end = ends.pop()) await end().catch(() => {});
}
