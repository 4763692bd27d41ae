/**
 * Servers with a proxy before them that keeps an answer back, so that a guard can be killed when its request has landed and it does not know.
 *
 * @module
 */
import { startAzurite } from '../../../support/azurite.ts';
import type { FaultProxy, ProxiedRequest } from '../../../support/faults.ts';
import { startPostgres } from '../../../support/postgres.ts';
import { startFaultProxy } from '../../../support/proxy.ts';
import { concerns } from '../../../support/subject.ts';
import { postgresFraming, startTcpFaultProxy } from '../../../support/tcp-proxy.ts';
import { AZURE_SETTING, type Place } from '../places.ts';
import type { Between } from './kill.ts';

export interface Proxied extends Place {
  readonly between: Between;
  readonly proxy: FaultProxy;
}

type Is = Readonly<Record<'claim sent' | 'outcome sent', (request: ProxiedRequest) => boolean>>;

const stalledBy =
  (proxy: FaultProxy, is: Is): Between['stalled'] =>
  (moment, id) =>
    proxy.inject({ match: (request) => concerns(request, id) && is[moment](request), action: 'stall' }).fired;

/** A renewal says `running`. */
const isOutcome = ({ body }: ProxiedRequest): boolean => body.includes('completed');

async function postgres(): Promise<Proxied> {
  const server = await startPostgres();
  const { url, drop } = await server.database();
  const { port } = new URL(url);
  const proxy = await startTcpFaultProxy(Number(port), postgresFraming);
  const stalled = stalledBy(proxy, { 'claim sent': ({ body }) => body.includes('INSERT INTO'), 'outcome sent': isOutcome });
  return {
    url,
    env: {},
    uncertaintyMs: 0,
    between: { url: url.replace(`:${port}`, `:${proxy.port}`), env: {}, stalled },
    proxy,
    async stop() {
      await proxy.stop();
      await drop();
      await server.stop();
    },
  };
}

async function tables(): Promise<Proxied> {
  const azurite = await startAzurite({ services: ['table'] });
  const { connectionString, tableUrl } = azurite;
  const proxy = await startFaultProxy({ targetPort: Number(new URL(tableUrl).port) });
  const stalled = stalledBy(proxy, {
    'claim sent': ({ method }) => method === 'POST',
    'outcome sent': (request) => request.method !== 'GET' && isOutcome(request),
  });
  const url = `azure-tables:records?connection=${AZURE_SETTING}`;
  const proxied = connectionString.replace(new URL(tableUrl).origin, proxy.url);
  return {
    url,
    env: { [AZURE_SETTING]: connectionString },
    // And the second to which the dates of its answers are cut.
    uncertaintyMs: 2_000,
    between: { url, env: { [AZURE_SETTING]: proxied }, stalled },
    proxy,
    async stop() {
      await proxy.stop();
      await azurite.stop();
    },
  };
}

export const proxied = { postgres, tables };
