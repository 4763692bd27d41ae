/**
 * `postgres:` and `redis:`, whose URLs may hold a password. Our own parameters stand in the fragment: the query belongs to the driver.
 *
 * @module
 */
import { EXIT } from '../exit-codes.ts';
import { UsageError } from '../usage-error.ts';
import type { Address } from './address.ts';
import { checkValue, readParameters } from './parameters.ts';

/** A URL with a user must name a host, only not for the driver of PostgreSQL. */
const NO_HOST = 'rerunsafe.invalid';
const ENCODE = 'In a password write / as %2F, ? as %3F, # as %23, @ as %40, % as %25.';

interface Parts {
  readonly address: URL;
  /** Without the fragment. */
  readonly connectionUrl: string;
  readonly fragment: string;
}

export function parsePostgres(rest: string, _env: NodeJS.ProcessEnv, scheme: string): Address {
  const form = `${scheme}://USER:PASSWORD@HOST/DATABASE`;
  const isAlone = rest === '' || rest.startsWith('#');
  const fragment = isAlone ? rest.slice(1) : undefined;
  const parts = isAlone ? undefined : serverParts(scheme, rest, form);
  const names = readParameters(`${scheme}:`, fragment ?? parts?.fragment ?? '', ['table', 'schema']);
  const { table, schema } = names;
  checkValue(`${scheme}:`, 'table', table, /^.{1,40}$/u, '1 to 40 bytes long');
  const where = {
    kind: 'postgres',
    ...(parts && { connectionString: parts.connectionUrl }),
    ...(table && { tableName: table }),
    ...(schema && { schema }),
  } as const;
  const url = `${scheme}:${rest}`;
  return { url, shown: parts === undefined ? url : `${withoutSecrets(parts.address)}${hash(parts.fragment)}`, where };
}

/**
 * Where `postgres:` alone leads to. undefined: the driver's own variables say it.
 *
 * @throws UsageError where nothing says it: the driver would guess
 */
export function databaseOf({ DATABASE_URL, PGHOST }: NodeJS.ProcessEnv): string | undefined {
  const form = 'postgres://USER:PASSWORD@HOST/DATABASE';
  if (DATABASE_URL !== undefined && DATABASE_URL !== '') {
    const [, scheme, rest = ''] = /^(postgres(?:ql)?):(.*)$/s.exec(DATABASE_URL) ?? [];
    if (scheme === undefined) throw new UsageError(`DATABASE_URL is not that of a PostgreSQL database. Write ${form}`, EXIT.config);
    return serverParts(scheme, rest, form).connectionUrl;
  }
  if (PGHOST !== undefined && PGHOST !== '') return undefined;
  throw new UsageError(
    `--store postgres: alone looks at DATABASE_URL, or PGHOST and its kin, and none is set. Set one, or write ${form}`,
    EXIT.config,
  );
}

export function parseRedis(rest: string, _env: NodeJS.ProcessEnv, scheme: string): Address {
  const form = `${scheme}://USER:PASSWORD@HOST:PORT/0`;
  const { address, connectionUrl, fragment } = serverParts(scheme, rest, form);
  if (address.hostname === '') throw new UsageError(`--store ${scheme}: names no host. Write ${form}`);
  if (address.search !== '') throw new UsageError(`--store ${scheme}: takes its parameters behind a #, not behind a question mark. ${ENCODE}`);
  if (!/^\/?\d*$/.test(address.pathname)) throw new UsageError(`--store ${scheme}: behind the host stands the number of a database. Write ${form}`);
  const { prefix, 'accept-failover-loss': accepted } = readParameters(
    `${scheme}:`,
    fragment,
    ['prefix', 'accept-failover-loss'],
    ['accept-failover-loss'],
  );
  checkValue(`${scheme}:`, 'prefix', prefix, /^.{1,200}$/u, '1 to 200 characters long');
  const where = { kind: 'redis', connectionUrl, ...(prefix && { prefix }), acceptFailoverLoss: accepted === 'true' } as const;
  // A password alone is often written where the user name belongs.
  if (address.password === '' && address.username !== '') address.username = '***';
  return { url: `${scheme}:${rest}`, shown: `${withoutSecrets(address)}${hash(fragment)}`, where };
}

function serverParts(scheme: string, rest: string, form: string): Parts {
  if (!rest.startsWith('//')) throw new UsageError(`--store ${scheme}: is not complete. Write ${form}`);
  const [beforeHash = '', ...more] = rest.split('#');
  const fragment = more.join('#');
  const connectionUrl = `${scheme}:${beforeHash}`;
  // The driver for PostgreSQL takes an address without a host: a socket, or what its variables say.
  const readable = [connectionUrl, connectionUrl.replace('@/', `@${NO_HOST}/`)].find((one) => URL.canParse(one));
  if (readable === undefined) throw new UsageError(`--store ${scheme}: cannot be read as a URL. Write ${form} (one host). ${ENCODE}`);
  const address = new URL(readable);
  const { username, password, pathname, search } = address;
  // What follows a / ? or # in a password would pass for a database, a parameter, and be shown as one.
  const isCutOff = pathname.includes('@') || fragment.includes('@') || (username === '' && password === '' && search.includes('@'));
  if (isCutOff) throw new UsageError(`--store ${scheme}: has an @ behind the host. ${ENCODE}`);
  if (![username, password, pathname].every(isDecodable))
    throw new UsageError(`--store ${scheme}: has a % that begins no encoded character. ${ENCODE}`);
  return { address, connectionUrl, fragment };
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

/** The query is the driver's, and may hold a password too. */
function withoutSecrets({ protocol, username, password, host, pathname, search }: URL): string {
  const user = `${username}${password === '' ? '' : ':***'}`;
  return `${protocol}//${user === '' ? '' : `${user}@`}${host === NO_HOST ? '' : host}${pathname}${search === '' ? '' : '?…'}`;
}

const hash = (fragment: string): string => (fragment === '' ? '' : `#${fragment}`);
