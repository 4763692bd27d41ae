/**
 * The options of a reader of Powertools' records, checked once, with the defaults that Powertools has.
 *
 * @module
 */
import { createHash } from 'node:crypto';
import { checkOptions, has, invalidOptions, isInteger, isName, type Rule, type Rules } from '../../core/options.ts';
import type { ConnectionOptions } from './client.ts';
import type { PowertoolsKeying } from './powertools-key.ts';
import type { PowertoolsRecordsOptions } from './powertools-records.ts';

export interface PowertoolsSettings extends Omit<ConnectionOptions, 'partitionKey'> {
  readonly keying: PowertoolsKeying;
  readonly attributes: Readonly<Record<'status' | 'data' | 'expiry' | 'inProgressExpiry' | 'validation', string>>;
}

const isString: Rule = (value) => (typeof value === 'string' ? undefined : 'must be a string');
const isAttribute = isName(255);
const isHash: Rule = (value) => {
  try {
    createHash(value as string);
    return undefined;
  } catch {
    return 'must be a hash that node:crypto has';
  }
};

const RULES: Rules = {
  tableName: isName(1024),
  client: has('send', 'destroy'),
  functionName: isString,
  keyPrefix: isString,
  hashFunction: isHash,
  keyAttr: isAttribute,
  sortKeyAttr: isAttribute,
  staticPkValue: isName(2048),
  statusAttr: isAttribute,
  dataAttr: isAttribute,
  expiryAttr: isAttribute,
  inProgressExpiryAttr: isAttribute,
  validationKeyAttr: isAttribute,
  requestTimeoutMs: isInteger(1),
  clock: has('nowMs'),
};

const WHAT = 'powertoolsRecords';

/** @throws RerunSafeError `INVALID_OPTIONS` */
export function configurePowertools(options: PowertoolsRecordsOptions): PowertoolsSettings {
  checkOptions(WHAT, options, RULES, ['tableName']);
  const { keyAttr = 'id', sortKeyAttr, hashFunction = 'md5' } = options;
  if (sortKeyAttr === keyAttr) throw invalidOptions(WHAT, ['keyAttr and sortKeyAttr must differ']);
  // Checked as the default too: a runtime in FIPS mode has no md5.
  if (isHash(hashFunction) !== undefined) throw invalidOptions(WHAT, [`hashFunction ${isHash(hashFunction)}`]);
  return {
    client: options.client,
    tableName: options.tableName,
    requestTimeoutMs: options.requestTimeoutMs ?? 5000,
    clock: options.clock,
    keying: {
      prefix: options.keyPrefix?.trim() || functionNameOf(options),
      hashFunction,
      keyAttr,
      // The static value is made from the function's name, whatever keyPrefix is.
      composite:
        sortKeyAttr === undefined ? undefined : { sortKeyAttr, staticPkValue: options.staticPkValue ?? `idempotency#${functionNameOf(options)}` },
    },
    attributes: {
      status: options.statusAttr ?? 'status',
      data: options.dataAttr ?? 'data',
      expiry: options.expiryAttr ?? 'expiration',
      inProgressExpiry: options.inProgressExpiryAttr ?? 'in_progress_expiration',
      validation: options.validationKeyAttr ?? 'validation',
    },
  };
}

/** Powertools takes a name that is missing for an empty one; here it would mean that no record is ever found. */
function functionNameOf({ functionName = process.env.AWS_LAMBDA_FUNCTION_NAME }: PowertoolsRecordsOptions): string {
  if (functionName !== undefined) return functionName.trim();
  throw invalidOptions(WHAT, ['functionName is missing, and AWS_LAMBDA_FUNCTION_NAME is not set']);
}
