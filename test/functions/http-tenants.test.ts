import { app, HttpResponse, type HttpResponseInit } from '@azure/functions';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type FunctionsHost, installFunctionsCore } from '../../scripts/support/functions-host.ts';
import { gate } from '../../scripts/support/gate.ts';
import { azureTable } from '../../scripts/support/sample-storage.ts';
import { type IdempotentHttpHandler, idempotentHttp } from '../../src/adapters/azure-functions/index.ts';
import { tableStore } from '../../src/stores/azure-tables/index.ts';
import { type Azurite, startAzurite } from '../support/azurite.ts';

const host = installFunctionsCore();
const TABLE = 'tenants';
const ORIGIN = 'https://first.example';
const OTHER_ORIGIN = 'https://other.example';

let azurite: Azurite;
beforeAll(async () => {
  azurite = await startAzurite({ services: ['table'] });
  await tableStore({ client: azureTable(azurite.connectionString, TABLE) }).setUp();
});
afterAll(() => azurite?.stop());

type Send = (init: Parameters<FunctionsHost['http']>[1]) => ReturnType<FunctionsHost['http']>;

/** The same operation in two instances of an app: what one replays of the other has been through the table. */
function register(operation: string, handler: IdempotentHttpHandler): { readonly one: Send; readonly another: Send; calls: number } {
  const state = { calls: 0 };
  const [one, another] = ['one', 'another'].map((instance): Send => {
    const name = `${operation}-${instance}`;
    const store = tableStore({ client: azureTable(azurite.connectionString, TABLE) });
    app.http(name, {
      methods: ['POST'],
      handler: idempotentHttp({ store, operation, scope: (request) => request.headers.get('x-ms-client-principal-id') }, (...invocation) => {
        state.calls += 1;
        return handler(...invocation);
      }),
    });
    return (init) => host.http(name, { url: `https://app.test/api/${operation}`, ...init });
  }) as [Send, Send];
  return Object.assign(state, { one, another });
}

const as = (tenant: string, key: string, more: Record<string, string> = {}): { headers: Record<string, string> } => ({
  headers: { 'x-ms-client-principal-id': tenant, 'Idempotency-Key': key, ...more },
});

describe('two tenants with one key, on Table Storage', () => {
  it('I2 I9 each has a run and a reply of its own; neither is told that the other has used the key for something else', async () => {
    const guarded = register('accounts', async (request) => ({ status: 201, jsonBody: { paid: await request.text(), by: guarded.calls } }));
    const pay = async (send: Send, tenant: string, body: string) => {
      const { status, headers, body: answer } = await send({ ...as(tenant, '"k-1"'), body });
      return [status, headers['idempotent-replayed'] ?? 'first', answer.toString()];
    };
    expect(await pay(guarded.one, 'tenant-a', '"a pays"')).toEqual([201, 'first', '{"paid":"\\"a pays\\"","by":1}']);
    expect(await pay(guarded.one, 'tenant-b', '"b pays"')).toEqual([201, 'first', '{"paid":"\\"b pays\\"","by":2}']);
    expect(await pay(guarded.another, 'tenant-a', '"a pays"')).toEqual([201, 'true', '{"paid":"\\"a pays\\"","by":1}']);
    expect(await pay(guarded.another, 'tenant-b', '"b pays"')).toEqual([201, 'true', '{"paid":"\\"b pays\\"","by":2}']);
    // What one sends under the key of the other is measured by its own.
    expect((await pay(guarded.another, 'tenant-b', '"a pays"'))[0]).toBe(422);
    expect(guarded.calls).toBe(2);
  });

  it('I6 while the one is at work, the other is neither kept waiting nor refused', async () => {
    const arrived = gate();
    const held = gate();
    const guarded = register('busy', async (request) => {
      if (request.headers.get('x-ms-client-principal-id') === 'tenant-a') {
        arrived.open();
        await held.opened;
      }
      return { status: 201 };
    });
    const first = guarded.one(as('tenant-a', 'k'));
    await arrived.opened;
    expect((await guarded.another(as('tenant-b', 'k'))).status).toBe(201);
    expect((await guarded.another(as('tenant-a', 'k'))).status).toBe(409);
    held.open();
    expect((await first).status).toBe(201);
    expect(guarded.calls).toBe(2);
  });

  it('I2 no tenant can be written so that it means another with part of the key, or a look-alike of itself', async () => {
    const guarded = register('look-alikes', () => ({ jsonBody: guarded.calls }));
    const callers = [
      ['a', 'b:c'],
      ['a:b', 'c'],
      ['a/b', 'c'],
      ['a', 'b/c'],
      ['a|b', 'c'],
      ['["a"]', 'c'],
      ['a', 'c'],
      ['A', 'c'],
      ['a%00', 'c'],
      ['public', 'c'],
      ['__proto__', 'c'],
    ] as const;
    const answers: string[] = [];
    for (const [tenant, key] of callers) {
      const { status, body } = await guarded.one(as(tenant, key));
      answers.push(`${status} ${body}`);
    }
    expect(answers).toEqual(callers.map((_, n) => `200 ${n + 1}`));
  });

  it('I2 a caller whose tenant is not known is turned away, with a key that exists as with one that does not', async () => {
    const guarded = register('strangers', () => ({ jsonBody: 'for tenants only' }));
    await guarded.one(as('tenant-a', 'k'));
    const known = await guarded.one({ headers: { 'Idempotency-Key': 'k' } });
    const unknown = await guarded.one({ headers: { 'Idempotency-Key': 'other' } });
    expect([known.status, unknown.status]).toEqual([401, 401]);
    expect(unknown.body.toString()).toBe(known.body.toString());
    // What a claim that is missing turns into on its way through a template string is no tenant either.
    for (const nobody of ['', 'undefined', 'null']) expect((await guarded.one(as(nobody, 'k'))).status, nobody).toBe(401);
    expect(known.body.toString()).not.toContain('tenants only');
    expect(guarded.calls).toBe(1);
  });
});

