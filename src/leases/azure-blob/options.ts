/**
 * The options of `blobLeases`, and what is checked of each request.
 *
 * @module
 */
import type { ContainerClient } from '@azure/storage-blob';
import { checkOptions, has, invalidOptions, isInteger, type Rule } from '../../core/options.ts';

export interface BlobLeasesOptions {
  /** The container for leases. Used as it is, with its own retries. Default: made once, on first use, from `connection`. */
  readonly container?: ContainerClient;
  /** Name of the setting (and prefix of its identity-based forms) that says where the storage account is. Default: `AzureWebJobsStorage`. */
  readonly connection?: string;
  /** Default: `rerunsafe-leases`. */
  readonly containerName?: string;
  /** Put in front of every blob name. Default: none. */
  readonly prefix?: string;
  /** For one request, with its retries, in ms. Default: 5000. */
  readonly requestTimeoutMs?: number;
}

export const MIN_LEASE_MS = 15_000;
export const MAX_LEASE_MS = 60_000;
const MAX_NAME_CHARS = 512;

export function checkBlobLeasesOptions(options: unknown): void {
  const given = typeof options === 'object' && options !== null ? (options as Record<string, unknown>) : {};
  const notBeside =
    (rule: Rule): Rule =>
    (value) =>
      given.container === undefined ? rule(value) : 'cannot be given beside container';
  checkOptions('blobLeases', options, {
    container: has('getBlockBlobClient', 'createIfNotExists'),
    connection: notBeside(isSettingName),
    containerName: notBeside((value) =>
      typeof value === 'string' && value.length >= 3 && value.length <= 63 && /^[a-z0-9]+(-[a-z0-9]+)*$/.test(value)
        ? undefined
        : 'must be 3 to 63 lower-case letters, digits and single hyphens',
    ),
    prefix: (value) =>
      typeof value === 'string' && value.length <= 200 && /^(?:[A-Za-z0-9_-]+\/?)*$/.test(value)
        ? undefined
        : 'must be up to 200 letters, digits, "_", "-" and single "/", not beginning with one',
    requestTimeoutMs: isInteger(100, 60_000),
  });
}

// The value is not repeated: a connection string put here by mistake holds a key.
const isSettingName: Rule = (value) =>
  typeof value === 'string' && /^[A-Za-z0-9_.:-]{1,256}$/.test(value) ? undefined : 'must be the name of a setting, not a connection string';

const isGuid: Rule = (value) =>
  typeof value === 'string' && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(value)
    ? undefined
    : 'must be a GUID, because it is the lease id (crypto.randomUUID() makes one)';

const isDuration =
  (minMs: number, maxMs: number): Rule =>
  (value) =>
    typeof value === 'number' && value >= minMs && value <= maxMs ? undefined : `must be from ${minMs} to ${maxMs} ms`;

const REQUEST: Readonly<Record<string, Rule>> = {
  name: (value) =>
    typeof value === 'string' && value.length > 0 && value.length <= MAX_NAME_CHARS
      ? undefined
      : `must be a string of 1 to ${MAX_NAME_CHARS} characters`,
  owner: isGuid,
  token: isInteger(0),
  leaseMs: isDuration(MIN_LEASE_MS, MAX_LEASE_MS),
  slot: isInteger(0),
  slotDone: isInteger(0),
  holdMs: isDuration(0, Number.MAX_SAFE_INTEGER / 2),
};

/** @throws RerunSafeError `INVALID_OPTIONS`. Unknown fields are left alone: core may say more than a provider needs. */
export function checkRequest(given: Readonly<Record<string, unknown>>): void {
  const problems = Object.entries(given).flatMap(([field, value]) => {
    const wrong = value === undefined ? undefined : REQUEST[field]?.(value);
    return wrong === undefined ? [] : [`${field} ${wrong}`];
  });
  if (problems.length > 0) throw invalidOptions('a Blob lease', problems);
}
