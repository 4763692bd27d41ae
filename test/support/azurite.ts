/**
 * Azurite as a child process: blobs, queues and tables on loopback, on free ports; in memory, or in a folder, where they outlive it.
 *
 * @module
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

export type AzuriteService = 'blob' | 'queue' | 'table';

export interface Azurite {
  /** Names the started services only. */
  readonly connectionString: string;
  /** `''` when that service was not asked for; the same for the other two. */
  readonly tableUrl: string;
  readonly blobUrl: string;
  readonly queueUrl: string;
  readonly accountName: string;
  readonly accountKey: string;
  stop(): Promise<void>;
}

/** The account that every Azurite has; published in its documentation. */
const ACCOUNT_NAME = 'devstoreaccount1';
const ACCOUNT_KEY = 'Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==';
const ALL: readonly AzuriteService[] = ['blob', 'queue', 'table'];
const START_LIMIT_MS = 60_000;
const SAVE_LIMIT_MS = 20_000;

/** A parent that was killed outright runs no exit handler, but its end of the pipe closes: the child leaves by itself. */
const LEAVE_WITH_PARENT =
  "data:text/javascript,const leave=()=>process.exit(0);process.stdin.on('end',leave).on('close',leave).on('error',leave).resume()";

/**
 * Starts Azurite and waits until the services that are asked for listen (default: all three). `folder`: what is there is served again, and what `stop`
 * finds is kept there.
 *
 * @example const azurite = await startAzurite({ services: ['table'] });
 */
export async function startAzurite(options: { services?: AzuriteService[]; folder?: string } = {}): Promise<Azurite> {
  const { services = ALL, folder } = options;
  const kept = folder === undefined ? ['--inMemoryPersistence'] : ['--location', folder];
  const child = spawn(process.execPath, ['--import', LEAVE_WITH_PARENT, script(), ...kept, ...FLAGS], { stdio: ['pipe', 'pipe', 'pipe'] });
  const killNow = () => child.kill('SIGKILL');
  process.once('exit', killNow);
  child.once('exit', () => process.removeListener('exit', killNow));
  child.stdin.on('error', () => {});

  try {
    const url = await listening(child, services);
    return {
      connectionString: connectionString(url),
      tableUrl: url.table ?? '',
      blobUrl: url.blob ?? '',
      queueUrl: url.queue ?? '',
      accountName: ACCOUNT_NAME,
      accountKey: ACCOUNT_KEY,
      stop: () => stop(child, folder !== undefined),
    };
  } catch (error) {
    await stop(child, false);
    throw error;
  }
}

/** Only the script that serves all three prints the ports it got; the scripts of single services print the 0 they were given. */
const script = (): string => join(dirname(createRequire(import.meta.url).resolve('azurite/package.json')), 'dist/src/azurite.js');

const FLAGS: readonly string[] = [
  '--silent',
  '--disableTelemetry',
  '--skipApiVersionCheck',
  '--disableProductStyleUrl',
  ...ALL.flatMap((service) => [`--${service}Host`, '127.0.0.1', `--${service}Port`, '0']),
];

function listening(child: ChildProcess, services: readonly AzuriteService[]): Promise<Partial<Record<AzuriteService, string>>> {
  return new Promise((resolve, reject) => {
    const found: Partial<Record<AzuriteService, string>> = {};
    let printed = '';
    const fail = (why: string) => {
      clearTimeout(limit);
      reject(new Error(`Azurite ${why}. It printed:\n${printed}`));
    };
    const limit = setTimeout(() => fail(`did not listen within ${START_LIMIT_MS} ms`), START_LIMIT_MS);
    const look = (chunk: Buffer) => {
      printed += chunk.toString();
      for (const [, service, url] of printed.matchAll(/Azurite (Blob|Queue|Table) service is successfully listening at (http:\S+)/g)) {
        found[String(service).toLowerCase() as AzuriteService] = `${url}/${ACCOUNT_NAME}`;
      }
      if (!services.every((service) => found[service] !== undefined)) return;
      clearTimeout(limit);
      child.stdout?.off('data', look).resume();
      resolve(found);
    };
    child.stdout?.on('data', look);
    child.stderr?.on('data', (chunk: Buffer) => {
      printed += chunk.toString();
    });
    child.once('error', (error) => fail(`did not start: ${error.message}`));
    child.once('exit', (code, signal) => fail(`ended at once (${code ?? signal})`));
  });
}

function connectionString(url: Partial<Record<AzuriteService, string>>): string {
  const endpoints = [
    ['BlobEndpoint', url.blob],
    ['QueueEndpoint', url.queue],
    ['TableEndpoint', url.table],
  ].filter(([, value]) => value !== undefined);
  const parts = [['DefaultEndpointsProtocol', 'http'], ['AccountName', ACCOUNT_NAME], ['AccountKey', ACCOUNT_KEY], ...endpoints];
  return parts.map(([name, value]) => `${name}=${value}`).join(';');
}

/** Killed outright: asked politely it waits for connections that clients keep alive. Only what is in a folder has to be saved, and that takes politeness. */
async function stop(child: ChildProcess, kept: boolean): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
  const exited = once(child, 'exit');
  if (kept) await saved(child);
  child.kill('SIGKILL');
  await exited;
}

/** It says when a service is closed, and stays, since our end of the pipe is open. */
function saved(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    let printed = '';
    const limit = setTimeout(resolve, SAVE_LIMIT_MS);
    const look = (chunk?: Buffer): void => {
      printed += chunk?.toString() ?? '';
      if (chunk !== undefined && [...printed.matchAll(/service successfully closed/g)].length < ALL.length) return;
      clearTimeout(limit);
      resolve();
    };
    child.stdout?.on('data', look);
    child.once('exit', () => look());
    child.kill('SIGTERM');
  });
}
