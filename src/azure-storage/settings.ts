/**
 * Where a storage account is, by the settings that a function app has anyway.
 *
 * @module
 */
import { storeMisconfigured } from '../core/errors.ts';

export type Service = 'blob' | 'table';

export type Identity =
  | { readonly kind: 'default'; readonly tenantId?: string; readonly clientId?: string; readonly resourceId?: string }
  | { readonly kind: 'managed'; readonly clientId?: string; readonly resourceId?: string }
  | { readonly kind: 'client-secret'; readonly tenantId: string; readonly clientId: string; readonly clientSecret: string };

/** `setting` is the name of the one that was found, for messages: its value may be a secret. */
export type Place =
  | { readonly kind: 'connection-string'; readonly setting: string; readonly connectionString: string; readonly insecure: boolean }
  | { readonly kind: 'identity'; readonly setting: string; readonly url: string; readonly prefix: string; readonly identity: Identity };

export type Settings = Readonly<Record<string, string | undefined>>;

/**
 * `connection` names a setting or the prefix of several, as in a binding: `<connection>` holds a connection string; or `<connection>__tableServiceUri`
 * (`__blobServiceUri`, for either `__serviceUri`) or `<connection>__accountName` says where the service is, used with an identity: `__credential`,
 * `__clientId`, `__managedIdentityResourceId`, `__tenantId`, `__clientSecret`. What a binding calls `X` may also be set as `AzureWebJobsX`.
 *
 * @throws RerunSafeError `STORE_MISCONFIGURED` when nothing is set, naming what was looked for, and when what is set makes no sense, never quoting it.
 */
export function findPlace(service: Service, connection: string, settings: Settings): Place {
  const prefixes = connection.startsWith('AzureWebJobs') ? [connection] : [connection, `AzureWebJobs${connection}`];
  for (const prefix of prefixes) {
    const connectionString = settings[prefix];
    if (connectionString) return byConnectionString(service, prefix, connectionString);
    for (const setting of addressSettings(service, prefix)) {
      const value = settings[setting];
      if (value) return { kind: 'identity', setting, url: addressOf(service, setting, value), prefix, identity: identityOf(prefix, settings) };
    }
  }
  const looked = prefixes.flatMap((prefix) => [prefix, ...addressSettings(service, prefix)]).join(', ');
  throw storeMisconfigured(`no storage account is set. Looked for the settings ${looked}. Set one of them, or pass a client.`);
}

const addressSettings = (service: Service, prefix: string): string[] => [
  `${prefix}__${service}ServiceUri`,
  `${prefix}__serviceUri`,
  `${prefix}__accountName`,
];

function byConnectionString(service: Service, setting: string, connectionString: string): Place {
  if (!CONNECTION_STRING.test(connectionString)) throw notConnectionString(service, setting);
  return { kind: 'connection-string', setting, connectionString, insecure: isInsecure(service, connectionString) };
}

/** Some part that only a connection string has. Whether the parts are enough for its service is for the SDK to say. */
const CONNECTION_STRING =
  /(^|;)\s*(UseDevelopmentStorage|DefaultEndpointsProtocol|AccountName|AccountKey|SharedAccessSignature|(Blob|Table)Endpoint)\s*=/i;

export const notConnectionString = (service: Service, setting: string) =>
  storeMisconfigured(
    `the setting ${setting} does not look like a connection string for ${service} storage. Copy one from the access keys of the storage account ` +
      `(DefaultEndpointsProtocol=…;AccountName=…;AccountKey=…;EndpointSuffix=…), or remove it and set ${setting}__${service}ServiceUri to use an identity.`,
  );

/** The SDK of tables refuses plain http unless told otherwise; a connection string that spells it out has told. */
function isInsecure(service: Service, connectionString: string): boolean {
  const spelledOut = `(${service}Endpoint\\s*=\\s*http:|DefaultEndpointsProtocol\\s*=\\s*http\\s*(;|$)|UseDevelopmentStorage\\s*=\\s*true)`;
  return new RegExp(`(^|;)\\s*${spelledOut}`, 'i').test(connectionString);
}

function addressOf(service: Service, setting: string, value: string): string {
  if (setting.endsWith('__accountName')) {
    if (/^[a-z0-9-]+$/i.test(value)) return `https://${value}.${service}.core.windows.net`;
    throw storeMisconfigured(`the setting ${setting} is not the name of a storage account (letters and digits, no address).`);
  }
  // The SDKs send a token over https only. The refusal comes with the first request, and one of them takes it for a lost answer.
  if (URL.canParse(value) && new URL(value).protocol === 'https:') return value;
  throw storeMisconfigured(`the setting ${setting} is not an address that begins with https://, which an identity needs.`);
}

function identityOf(prefix: string, settings: Settings): Identity {
  const get = (name: string): string | undefined => settings[`${prefix}__${name}`] || undefined;
  const [clientId, tenantId, clientSecret, resourceId] = [get('clientId'), get('tenantId'), get('clientSecret'), get('managedIdentityResourceId')];
  // The identity library takes one or the other.
  const which = { ...(clientId && { clientId }), ...(!clientId && resourceId && { resourceId }) };
  if (get('credential')?.toLowerCase() === 'managedidentity') return { kind: 'managed', ...which };
  if (tenantId && clientId && clientSecret) return { kind: 'client-secret', tenantId, clientId, clientSecret };
  return { kind: 'default', ...(tenantId && { tenantId }), ...which };
}
