/**
 * The app's own tables, in the same storage account.
 *
 * @module
 */
import type { TableClient } from '@azure/data-tables';

const clients = new Map<string, Promise<TableClient>>();

/** One client per table and process. */
export function table(name: 'orders' | 'reports'): Promise<TableClient> {
  const client = clients.get(name) ?? open(name);
  clients.set(name, client);
  // A failure is not kept: the next call may find the settings right.
  client.catch(() => clients.delete(name));
  return client;
}

async function open(name: string): Promise<TableClient> {
  const { TableClient } = await import('@azure/data-tables');
  const { AzureWebJobsStorage: connectionString, AzureWebJobsStorage__tableServiceUri: url } = process.env;
  // Only the emulator is reached like this, and it speaks plain http; in Azure the account takes no keys.
  if (connectionString) return TableClient.fromConnectionString(connectionString, name, { allowInsecureConnection: true });
  if (!url) throw new Error('Neither AzureWebJobsStorage nor AzureWebJobsStorage__tableServiceUri is set.');
  const { ManagedIdentityCredential } = await import('@azure/identity');
  return new TableClient(url, name, new ManagedIdentityCredential());
}
