/**
 * `serve`: a page for operators, on this machine.
 *
 * @module
 */
import { once } from 'node:events';
import type { AddressInfo, Server } from 'node:net';
import { hostname, networkInterfaces } from 'node:os';
import { createAdaptorServer } from '@hono/node-server';
import { harmless } from '../commands/harmless.ts';
import { EXIT } from '../exit-codes.ts';
import type { Screen } from '../output.ts';
import type { OpenPlace } from '../places/open.ts';
import { UsageError } from '../usage-error.ts';
import { makeApp } from './app.ts';
import type { Logged } from './say.ts';
import { makeSecret } from './secret.ts';

export interface ServeRequest {
  readonly place: OpenPlace;
  /** Default 127.0.0.1. */
  readonly host?: string | undefined;
  /** Default 0: a free one. */
  readonly port?: number | undefined;
  /** Lets `host` be one that others reach. */
  readonly allowRemote?: boolean | undefined;
  readonly allowWrites?: boolean | undefined;
  readonly showValues?: boolean | undefined;
  readonly out: Screen;
  /** For what goes wrong, and for warnings. */
  readonly warn: (text: string) => void;
  /** Ends it. */
  readonly signal: AbortSignal;
}

const LOOPBACK: ReadonlySet<string> = new Set(['127.0.0.1', '::1', 'localhost']);
const ANY: ReadonlySet<string> = new Set(['0.0.0.0', '::']);

/**
 * Prints its address, and answers until the signal. Exit code: 0.
 *
 * @throws UsageError for an address that others reach, or that cannot be had
 */
export async function serve(request: ServeRequest): Promise<number> {
  const { place, host = '127.0.0.1', port = 0, allowRemote = false, allowWrites = false, showValues = false, out, warn, signal } = request;
  if (!LOOPBACK.has(host)) {
    if (!allowRemote)
      throw new UsageError(
        `--host ${harmless(host)} can be reached by others, and nothing is encrypted on the way: use a tunnel (ssh -L), or say --allow-remote`,
      );
    warn(
      `anybody who can reach ${harmless(host)} can ask for this page, and whoever listens on the way reads it, its token too: nothing is encrypted`,
    );
  }
  const secret = makeSecret();
  const log = ({ did, to, by, why, result }: Logged): void => {
    const at = new Date().toISOString();
    if (out.isJson) out.json({ kind: 'word', at, did, to, by, why, result });
    else out.print(`${at} ${harmless(did)} ${harmless(to)} by ${harmless(by)} (${harmless(why)}): ${result}`);
  };
  const onError = (error: unknown): void => warn(error instanceof Error ? (error.stack ?? error.message) : String(error));
  const app = makeApp({ place, allowWrites, showValues, secret, hosts: hostsOf(host), log, onError });
  const server = createAdaptorServer({ fetch: app.fetch, overrideGlobalObjects: false }) as Server & { closeAllConnections(): void };
  const address = await listening(server, host, port);
  const url = `http://${address.family === 'IPv6' ? `[${address.address}]` : address.address}:${address.port}/?token=${secret.token}`;
  if (out.isJson) out.json({ kind: 'serve', url, host: address.address, port: address.port, allowWrites });
  else {
    out.print(url);
    out.print(`${allowWrites ? 'changes allowed' : 'read-only'}; whoever has this address may look. Ctrl-C ends it.`);
  }
  await ended(signal);
  server.close();
  server.closeAllConnections();
  return EXIT.ok;
}

/** What a browser may ask for. Of an address that others reach: its own, and the names of this machine. */
function hostsOf(host: string): ReadonlySet<string> {
  const own = ['127.0.0.1', 'localhost', '[::1]'];
  if (LOOPBACK.has(host)) return new Set(own);
  const addresses = ANY.has(host) ? Object.values(networkInterfaces()).flatMap((each) => (each ?? []).map(({ address }) => address)) : [host];
  const literals = addresses.map((address) => (address.includes(':') ? `[${address}]` : address));
  return new Set([...own, hostname(), ...literals].map((name) => name.toLowerCase()));
}

async function listening(server: Server, host: string, port: number): Promise<AddressInfo> {
  server.listen(port, host);
  try {
    await once(server, 'listening');
  } catch (error) {
    throw new UsageError(`--host ${harmless(host)} --port ${port}: ${error instanceof Error ? error.message : String(error)}`);
  }
  return server.address() as AddressInfo;
}

const ended = (signal: AbortSignal): Promise<unknown> =>
  signal.aborted ? Promise.resolve() : new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
