/**
 * The credential of an identity, which says so when it gets no token.
 *
 * @module
 */
import type { GetTokenOptions, TokenCredential } from '@azure/identity';
import { storeMisconfigured } from '../core/errors.ts';
import { loadPackage } from '../core/load-package.ts';
import type { Identity } from './settings.ts';

type Sdk = typeof import('@azure/identity');

/**
 * @param prefix of the settings that describe the identity, for the message
 * @throws RerunSafeError `STORE_MISCONFIGURED` when the package is missing or refuses the settings; `getToken` throws it when no token could be got.
 */
export async function credentialFor(identity: Identity, prefix: string): Promise<TokenCredential> {
  const sdk = await loadPackage('@azure/identity', () => import('@azure/identity'));
  const refused = (cause: unknown) =>
    storeMisconfigured(
      `no token could be got for the identity of ${prefix}. Check that the app has the identity that ${prefix}__credential, ${prefix}__clientId, ` +
        `${prefix}__managedIdentityResourceId, ${prefix}__tenantId and ${prefix}__clientSecret describe, and elsewhere that you are signed in.`,
      cause,
    );
  const credential = attempt(() => make(sdk, identity), refused);
  return {
    async getToken(scopes, options) {
      try {
        return await untilAborted(credential.getToken(scopes, options), options?.abortSignal);
      } catch (cause) {
        // Whoever gave up waiting has not learned that the identity is wrong.
        if (options?.abortSignal?.aborted) throw cause;
        // Told here, because by the time the identity library's error has passed through an SDK it looks like any other.
        throw refused(cause);
      }
    },
  };
}

function make(sdk: Sdk, identity: Identity): TokenCredential {
  switch (identity.kind) {
    case 'client-secret':
      return new sdk.ClientSecretCredential(identity.tenantId, identity.clientId, identity.clientSecret);
    case 'managed': {
      const { clientId, resourceId } = identity;
      if (resourceId) return new sdk.ManagedIdentityCredential({ resourceId });
      return new sdk.ManagedIdentityCredential(clientId ? { clientId } : {});
    }
    case 'default': {
      const { tenantId, clientId, resourceId } = identity;
      const options = tenantId ? { tenantId } : {};
      if (resourceId) return new sdk.DefaultAzureCredential({ ...options, managedIdentityResourceId: resourceId });
      return new sdk.DefaultAzureCredential({ ...options, ...(clientId && { managedIdentityClientId: clientId }) });
    }
  }
}

function attempt<T>(run: () => T, refused: (cause: unknown) => Error): T {
  try {
    return run();
  } catch (cause) {
    throw refused(cause);
  }
}

/** Not every credential heeds the signal: a token endpoint that never answers would outlast the request's limit. */
async function untilAborted<T>(work: Promise<T>, signal: GetTokenOptions['abortSignal']): Promise<T> {
  if (signal === undefined) return work;
  let onAbort = (): void => {};
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(Object.assign(new Error('The wait for a token was given up.'), { name: 'AbortError' }));
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort);
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
