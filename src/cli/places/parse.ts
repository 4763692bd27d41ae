/**
 * From a store's URL to an address. No message repeats what was given: it may be a password in the wrong place.
 *
 * @module
 */
import { UsageError } from '../usage-error.ts';
import type { Address } from './address.ts';
import { STORE_FORMS } from './forms.ts';
import { parseBlob, parseDynamodb, parseTables } from './parse-clouds.ts';
import { parseFile, parseSqlite } from './parse-files.ts';
import { parsePostgres, parseRedis } from './parse-servers.ts';

type Parse = (rest: string, env: NodeJS.ProcessEnv, scheme: string) => Address;

const SCHEMES: Readonly<Record<string, Parse>> = {
  sqlite: parseSqlite,
  postgres: parsePostgres,
  postgresql: parsePostgres,
  redis: parseRedis,
  rediss: parseRedis,
  dynamodb: parseDynamodb,
  'azure-tables': parseTables,
  'azure-blob': parseBlob,
  file: parseFile,
};

/** What people write instead. */
const MEANT: Readonly<Record<string, string>> = {
  ...{ sqlite3: 'sqlite', sqllite: 'sqlite', db: 'sqlite', postgre: 'postgres', pg: 'postgres', psql: 'postgres', postgress: 'postgres' },
  ...{ valkey: 'redis', valkeys: 'rediss', dynamo: 'dynamodb', ddb: 'dynamodb', 'azure-table': 'azure-tables', tables: 'azure-tables' },
  ...{ azuretables: 'azure-tables', 'azure-blobs': 'azure-blob', azureblob: 'azure-blob', blob: 'azure-blob', files: 'file' },
};

/** @throws UsageError */
export function parseStoreUrl(url: string, env: NodeJS.ProcessEnv): Address {
  if (url === '') throw new UsageError('--store, or RERUNSAFE_STORE, is empty. Leave it out for the default, a SQLite file in your state folder.');
  if (/[\p{Cc}]/u.test(url)) throw new UsageError('--store has a control character in it (a line break?).');
  const colon = url.indexOf(':');
  const scheme = colon < 0 ? url : url.slice(0, colon);
  const parse = Object.hasOwn(SCHEMES, scheme) ? SCHEMES[scheme] : undefined;
  if (colon > 0 && parse !== undefined) return parse(url.slice(colon + 1), env, scheme);
  throw new UsageError(`--store ${whatIsWrong(scheme, colon > 0)} The forms are ${STORE_FORMS.map(([form]) => form).join('  ')}`);
}

function whatIsWrong(scheme: string, hasColon: boolean): string {
  const lower = scheme.toLowerCase();
  const meant = Object.hasOwn(SCHEMES, lower) ? lower : MEANT[lower];
  if (lower === 'memory') return 'cannot be memory: it is gone with this process, and would guard against nothing. Leave it out for a SQLite file.';
  if (meant !== undefined) return `is misspelt: write ${meant}: (with the colon, in small letters).`;
  if (!hasColon || lower.length === 1 || /[/\\]/.test(scheme)) return 'is no URL. A database file is named as sqlite:/path/to/file.db.';
  return 'names no kind of store that is known.';
}
