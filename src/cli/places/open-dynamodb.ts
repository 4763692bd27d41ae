/**
 * A client of DynamoDB for what the URL says. Credentials are those of the AWS environment.
 *
 * @module
 */
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { loadPackage } from '../../core/load-package.ts';

/** The SDK's own default is to wait for an answer without limit. */
const TRY_LIMIT_MS = 2_500;

/** @throws RerunSafeError `STORE_MISCONFIGURED` where the package is missing. */
export async function dynamodbClient(region: string | undefined, endpoint: string | undefined): Promise<DynamoDBClient> {
  const { DynamoDBClient: Client } = await loadPackage('@aws-sdk/client-dynamodb', () => import('@aws-sdk/client-dynamodb'));
  return new Client({
    ...(region !== undefined && { region }),
    ...(endpoint !== undefined && { endpoint }),
    maxAttempts: 3,
    requestHandler: { requestTimeout: TRY_LIMIT_MS, connectionTimeout: TRY_LIMIT_MS, throwOnRequestTimeout: true },
  });
}
