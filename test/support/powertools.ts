/**
 * The real idempotency of Powertools for AWS Lambda, over an emulator.
 *
 * @module
 */
import { randomUUID } from 'node:crypto';
import { IdempotencyConfig, makeIdempotent } from '@aws-lambda-powertools/idempotency';
import { DynamoDBPersistenceLayer } from '@aws-lambda-powertools/idempotency/dynamodb';
import { CreateTableCommand, type DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { lambdaContext } from './aws-events.ts';
import { type Emulator, javaAvailable, startDynalite, startDynamoDbLocal } from './dynamodb.ts';

/** DynamoDB Local where there is a Java for it. */
export const startDynamoDb = async (): Promise<Emulator> => ((await javaAvailable()) ? startDynamoDbLocal() : startDynalite());

export const FUNCTION_NAME = 'payments-fn';

export interface Layer {
  readonly tableName: string;
  readonly client: DynamoDBClient;
  /** Names of attributes, and what else `DynamoDBPersistenceLayer` takes. */
  readonly more?: Readonly<Record<string, string>> | undefined;
}

/** Made as in a Lambda function of that name. */
export function powertoolsLayer({ tableName, client, more = {} }: Layer): DynamoDBPersistenceLayer {
  const before = process.env.AWS_LAMBDA_FUNCTION_NAME;
  process.env.AWS_LAMBDA_FUNCTION_NAME = FUNCTION_NAME;
  try {
    return new DynamoDBPersistenceLayer({ tableName, awsSdkV3Client: client, ...more });
  } finally {
    if (before === undefined) delete process.env.AWS_LAMBDA_FUNCTION_NAME;
    else process.env.AWS_LAMBDA_FUNCTION_NAME = before;
  }
}

export interface Wrapped {
  readonly config?: ConstructorParameters<typeof IdempotencyConfig>[0];
  readonly keyPrefix?: string;
}

/** `work` as Powertools guards it: called with what is left to the invocation, ms; undefined: without a context. */
export function byPowertools<P, T>(
  persistenceStore: DynamoDBPersistenceLayer,
  work: (payload: P) => T | Promise<T>,
  { config = {}, keyPrefix }: Wrapped = {},
): (payload: P, leftMs?: number) => Promise<T> {
  // One per function: the context of the last call lies on it.
  const shared = new IdempotencyConfig(config);
  const guarded = makeIdempotent((payload: P, _context: unknown) => work(payload), {
    persistenceStore,
    config: shared,
    ...(keyPrefix === undefined ? {} : { keyPrefix }),
  }) as unknown as (payload: P, context: unknown) => Promise<T>;
  return (payload, leftMs) => guarded(payload, leftMs === undefined ? undefined : lambdaContext(() => leftMs));
}

export async function powertoolsTable(client: DynamoDBClient, partitionKey = 'id', sortKey?: string): Promise<string> {
  const tableName = `powertools-${randomUUID()}`;
  const names = sortKey === undefined ? [partitionKey] : [partitionKey, sortKey];
  await client.send(
    new CreateTableCommand({
      TableName: tableName,
      BillingMode: 'PAY_PER_REQUEST',
      AttributeDefinitions: names.map((AttributeName) => ({ AttributeName, AttributeType: 'S' })),
      KeySchema: names.map((AttributeName, index) => ({ AttributeName, KeyType: index === 0 ? 'HASH' : 'RANGE' })),
    }),
  );
  return tableName;
}
