/**
 * What infra/ makes in the cloud, made in the emulators.
 *
 * @module
 */
import { CreateTableCommand, type DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { TableClient } from '@azure/data-tables';
import { BlobServiceClient } from '@azure/storage-blob';
import { QueueClient } from '@azure/storage-queue';
import { blobLeases } from '../../src/leases/azure-blob/index.ts';
import { tableStore } from '../../src/stores/azure-tables/index.ts';
import { dynamodbStore } from '../../src/stores/dynamodb/index.ts';

export const azureTable = (connectionString: string, name: string): TableClient =>
  TableClient.fromConnectionString(connectionString, name, { allowInsecureConnection: true });

export const azureQueue = (connectionString: string, name: string): QueueClient => new QueueClient(connectionString, name);

/** infra/azure/storage.bicep. */
export async function setUpAzure(connectionString: string): Promise<void> {
  const container = BlobServiceClient.fromConnectionString(connectionString).getContainerClient('rerunsafe-leases');
  await Promise.all([
    tableStore({ client: azureTable(connectionString, 'rerunsafe') }).setUp(),
    azureTable(connectionString, 'orders').createTable(),
    azureTable(connectionString, 'reports').createTable(),
    azureQueue(connectionString, 'orders').createIfNotExists(),
    blobLeases({ container }).setUp?.(),
  ]);
}

/** infra/aws/template.yaml. */
export async function setUpAws(client: DynamoDBClient, tables: { readonly records: string; readonly app: string }): Promise<void> {
  await dynamodbStore({ client, tableName: tables.records }).setUp?.();
  await client.send(
    new CreateTableCommand({
      TableName: tables.app,
      BillingMode: 'PAY_PER_REQUEST',
      AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'S' }],
      KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }],
    }),
  );
}
