/**
 * A store by its URL. Only the one that is named is imported, and nothing is asked of it yet.
 *
 * @module
 */
import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { storeMisconfigured } from '../../core/errors.ts';
import type { LeaseProvider, RecordStore } from '../../core/ports.ts';
import { storeLeases } from '../../core/store-leases.ts';
import type { Address, Where } from './address.ts';
import { parseStoreUrl } from './parse.ts';
import { databaseOf } from './parse-servers.ts';

export interface OpenPlace {
  /** As given, and where it is a relative path, made absolute: for the environment of the command. */
  readonly url: string;
  /** Without secrets, for people. */
  readonly shown: string;
  /** undefined: leases only. */
  readonly store: RecordStore | undefined;
  readonly leases: LeaseProvider;
  /** Never hangs, never throws. */
  close(): Promise<void>;
}

type Opened = { readonly store: RecordStore } | { readonly store?: undefined; readonly leases: LeaseProvider };
/** What is to be closed beside the store. */
type Closing = { close?(): void };

/** The first use of a store that is away ends after about ten seconds. */
const POSTGRES_LIMIT_MS = 8_000;
const AZURE_TRY_LIMIT_MS = 4_000;
const BUSY_LIMIT_MS = 10_000;
const CLOSE_LIMIT_MS = 1_000;

/**
 * Opens the store that a URL names (`STORE_FORMS`). Makes nothing, and asks nothing of it: that is for its first use. Only the user's own places,
 * `sqlite:` and `file:`, are made here when they are not there. What the SDKs themselves read of the environment they take from `process.env`.
 *
 * @throws UsageError where the URL is none of them. RerunSafeError `STORE_MISCONFIGURED` where a package is missing, or the user's place cannot be made.
 *
 * @example
 * const place = await openPlace(process.env.RERUNSAFE_STORE ?? DEFAULT_STORE, process.env);
 * try { await runOnce({ store: place.store, … }) } finally { await place.close(); }
 */
export async function openPlace(url: string, env: NodeJS.ProcessEnv): Promise<OpenPlace> {
  return openAddress(parseStoreUrl(url, env), env);
}

/** A store as people may see it: without secrets. @throws UsageError */
export const shownPlace = (url: string): string => parseStoreUrl(url, process.env).shown;

export async function openAddress({ url, shown, where }: Address, env: NodeJS.ProcessEnv): Promise<OpenPlace> {
  const opened = await OPEN[where.kind](where as never, env);
  const { store } = opened;
  const leases = store === undefined ? opened.leases : storeLeases(store);
  const close = (): Promise<void> =>
    withinLimit(async () => {
      opened.close?.();
      await store?.close?.();
    });
  return { url, shown, store, leases, close };
}

type Openers = { readonly [K in Where['kind']]: (where: Extract<Where, { kind: K }>, env: NodeJS.ProcessEnv) => Promise<Opened & Closing> };

const OPEN: Openers = {
  async sqlite({ keeper, path }) {
    const { sqliteStore } = await import('../../stores/sqlite/store.ts');
    const store = sqliteStore({ path, busyTimeoutMs: BUSY_LIMIT_MS });
    if (keeper === 'user' && !existsSync(path)) await (await import('./user-file.ts')).makeUserDatabase(path);
    const { setUp } = store;
    if (keeper !== 'host') return { store: Object.assign(store, { setUp: () => inItsFolder(path, setUp) }) };
    const { checkHostDatabase, makeHostDatabase } = await import('./host-file.ts');
    await checkHostDatabase(path);
    // The same object, because the store's own functions know it by that.
    return { store: Object.assign(store, { setUp: () => makeHostDatabase(path, { setUp }) }) };
  },
  async postgres({ kind: _, connectionString: given, ...names }, env) {
    const connectionString = given ?? databaseOf(env);
    const { postgresStore } = await import('../../stores/postgres/store.ts');
    return { store: postgresStore({ ...names, ...(connectionString && { connectionString }), requestTimeoutMs: POSTGRES_LIMIT_MS }) };
  },
  async redis({ connectionUrl, prefix, acceptFailoverLoss }) {
    const [{ redisStore }, { openRedis }] = await Promise.all([import('../../stores/redis/store.ts'), import('./open-redis.ts')]);
    const { client, close } = await openRedis(connectionUrl);
    return { store: redisStore({ client, acceptFailoverLoss, ...(prefix !== undefined && { prefix }) }), close };
  },
  async dynamodb({ tableName, region, endpoint }) {
    const { dynamodbStore } = await import('../../stores/dynamodb/index.ts');
    if (region === undefined && endpoint === undefined) return { store: dynamodbStore({ tableName }) };
    const client = await (await import('./open-dynamodb.ts')).dynamodbClient(region, endpoint);
    return { store: dynamodbStore({ tableName, client }), close: () => client.destroy() };
  },
  async 'azure-tables'({ kind: _, ...place }) {
    const { tableStore } = await import('../../stores/azure-tables/store.ts');
    return { store: tableStore({ ...place, requestTimeoutMs: AZURE_TRY_LIMIT_MS, maxRetries: 1 }) };
  },
  async 'azure-blob'({ kind: _, ...place }) {
    const { blobLeases } = await import('../../leases/azure-blob/index.ts');
    return { leases: blobLeases(place) };
  },
  async file({ keeper, directory, sharedWith }) {
    const { fileLeases } = await import('../../leases/file/index.ts');
    const leases = fileLeases({ directory, sharedWith });
    if (keeper === 'user' && !existsSync(directory)) await leases.setUp();
    return { leases };
  },
};

/** SQLite would only say that it cannot open a file. No folder is made: the path may be mistyped. */
async function inItsFolder(path: string, setUp: () => Promise<void>): Promise<void> {
  const folder = dirname(path);
  if (existsSync(folder)) return setUp();
  throw storeMisconfigured(`there is no folder ${folder}. Make it (mkdir -p '${folder}'), or name another path.`);
}

/** A server that is away must not keep a command from ending that is done. */
async function withinLimit(close: () => Promise<void>): Promise<void> {
  let limit: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    limit = setTimeout(resolve, CLOSE_LIMIT_MS);
  });
  await Promise.race([close().catch(() => {}), late]);
  clearTimeout(limit);
}
