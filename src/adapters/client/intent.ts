/**
 * What a person or a program wants to happen once: a key, and the one request that it stands for.
 *
 * @module
 */
import { createHash } from 'node:crypto';
import { RerunSafeError } from '../../core/errors.ts';
import { fingerprintsDiffer } from '../../core/fingerprint.ts';
import { checkOptions, has, invalidOptions, isInteger, type Rule } from '../../core/options.ts';
import type { System } from '../../core/ports.ts';
import { realSystem } from '../../core/system.ts';

/** An intent at rest. Plain JSON. */
export interface IntentJson {
  readonly version: 1;
  readonly key: string;
  /** Epoch ms. */
  readonly createdAtMs: number;
  /** The fingerprint of the request it is bound to. */
  readonly request?: string;
}

/** Sent again, the same intent has the same key; it never stands for two different requests. */
export interface Intent {
  /** The value of the header, without quotes. */
  readonly key: string;
  /** Epoch ms. A server forgets keys: an intent that is older than that must not be sent again. */
  readonly createdAtMs: number;
  /** The fingerprint of its request; undefined until it is bound to one. */
  readonly request: string | undefined;
  /**
   * Binds it to a request, for good. Done by the first send, before anything is sent.
   *
   * @throws RerunSafeError `KEY_REUSED` when it is bound to another one.
   */
  bind(request: string): void;
  /** For a retry after a restart: keep it where it outlives the process, give it to {@link intentFrom}. */
  toJSON(): IntentJson;
}

export interface NewIntentOptions {
  /** A business id that is the same whenever the same thing is wanted, instead of a random key: 1 to 255 characters of visible ASCII and spaces. */
  readonly key?: string;
  /** Where time and randomness come from. Default: the real ones. */
  readonly system?: System;
}

const isKey: Rule = (value) =>
  typeof value === 'string' && /^[ -~]{1,255}$/.test(value) ? undefined : 'must be 1 to 255 characters of visible ASCII and spaces';
export const isSystem: Rule = (value) =>
  has('nonce', 'random')(value) ?? (has('monotonicMs', 'wallMs')((value as System).clock) === undefined ? undefined : 'must have a clock');

/**
 * Something new is wanted. Make it where the wish arises (the click, the order, the message), never inside a loop of retries.
 *
 * The key is a UUID of version 7: random, and a server can see that it is older than what it remembers.
 *
 * @throws RerunSafeError `INVALID_OPTIONS`
 *
 * @example
 * const intent = newIntent();
 * await send(url, { method: 'POST', body }, intent);
 */
export function newIntent(options: NewIntentOptions = {}): Intent {
  checkOptions('newIntent', options, { key: isKey, system: isSystem });
  const system = options.system ?? realSystem;
  const createdAtMs = Math.trunc(system.clock.wallMs());
  return new KeptIntent(options.key ?? uuid7(createdAtMs, system.nonce()), createdAtMs, undefined);
}

/**
 * An intent as it was kept by `JSON.stringify(intent)`, parsed.
 *
 * @throws RerunSafeError `INVALID_OPTIONS` for anything else, `RECORD_TOO_NEW` for one of a later version.
 */
export function intentFrom(json: unknown): Intent {
  if (typeof json === 'string') throw invalidOptions('intentFrom', ['give the parsed JSON, not its text']);
  const version = (json as Partial<IntentJson> | null | undefined)?.version as unknown;
  if (typeof version === 'number' && version > 1) {
    throw new RerunSafeError('RECORD_TOO_NEW', `The intent has version ${version}; this package knows 1. Update rerunsafe; nothing was sent.`);
  }
  checkOptions('intentFrom', json, { version: isOne, key: isKey, createdAtMs: isInteger(0), request: isFingerprint }, [
    'version',
    'key',
    'createdAtMs',
  ]);
  const { key, createdAtMs, request } = json as IntentJson;
  return new KeptIntent(key, createdAtMs, request);
}

const isOne: Rule = (value) => (value === 1 ? undefined : 'must be 1');
const isFingerprint: Rule = (value) => (typeof value === 'string' && /^v\d+:./.test(value) ? undefined : 'must be what toJSON() gave');

class KeptIntent implements Intent {
  readonly key: string;
  readonly createdAtMs: number;
  #request: string | undefined;

  constructor(key: string, createdAtMs: number, request: string | undefined) {
    this.key = key;
    this.createdAtMs = createdAtMs;
    this.#request = request;
  }

  get request(): string | undefined {
    return this.#request;
  }

  bind(request: string): void {
    if (fingerprintsDiffer(this.#request, request)) {
      throw new RerunSafeError(
        'KEY_REUSED',
        'This intent stands for another request (method, address or body differ). Nothing was sent; make a new intent.',
      );
    }
    this.#request ??= request;
  }

  toJSON(): IntentJson {
    const { key, createdAtMs } = this;
    return { version: 1, key, createdAtMs, ...(this.#request === undefined ? {} : { request: this.#request }) };
  }
}

/** RFC 9562, section 5.7. The nonce is hashed, as nobody says how its random bits are spread. */
function uuid7(atMs: number, nonce: string): string {
  const bytes = createHash('sha256').update(nonce).digest().subarray(0, 16);
  bytes.writeUIntBE(Math.max(0, atMs), 0, 6);
  bytes[6] = 0x70 | ((bytes[6] as number) & 0x0f);
  bytes[8] = 0x80 | ((bytes[8] as number) & 0x3f);
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}
