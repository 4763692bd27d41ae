/**
 * What a user chooses for `idempotentFetch`, checked once.
 *
 * @module
 */
import { checkOptions, invalidOptions, isFunction, isInteger, isOneOf, type Rule } from '../../core/options.ts';
import type { System } from '../../core/ports.ts';
import { realSystem } from '../../core/system.ts';
import { isSystem } from './intent.ts';
import type { RequestInput } from './payload.ts';

export interface IdempotentFetchOptions {
  /** What really sends. It has to honour the signal. Default: the global `fetch`, looked up at each send. */
  readonly fetch?: (input: RequestInput, init?: RequestInit) => Promise<Response>;
  /** The methods that need an intent; others pass through, untouched and tried once. Default `['POST', 'PATCH']`. */
  readonly methods?: readonly string[];
  /** Default `Idempotency-Key`. */
  readonly headerName?: string;
  /** `quoted` (default): a structured-field string, as the draft has it. `bare`: for servers that cannot read it. */
  readonly form?: 'quoted' | 'bare';
  /**
   * A guarded request without an intent: `refuse` it (default), or make a `fresh` one for each call. The fresh one covers the tries inside that
   * call only: whoever calls again does it again.
   */
  readonly withoutIntent?: 'refuse' | 'fresh';
  /** Tries after the first one. Default 8. */
  readonly maxRetries?: number;
  /** No try begins later than this after the call, and none goes on longer for its headers, ms. Default 120,000. */
  readonly maxElapsedMs?: number;
  /** How long one try may wait for its headers, ms; then the same key is sent again. Default 30,000. */
  readonly tryTimeoutMs?: number;
  /** A longer body is refused: it has to be kept to be sent again. Bytes. Default 1,048,576. */
  readonly maxBodyBytes?: number;
  /**
   * How long the server remembers a key, ms: an intent older than this is refused (`BLOCKED`), since sending it might do it a second time.
   * Default 86,400,000 (24 h).
   */
  readonly keyLifetimeMs?: number;
  /** Where time and randomness come from. Default: the real ones. */
  readonly system?: System;
}

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const isToken: Rule = (value) => (typeof value === 'string' && TOKEN.test(value) ? undefined : 'must be the name of a header');
const areTokens: Rule = (value) =>
  Array.isArray(value) && value.length > 0 && value.every((item) => isToken(item) === undefined) ? undefined : 'must be an array of method names';

export interface BoundClient extends Required<Omit<IdempotentFetchOptions, 'methods'>> {
  /** Upper case. */
  readonly methods: ReadonlySet<string>;
}

/** @throws RerunSafeError `INVALID_OPTIONS` with everything that is wrong. */
export function bindClient(options: IdempotentFetchOptions): BoundClient {
  checkOptions('idempotentFetch', options, {
    fetch: isFunction,
    methods: areTokens,
    headerName: isToken,
    form: isOneOf('quoted', 'bare'),
    withoutIntent: isOneOf('refuse', 'fresh'),
    maxRetries: isInteger(0, 1_000),
    maxElapsedMs: isInteger(1, MOST_MS),
    tryTimeoutMs: isInteger(1, MOST_MS),
    maxBodyBytes: isInteger(0),
    keyLifetimeMs: isInteger(1),
    system: isSystem,
  });
  const methods = new Set((options.methods ?? ['POST', 'PATCH']).map((method) => method.toUpperCase()));
  for (const method of ['GET', 'HEAD', 'OPTIONS', 'TRACE']) {
    if (methods.has(method)) throw invalidOptions('idempotentFetch', [`methods must not name ${method}: it is safe to repeat without a key`]);
  }
  return {
    fetch: options.fetch ?? ((input, init) => fetch(input, init)),
    methods,
    headerName: options.headerName ?? 'Idempotency-Key',
    form: options.form ?? 'quoted',
    withoutIntent: options.withoutIntent ?? 'refuse',
    maxRetries: options.maxRetries ?? 8,
    maxElapsedMs: options.maxElapsedMs ?? 120_000,
    tryTimeoutMs: options.tryTimeoutMs ?? 30_000,
    maxBodyBytes: options.maxBodyBytes ?? 1_048_576,
    keyLifetimeMs: options.keyLifetimeMs ?? 86_400_000,
    system: options.system ?? realSystem,
  };
}

/** The most a timer of Node can wait. */
const MOST_MS = 2_147_483_647;
