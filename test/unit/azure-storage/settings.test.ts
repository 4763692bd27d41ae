import { describe, expect, it } from 'vitest';
import { findPlace, type Service, type Settings } from '../../../src/azure-storage/settings.ts';
import { containerFrom } from '../../../src/leases/azure-blob/client.ts';

const SERVICES: readonly Service[] = ['blob', 'table'];
const refusal = (service: Service, connection: string, settings: Settings) => {
  try {
    findPlace(service, connection, settings);
  } catch (error) {
    return error as Error & { code: string };
  }
  throw new Error('was taken');
};

describe('the settings of a function app', () => {
  it('give a connection string, and http only where it is spelled out', () => {
    const table = (value: string) => findPlace('table', 'AzureWebJobsStorage', { AzureWebJobsStorage: value });
    expect(table('UseDevelopmentStorage=true')).toMatchObject({ kind: 'connection-string', setting: 'AzureWebJobsStorage', insecure: true });
    expect(table('DefaultEndpointsProtocol=http;AccountName=a')).toMatchObject({ insecure: true });
    expect(table('AccountName=a;TableEndpoint=http://127.0.0.1:1/a')).toMatchObject({ insecure: true });
    expect(table('DefaultEndpointsProtocol=https;AccountName=a;TableEndpoint=https://a.table.core.windows.net')).toMatchObject({ insecure: false });
  });

  it.each(SERVICES)('give the address of the %s service: its own, a single one, or by the name of the account', (service) => {
    const all = { [`X__${service}ServiceUri`]: 'https://own', X__serviceUri: 'https://single', X__accountName: 'shop' };
    const { [`X__${service}ServiceUri`]: _own, ...single } = all;
    const { X__serviceUri: _single, ...account } = single;
    const url = (settings: Settings) => findPlace(service, 'X', settings);
    expect(url(all)).toMatchObject({ kind: 'identity', url: 'https://own', setting: `X__${service}ServiceUri` });
    expect(url(single)).toMatchObject({ kind: 'identity', url: 'https://single' });
    expect(url(account)).toMatchObject({ kind: 'identity', url: `https://shop.${service}.core.windows.net` });
  });

  it.each(SERVICES)('may be called X or AzureWebJobsX, and belong together by that (%s)', (service) => {
    const settings = { AzureWebJobsX__accountName: 'shop', AzureWebJobsX__clientId: 'id', X__clientId: 'other', X__accountName: '' };
    expect(findPlace(service, 'X', settings)).toMatchObject({ prefix: 'AzureWebJobsX', identity: { kind: 'default', clientId: 'id' } });
    expect(findPlace(service, 'X', { AzureWebJobsX: 'UseDevelopmentStorage=true' })).toMatchObject({ setting: 'AzureWebJobsX' });
    expect(refusal(service, 'AzureWebJobsX', { X__accountName: 'shop' }).code).toBe('STORE_MISCONFIGURED');
  });

  const secret = { X__tenantId: 't', X__clientId: 'c', X__clientSecret: 's' };
  it.each([
    [{}, { kind: 'default' }],
    [{ X__clientId: 'c' }, { kind: 'default', clientId: 'c' }],
    [
      { X__tenantId: 't', X__managedIdentityResourceId: 'r' },
      { kind: 'default', tenantId: 't', resourceId: 'r' },
    ],
    [{ X__credential: 'ManagedIdentity' }, { kind: 'managed' }],
    [
      { X__credential: 'managedidentity', X__managedIdentityResourceId: 'r' },
      { kind: 'managed', resourceId: 'r' },
    ],
    [
      { X__credential: 'managedidentity', X__managedIdentityResourceId: 'r', X__clientId: 'c' },
      { kind: 'managed', clientId: 'c' },
    ],
    [
      { ...secret, X__credential: 'managedidentity' },
      { kind: 'managed', clientId: 'c' },
    ],
    [secret, { kind: 'client-secret', tenantId: 't', clientId: 'c', clientSecret: 's' }],
  ])('give an identity: %o', (settings, identity) => {
    expect(findPlace('table', 'X', { X__accountName: 'shop', ...settings })).toMatchObject({ identity });
  });

  it.each(SERVICES)('are named when they are missing (%s)', (service) => {
    const { code, message } = refusal(service, 'X', {});
    expect(code).toBe('STORE_MISCONFIGURED');
    for (const prefix of ['X', 'AzureWebJobsX']) {
      expect(message).toContain(`${prefix}, ${prefix}__${service}ServiceUri, ${prefix}__serviceUri, ${prefix}__accountName`);
    }
  });

  it.each([
    ['X', 'c2VjcmV0', 'the setting X does not look like a connection string'],
    ['X', 'https://secret.blob.core.windows.net', 'the setting X does not look like a connection string'],
    ['X', 'Endpoint=sb://secret/;SharedAccessKeyName=n;SharedAccessKey=k', 'the setting X does not look like a connection string'],
    ['X__serviceUri', 'http://secret', 'the setting X__serviceUri is not an address that begins with https://'],
    ['X__serviceUri', 'secret', 'the setting X__serviceUri is not an address that begins with https://'],
    ['X__accountName', 'secret.example/?', 'the setting X__accountName is not the name of a storage account'],
  ])('that are nonsense are named, and never quoted: %s=%s', (setting, value, says) => {
    for (const service of SERVICES) {
      const error = refusal(service, 'X', { [setting]: value });
      expect(error).toMatchObject({ code: 'STORE_MISCONFIGURED', message: expect.stringContaining(says) });
      expect(error.stack).not.toContain(value);
    }
  });
});

describe('a client made from them', () => {
  it('that the SDK refuses is told in the same words, without what the SDK says', async () => {
    const error = await containerFrom('X', 'c', { X: 'AccountKey=secret' }).catch((thrown: Error) => thrown as Error);
    expect(error).toMatchObject({
      code: 'STORE_MISCONFIGURED',
      message: expect.stringContaining('the setting X does not look like a connection string'),
    });
    expect((error as Error).stack).not.toContain('secret');
    expect((error as Error).cause).toBeUndefined();
  });

  it.each([
    [{ X: 'UseDevelopmentStorage=true' }, 'http://127.0.0.1:10000/devstoreaccount1/c'],
    [{ X__accountName: 'acc' }, 'https://acc.blob.core.windows.net/c'],
    [{ X__blobServiceUri: 'https://x.example/', X__clientId: '00000000-0000-0000-0000-000000000000' }, 'https://x.example/c'],
    [{ AzureWebJobsX__serviceUri: 'https://y.example', AzureWebJobsX__credential: 'managedidentity' }, 'https://y.example/c'],
  ])('stands where they say: %o', async (settings, url) => {
    expect((await containerFrom('X', 'c', settings)).url).toBe(url);
  });
});