const SECRET = 'c0ffee-secret';
/** By name, with what the first reply says. All hold the secret, or the origin of the first caller. */
const PERSONAL: Readonly<Record<string, string>> = {
  authorization: `Bearer ${SECRET}`,
  'www-authenticate': `Bearer realm="${SECRET}"`,
  'proxy-authenticate': `Basic realm="${SECRET}"`,
  'proxy-authorization': `Basic ${SECRET}`,
  'authentication-info': `nextnonce="${SECRET}"`,
  'x-auth-token': SECRET,
  'x-csrf-token': SECRET,
  'access-control-allow-origin': ORIGIN,
  'access-control-allow-credentials': 'true',
  'access-control-expose-headers': `x-${SECRET}`,
  'access-control-allow-headers': `x-${SECRET}`,
  'content-security-policy': `script-src 'nonce-${SECRET}'`,
  'content-security-policy-report-only': `script-src 'nonce-${SECRET}'`,
  traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  'x-request-id': SECRET,
  date: 'Tue, 15 Nov 1994 08:12:31 GMT',
};
const COOKIES = [
  { name: 'session', value: SECRET },
  { name: 'csrf', value: SECRET },
];
const KEPT = { etag: '"1"', location: '/payments/1' };
const body = 'the body that is kept';

const forms: Readonly<Record<string, () => HttpResponseInit | HttpResponse>> = {
  'a record of headers': () => ({ status: 201, body, headers: { ...PERSONAL, ...KEPT }, cookies: COOKIES }),
  'names in capitals': () => ({
    status: 201,
    body,
    headers: Object.fromEntries(Object.entries({ ...PERSONAL, ...KEPT }).map(([name, value]) => [name.toUpperCase(), value])),
    cookies: COOKIES,
  }),
  'pairs, cookies among them': () => ({
    status: 201,
    body,
    headers: [...Object.entries({ ...PERSONAL, ...KEPT }), ['Set-Cookie', `session=${SECRET}`], ['Set-Cookie2', `csrf=${SECRET}`]],
  }),
  'an HttpResponse': () => new HttpResponse({ status: 201, body, headers: { ...PERSONAL, ...KEPT }, cookies: COOKIES }),
};

/** The values of all rows, bytes as text. */
async function stored(): Promise<string> {
  const texts: string[] = [];
  for await (const row of azureTable(azurite.connectionString, TABLE).listEntities()) {
    for (const value of Object.values(row)) texts.push(value instanceof Uint8Array ? Buffer.from(value).toString() : String(value));
  }
  return texts.join('\n');
}

describe('a replay, on Table Storage', () => {
  it.each(Object.entries(forms))(
    'I12 carries no cookie, no authentication and no other origin of the first reply, nor is any of it kept: %s',
    async (form, make) => {
      const guarded = register(`personal-${form.replaceAll(/\W+/g, '-')}`, () => make());
      const first = await guarded.one(as('tenant-a', 'k', { origin: ORIGIN }));
      // The first caller does get them: the handler has said so.
      expect(first.headers).toMatchObject(PERSONAL);
      expect(JSON.stringify([first.headers, first.cookies])).toContain(SECRET);

      const replay = await guarded.another(as('tenant-a', 'k', { origin: OTHER_ORIGIN }));
      expect([replay.status, replay.body.toString(), replay.cookies]).toEqual([201, body, []]);
      expect(replay.headers).toMatchObject({ ...KEPT, 'idempotent-replayed': 'true' });
      for (const name of [...Object.keys(PERSONAL), 'set-cookie', 'set-cookie2']) expect(Object.keys(replay.headers), name).not.toContain(name);
      expect(JSON.stringify(replay.headers)).not.toMatch(new RegExp(`${SECRET}|${ORIGIN}`));
      expect(guarded.calls).toBe(1);

      const rows = await stored();
      expect(rows).toContain(body);
      expect(rows).toContain(KEPT.location);
      expect(rows).not.toContain(SECRET);
      expect(rows).not.toContain(ORIGIN);
    },
  );
});
