/**
 * The client: one that is passed in, or one made on first use.
 *
 * @module
 */
import type { Agent as HttpAgent } from 'node:http';
import type { Agent as HttpsAgent } from 'node:https';
import type { TableClient } from '@azure/data-tables';
import { clientAt } from '../../azure-storage/client-at.ts';
import { findPlace } from '../../azure-storage/settings.ts';
import { loadPackage } from '../../core/load-package.ts';
import { limitTries } from './try-limit.ts';

export interface Connection {
  client(): Promise<TableClient>;
  /** The longest a call may take, with all its tries. */
  readonly limitMs: number;
  close(): void;
}

export interface OwnClientOptions {
  readonly connection: string;
  readonly tableName: string;
  readonly requestTimeoutMs: number;
  readonly maxRetries: number;
}

const RETRY_DELAY_MS = 100;
const MAX_RETRY_DELAY_MS = 1_000;

/** A client of somebody else's is theirs to configure and to close. Its retries are not ours to see through: the limit is for all of them. */
export const passedIn = (client: TableClient, requestTimeoutMs: number): Connection => ({
  client: () => Promise.resolve(client),
  limitMs: requestTimeoutMs,
  close: () => {},
});

/** Made once, on first use, so that importing and building a store loads no SDK and needs no settings. */
export function own(options: OwnClientOptions): Connection {
  const { requestTimeoutMs, maxRetries } = options;
  let agents: Agents | undefined;
  let making: Promise<TableClient> | undefined;
  return {
    client() {
      // A failure is not kept: settings can arrive, and an import can fail for a passing reason.
      agents ??= agentsOfOurOwn();
      making ??= make(options, agents).catch((error: unknown) => {
        making = undefined;
        throw error;
      });
      return making;
    },
    limitMs: requestTimeoutMs * (maxRetries + 1) + MAX_RETRY_DELAY_MS * maxRetries,
    close() {
      agents?.http.destroy();
      agents?.https.destroy();
    },
  };
}

interface Agents {
  readonly http: HttpAgent;
  readonly https: HttpsAgent;
}

/** Loaded with the SDK, not before. */
function agentsOfOurOwn(): Agents {
  const [http, https] = [process.getBuiltinModule('node:http'), process.getBuiltinModule('node:https')];
  return { http: new http.Agent({ keepAlive: true }), https: new https.Agent({ keepAlive: true }) };
}

async function make(options: OwnClientOptions, agents: Agents): Promise<TableClient> {
  const { connection, tableName, maxRetries, requestTimeoutMs } = options;
  const place = findPlace('table', connection, process.env);
  const { RestError, TableClient } = await loadPackage('@azure/data-tables', () => import('@azure/data-tables'));
  const retryOptions = { maxRetries, retryDelayInMs: RETRY_DELAY_MS, maxRetryDelayInMs: MAX_RETRY_DELAY_MS };
  const client = await clientAt('table', place, {
    byConnectionString: (connectionString, insecure) =>
      TableClient.fromConnectionString(connectionString, tableName, { retryOptions, allowInsecureConnection: insecure }),
    byIdentity: (url, credential) => new TableClient(url, tableName, credential, { retryOptions }),
  });
  limitTries(client, { limitMs: requestTimeoutMs, agents, RestError });
  return client;
}
