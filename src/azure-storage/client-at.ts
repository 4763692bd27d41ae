/**
 * A client of one of the SDKs, made where the settings say.
 *
 * @module
 */
import type { TokenCredential } from '@azure/identity';
import { storeMisconfigured } from '../core/errors.ts';
import { credentialFor } from './credential.ts';
import { notConnectionString, type Place, type Service } from './settings.ts';

export interface Makers<C> {
  byConnectionString(connectionString: string, insecure: boolean): C;
  byIdentity(url: string, credential: TokenCredential): C;
}

/**
 * What the SDK says is left out: it may quote the connection string, which is a secret.
 *
 * @throws RerunSafeError `STORE_MISCONFIGURED` when the SDK refuses what is set, or there is no credential to be made.
 */
export async function clientAt<C>(service: Service, place: Place, makers: Makers<C>): Promise<C> {
  if (place.kind === 'connection-string') {
    try {
      return makers.byConnectionString(place.connectionString, place.insecure);
    } catch {
      throw notConnectionString(service, place.setting);
    }
  }
  const credential = await credentialFor(place.identity, place.prefix);
  try {
    return makers.byIdentity(place.url, credential);
  } catch {
    throw storeMisconfigured(`the setting ${place.setting} is not the address of ${service} storage.`);
  }
}
