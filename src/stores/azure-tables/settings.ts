/**
 * Where the table is, by the settings that a function app has anyway.
 *
 * @module
 */
import { storeMisconfigured } from '../../core/errors.ts';

export type Credential =
  | { readonly kind: 'default'; readonly clientId?: string }
  | { readonly kind: 'managed-identity'; readonly clientId?: string; readonly resourceId?: string }
  | { readonly kind: 'client-secret'; readonly tenantId: string; readonly clientId: string; readonly clientSecret: string };

export type Place =
  | { readonly kind: 'connection-string'; readonly connectionString: string; readonly insecure: boolean }
  | { readonly kind: 'identity'; readonly url: string; readonly credential: Credential };

type Settings = Readonly<Record<string, string | undefined>>;

/**
 * `connection` names a setting or the prefix of several, as in a binding: `<connection>` holds a connection string, or `<connection>__tableServiceUri`
 * (or `__accountName`) the address, used with an identity. A connection that a binding calls `X` may also be set as `AzureWebJobsX`.
 *
 * @throws RerunSafeError `STORE_MISCONFIGURED` when nothing is set, naming what was looked for.
 */
export function findPlace(connection: string, settings: Settings): Place {
  const prefixes = connection.startsWith('AzureWebJobs') ? [connection] : [connection, `AzureWebJobs${connection}`];
  for (const prefix of prefixes) {
    const connectionString = settings[prefix];
    if (connectionString) return { kind: 'connection-string', connectionString, insecure: isInsecure(connectionString) };
    const url = settings[`${prefix}__tableServiceUri`] || ofAccount(settings[`${prefix}__accountName`]);
    if (url) return { kind: 'identity', url, credential: credentialOf(prefix, settings) };
  }
  const looked = prefixes.flatMap((prefix) => [prefix, `${prefix}__tableServiceUri`, `${prefix}__accountName`]);
  throw storeMisconfigured(`no storage account is set. Looked for the settings ${looked.join(', ')}. Set one of them, or pass a client.`);
}

const ofAccount = (name: string | undefined): string | undefined => (name ? `https://${name}.table.core.windows.net` : undefined);

function credentialOf(prefix: string, settings: Settings): Credential {
  const get = (name: string): string | undefined => settings[`${prefix}__${name}`] || undefined;
  const [clientId, tenantId, clientSecret, resourceId] = [get('clientId'), get('tenantId'), get('clientSecret'), get('managedIdentityResourceId')];
  if (get('credential')?.toLowerCase() === 'managedidentity') {
    return { kind: 'managed-identity', ...(clientId && { clientId }), ...(!clientId && resourceId && { resourceId }) };
  }
  if (tenantId && clientId && clientSecret) return { kind: 'client-secret', tenantId, clientId, clientSecret };
  return { kind: 'default', ...(clientId && { clientId }) };
}

/** The SDK refuses plain http unless told otherwise; a connection string that spells it out has told. */
const isInsecure = (connectionString: string): boolean =>
  /(^|;)\s*(TableEndpoint\s*=\s*http:|DefaultEndpointsProtocol\s*=\s*http\s*(;|$)|UseDevelopmentStorage\s*=\s*true)/i.test(connectionString);
