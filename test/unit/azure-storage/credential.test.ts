import { randomUUID } from 'node:crypto';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { credentialFor } from '../../../src/azure-storage/credential.ts';
import { blobLeases } from '../../../src/leases/azure-blob/index.ts';
import { tableStore } from '../../../src/stores/azure-tables/index.ts';
import { record } from '../stores/azure-tables-subject.ts';

const SCOPE = 'https://storage.azure.com/.default';
const PREFIX = 'RERUNSAFE_TEST_IDENTITY';

/** The token endpoint that App Service gives to an app with a managed identity. */
describe('the credential of an identity', () => {
  let server: Server;
  let answer: RequestListener;
  beforeAll(async () => {
    server = createServer((request, response) => answer(request, response));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  beforeEach(() => {
    vi.stubEnv('IDENTITY_ENDPOINT', `http://127.0.0.1:${(server.address() as AddressInfo).port}/msi/token`);
    vi.stubEnv('IDENTITY_HEADER', 'local');
    // Nothing listens there: a token that was got all the same would end in a refused connection, which is another error.
    vi.stubEnv(`${PREFIX}__tableServiceUri`, 'https://127.0.0.1:1');
    vi.stubEnv(`${PREFIX}__blobServiceUri`, 'https://127.0.0.1:1');
    vi.stubEnv(`${PREFIX}__credential`, 'managedidentity');
    // Tokens are remembered for the whole process, by identity.
    vi.stubEnv(`${PREFIX}__clientId`, randomUUID());
  });
  afterEach(() => vi.unstubAllEnvs());

  const refuse: RequestListener = (_, response) => {
    response.writeHead(400, { 'content-type': 'application/json' }).end('{"statusCode":400,"message":"no identity"}');
  };
  const give: RequestListener = (_, response) => {
    const expires = Math.floor(Date.now() / 1000) + 86_400;
    const token = { access_token: 'the-token', expires_on: String(expires), resource: 'https://storage.azure.com', token_type: 'Bearer' };
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(token));
  };
  const stall: RequestListener = () => {};

  it('gives the token that the platform gives', async () => {
    answer = give;
    const credential = await credentialFor({ kind: 'managed', clientId: randomUUID() }, 'X');
    expect((await credential.getToken(SCOPE))?.token).toBe('the-token');
  });

  it('without a token says whose identity it is, with the cause', async () => {
    answer = refuse;
    const credential = await credentialFor({ kind: 'managed', clientId: randomUUID() }, 'X');
    await expect(credential.getToken(SCOPE)).rejects.toMatchObject({
      code: 'STORE_MISCONFIGURED',
      message: expect.stringMatching(/no token .* identity of X\..*X__clientId/),
      cause: expect.any(Error),
    });
  });

  it('that its library refuses to make is told alike', async () => {
    const identity = { kind: 'client-secret', tenantId: 'not a tenant!', clientId: 'c', clientSecret: 's' } as const;
    await expect(credentialFor(identity, 'X')).rejects.toMatchObject({ code: 'STORE_MISCONFIGURED', cause: expect.any(Error) });
  });

  it('I12 a wait that is given up ends at once, and is no misconfiguration', async () => {
    const ending = new AbortController();
    answer = () => ending.abort();
    const credential = await credentialFor({ kind: 'managed', clientId: randomUUID() }, 'X');
    await expect(credential.getToken(SCOPE, { abortSignal: ending.signal })).rejects.toMatchObject({ name: 'AbortError' });
  });

  const noToken = {
    code: 'STORE_MISCONFIGURED',
    message: expect.stringMatching(new RegExp(`^The store cannot be used as it is set up: no token .* identity of ${PREFIX}\\.`)),
    cause: expect.any(Error),
  };

  it('I8 a store of tables without a token is STORE_MISCONFIGURED, a write too', async () => {
    answer = refuse;
    const store = tableStore({ connection: PREFIX });
    await expect(store.read('id')).rejects.toMatchObject(noToken);
    await expect(store.create('id', record())).rejects.toMatchObject(noToken);
    await store.close();
  });

  it('I8 blob leases without a token are STORE_MISCONFIGURED', async () => {
    answer = refuse;
    const request = { owner: randomUUID(), leaseMs: 15_000 };
    await expect(blobLeases({ connection: PREFIX }).acquire('n', request)).rejects.toMatchObject(noToken);
  });

  it('I10 with a token they reach for the service', async () => {
    answer = give;
    const store = tableStore({ connection: PREFIX, maxRetries: 0 });
    await expect(store.create('id', record())).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    await store.close();
    const leases = blobLeases({ connection: PREFIX, requestTimeoutMs: 300 });
    await expect(leases.read('n')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
  });

  it('I10 a token endpoint that never answers holds a call no longer than its limit', async () => {
    answer = stall;
    const startMs = performance.now();
    const store = tableStore({ connection: PREFIX, requestTimeoutMs: 200, maxRetries: 1 });
    await expect(store.create('id', record())).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    await store.close();
    await expect(blobLeases({ connection: PREFIX, requestTimeoutMs: 300 }).read('n')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    expect(performance.now() - startMs).toBeLessThan(10_000);
  });
});
