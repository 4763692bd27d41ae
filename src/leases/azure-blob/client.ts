/**
 * The container client: passed in, or made from what the platform's users have set already.
 *
 * @module
 */
import type { TokenCredential } from '@azure/identity';
import type { ContainerClient, StoragePipelineOptions } from '@azure/storage-blob';
import { storeMisconfigured } from '../../core/errors.ts';
import type { Line } from './call.ts';

const OWN_TRIES = 3;
const OWN_TRY_LIMIT_MS = 3000;

/** Our own client sends each request once and we send again ourselves: only so is it known whether an earlier try may have been applied. */
const OWN_CLIENT: StoragePipelineOptions = { retryOptions: { maxTries: 1 } };

export const ownLine = (limitMs: number): Line => ({ tries: OWN_TRIES, tryLimitMs: OWN_TRY_LIMIT_MS, limitMs, hiddenTries: false });

/** A client that was passed in is used as it is. Its own retries leave out some faults (an answer that breaks off), so we send once more. */
export const givenLine = (client: object, limitMs: number): Line => ({
  tries: 2,
  tryLimitMs: limitMs,
  limitMs,
  hiddenTries: retriesOf(client) !== 1,
});

/** Not part of the SDK's public types: where it is not found, retries are assumed, which is the careful reading. */
function retriesOf(client: object): unknown {
  const { pipeline } = client as { pipeline?: { options?: { retryOptions?: { maxTries?: unknown } } } };
  return pipeline?.options?.retryOptions?.maxTries;
}

type Settings = Readonly<Record<string, string | undefined>>;

/**
 * From the setting `connection`: a connection string, or the identity-based form of Azure Functions (`…__blobServiceUri`, `…__serviceUri` or
 * `…__accountName`, with `…__clientId` for a user-assigned identity).
 *
 * @throws RerunSafeError `STORE_MISCONFIGURED` where none of them is set, or a package is missing.
 */
export async function containerFrom(connection: string, containerName: string, settings: Settings): Promise<ContainerClient> {
  const { BlobServiceClient } = await load('@azure/storage-blob', () => import('@azure/storage-blob'));
  const connectionString = settings[connection];
  if (connectionString)
    return refused(connection, () => BlobServiceClient.fromConnectionString(connectionString, OWN_CLIENT).getContainerClient(containerName));
  const account = settings[`${connection}__accountName`];
  const url =
    settings[`${connection}__blobServiceUri`] || settings[`${connection}__serviceUri`] || (account && `https://${account}.blob.core.windows.net`);
  if (!url) {
    throw storeMisconfigured(
      `none of the settings ${connection} (a connection string), ${connection}__blobServiceUri and ${connection}__accountName is set. Set one, or pass \`container\`.`,
    );
  }
  const credential = await credentialFrom(connection, settings);
  return refused(connection, () => new BlobServiceClient(url, credential, OWN_CLIENT).getContainerClient(containerName));
}

async function credentialFrom(connection: string, settings: Settings): Promise<TokenCredential> {
  const identity = await load('@azure/identity', () => import('@azure/identity'));
  const of = (name: string): string => settings[`${connection}__${name}`] ?? '';
  const [clientId, tenantId, secret] = [of('clientId'), of('tenantId'), of('clientSecret')];
  const byPlatform = clientId !== '' || of('credential').toLowerCase() === 'managedidentity';
  const credential: TokenCredential =
    clientId && tenantId && secret
      ? new identity.ClientSecretCredential(tenantId, clientId, secret)
      : byPlatform
        ? new identity.ManagedIdentityCredential(clientId ? { clientId } : {})
        : new identity.DefaultAzureCredential();
  return {
    // No token, no request: told here, because the SDK's error looks like any other by the time it arrives.
    getToken: (scopes, options) =>
      credential.getToken(scopes, options).catch((cause: unknown) => {
        throw storeMisconfigured(`no token could be got for the identity of ${connection}.`, cause);
      }),
  };
}

async function load<T>(name: string, importIt: () => Promise<T>): Promise<T> {
  try {
    return await importIt();
  } catch (cause) {
    throw storeMisconfigured(`the package ${name} cannot be loaded. Install it beside rerunsafe.`, cause);
  }
}

/** The cause is left out: the SDK's message may quote the connection string, which is a secret. */
function refused<T>(connection: string, make: () => T): T {
  try {
    return make();
  } catch {
    throw storeMisconfigured(`the setting ${connection} is not a usable connection string or service address.`);
  }
}
