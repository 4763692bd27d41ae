/**
 * What a part of a scenario stands on: places on servers that all parts share, a far side, and processes. Taken down on every path.
 *
 * @module
 */
import { randomBytes } from 'node:crypto';
import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { startWorker, type WorkerProcess } from '../demo/calls.ts';
import { type PaymentProvider, startPaymentProvider } from '../support/payment-provider.ts';
import { type At, type Kind, leasesAt, type Place, storeAt } from './place.ts';
import type { Servers } from './servers.ts';

export interface Stage {
  readonly servers: Servers;
  /** For files of this part alone. */
  readonly folder: string;
  /** Fresh, with what the store or the leases need in it: a table, a database, a container. */
  place<K extends Kind>(kind: K): Promise<At<K>>;
  /** Another part's charges are not in its file. */
  provider(): Promise<PaymentProvider>;
  /** `script`: a file beside this one. It finds the place in `PLACE` and the provider in `PAYMENTS_URL`. */
  process(script: string, place?: Place, env?: Readonly<Record<string, string>>): Promise<WorkerProcess>;
  /** Ends something with the part. Last in, first out. */
  defer(end: () => unknown): void;
}

/** Letters and digits only, as Azure wants the names of tables. */
const fresh = (): string => `s${randomBytes(6).toString('hex')}`;

/** Gives `play` a stage with a folder in `root`, and takes it down, also where `play` throws. */
export async function onStage(servers: Servers, root: string, play: (stage: Stage) => Promise<void>): Promise<void> {
  const ends: (() => unknown)[] = [];
  const folder = await mkdtemp(join(root, 'part-'));
  let provider: Promise<PaymentProvider> | undefined;
  const stage: Stage = {
    servers,
    folder,
    defer: (end) => void ends.push(end),
    async place(kind) {
      const place = (await placeOn(servers, kind, folder)) as At<typeof kind>;
      await setUp(place);
      return place;
    },
    provider() {
      provider ??= startPaymentProvider(join(folder, 'charges.jsonl')).then((started) => {
        ends.push(() => started.stop());
        return started;
      });
      return provider;
    },
    async process(script, place, env = {}) {
      const worker = await startWorker(new URL(script, import.meta.url).href, {
        PLACE: JSON.stringify(place ?? null),
        FOLDER: folder,
        NODE_COMPILE_CACHE: join(root, 'compiled'),
        PAYMENTS_URL: (await provider)?.url ?? '',
        ...env,
      });
      ends.push(() => worker.kill());
      return worker;
    },
  };
  try {
    await play(stage);
  } finally {
    // One end that fails does not keep the others from theirs.
    for (let end = ends.pop(); end !== undefined; end = ends.pop()) await Promise.resolve(end()).catch(() => {});
  }
}

async function placeOn(servers: Servers, kind: Kind, folder: string): Promise<Place> {
  switch (kind) {
    case 'azure-tables':
      return { kind, connectionString: (await servers.azurite()).connectionString, tableName: fresh() };
    case 'azure-blob':
      return { kind, connectionString: (await servers.azurite()).connectionString, containerName: fresh() };
    case 'dynamodb':
      return { kind, endpoint: (await servers.dynamodb()).endpoint, tableName: fresh() };
    case 'postgres':
      return { kind, url: (await (await servers.postgres()).database()).url };
    case 'redis':
      return { kind, url: (await servers.redis()).url, prefix: `${fresh()}:` };
    case 'sqlite':
      return { kind, path: join(folder, 'rerunsafe.db') };
    case 'file':
      return { kind, directory: join(folder, 'leases') };
  }
}

async function setUp(place: Place): Promise<void> {
  if (place.kind === 'azure-blob' || place.kind === 'file') return (await leasesAt(place)).setUp?.();
  const store = await storeAt(place);
  await store.setUp?.();
}
