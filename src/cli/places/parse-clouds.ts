/**
 * `dynamodb:`, `azure-tables:` and `azure-blob:`: names, never secrets.
 *
 * @module
 */
import { UsageError } from '../usage-error.ts';
import type { Address } from './address.ts';
import { checkValue, type Parameters, readParameters } from './parameters.ts';

interface Split<N extends string> {
  readonly name: string;
  readonly given: Parameters<N>;
}

function split<N extends string>(scheme: string, rest: string, what: string, names: readonly N[]): Split<N> {
  if (rest.startsWith('//')) throw new UsageError(`--store ${scheme}:// has slashes too many: write ${scheme}:${what}`);
  if (rest.includes('#')) throw new UsageError(`--store ${scheme}: takes its parameters behind a question mark: ${scheme}:${what}?${names[0]}=…`);
  const [name = '', ...more] = rest.split('?');
  return { name, given: readParameters(`${scheme}:`, more.join('?'), names) };
}

export function parseDynamodb(rest: string): Address {
  const { name, given } = split('dynamodb', rest, 'TABLE', ['region', 'endpoint']);
  if (name === '') throw new UsageError('--store dynamodb: needs the name of a table: write dynamodb:TABLE');
  const isTable = /^(?:[A-Za-z0-9_.-]{3,255}|arn:[a-z-]+:dynamodb:[a-z0-9-]+:\d+:table\/[A-Za-z0-9_.-]{3,255})$/;
  checkValue('dynamodb:', 'the table', name, isTable, '3 to 255 letters, digits, "_", "-" and "."');
  const { region, endpoint } = given;
  checkValue('dynamodb:', 'region', region, /^[a-z]{2}[a-z0-9-]{1,30}$/, 'a region like eu-west-1');
  if (endpoint !== undefined) checkEndpoint(endpoint);
  const where = { kind: 'dynamodb', tableName: name, ...(region && { region }), ...(endpoint && { endpoint }) } as const;
  return { url: `dynamodb:${rest}`, shown: `dynamodb:${rest}`, where };
}

function checkEndpoint(endpoint: string): void {
  const url = URL.canParse(endpoint) ? new URL(endpoint) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol))
    throw new UsageError('--store dynamodb:: endpoint must be an address with http:// or https://');
  if (url.username !== '' || url.password !== '' || url.search !== '') {
    throw new UsageError('--store dynamodb: takes no credentials: they come from the AWS environment (AWS_PROFILE, AWS_ACCESS_KEY_ID, a role).');
  }
}

/** What a connection string has, and no name of a setting. */
const SETTING = /^[A-Za-z0-9_.:-]{1,256}$/;

export function parseTables(rest: string): Address {
  const { name, given } = split('azure-tables', rest, 'TABLE', ['connection']);
  checkValue('azure-tables:', 'the table', name || undefined, /^[A-Za-z][A-Za-z0-9]{2,62}$/, '3 to 63 letters and digits, beginning with a letter');
  checkValue('azure-tables:', 'connection', given.connection, SETTING, 'the name of a setting, not a connection string');
  return { url: `azure-tables:${rest}`, shown: `azure-tables:${rest}`, where: { kind: 'azure-tables', ...(name && { tableName: name }), ...given } };
}

export function parseBlob(rest: string): Address {
  const { name, given } = split('azure-blob', rest, 'CONTAINER', ['connection']);
  const isContainer = /^(?=.{3,63}$)[a-z0-9]+(?:-[a-z0-9]+)*$/;
  checkValue('azure-blob:', 'the container', name || undefined, isContainer, '3 to 63 small letters, digits and single hyphens');
  checkValue('azure-blob:', 'connection', given.connection, SETTING, 'the name of a setting, not a connection string');
  return { url: `azure-blob:${rest}`, shown: `azure-blob:${rest}`, where: { kind: 'azure-blob', ...(name && { containerName: name }), ...given } };
}
