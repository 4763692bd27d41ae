/**
 * Powertools for AWS Lambda (TypeScript), as its page "Idempotency" sets it up: `makeIdempotent` around a handler, the key by `eventKeyJmesPath`.
 *
 * @module
 */
import { IdempotencyConfig, makeIdempotent } from '@aws-lambda-powertools/idempotency';
import { CachePersistenceLayer } from '@aws-lambda-powertools/idempotency/cache';
import { DynamoDBPersistenceLayer } from '@aws-lambda-powertools/idempotency/dynamodb';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import type { createClient } from 'redis';
import { lambdaContext } from '../../../test/support/aws-events.ts';
import type { Peer } from '../peer.ts';

interface Event {
  readonly key: string;
  readonly work: () => unknown;
}

type PersistenceLayer = DynamoDBPersistenceLayer | CachePersistenceLayer;

export const powertoolsOnDynamodb = (client: DynamoDBClient, tableName: string): Peer =>
  powertools(() => new DynamoDBPersistenceLayer({ tableName, awsSdkV3Client: client }));

export const powertoolsOnRedis = (client: ReturnType<typeof createClient>): Peer =>
  powertools(() => new CachePersistenceLayer({ client: client as unknown as ConstructorParameters<typeof CachePersistenceLayer>[0]['client'] }));

const INVOCATION_MS = 60_000;

function powertools(layer: () => PersistenceLayer): Peer {
  process.env.AWS_LAMBDA_FUNCTION_NAME ??= 'bench';
  const contexts = new Map<number, ReturnType<typeof lambdaContext>>();
  const config = new IdempotencyConfig({ eventKeyJmesPath: 'key', throwOnNoIdempotencyKey: true });
  const handler = makeIdempotent(async ({ work }: Event, _context: unknown) => work(), { persistenceStore: layer(), config }) as unknown as (
    event: Event,
    context: unknown,
  ) => Promise<unknown>;
  return {
    name: 'Powertools',
    async call(key, work, leaseMs = INVOCATION_MS) {
      const context = contexts.get(leaseMs) ?? lambdaContext(() => leaseMs);
      contexts.set(leaseMs, context);
      return handler({ key, work }, context);
    },
    isInFlight: (error) => error instanceof Error && error.name === 'IdempotencyAlreadyInProgressError',
  };
}
