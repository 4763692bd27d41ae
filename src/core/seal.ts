/**
 * Sealing what is stored: outcomes and step values are unreadable for whoever only has the store, and what is sealed opens neither changed nor moved.
 *
 * What was stored plain, before a seal was chosen, is still taken: sealing keeps secrets, it does not prove who wrote a record.
 *
 * @module
 */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { storeMisconfigured } from './errors.ts';
import { checkOptions, invalidOptions, isName, isObject } from './options.ts';
import { packed, unpacked } from './pack.ts';
import type { Whole } from './record.ts';
import { atOnce } from './value-forms.ts';

/** Text in, text out, at once. `boundTo` names the place it is kept in (record, step), and must be authenticated: a row copied elsewhere does not open. */
export interface Seal {
  close(text: string, boundTo: string): string;
  /** Throws for what was changed, moved, or closed with a key it does not have. */
  open(sealed: string, boundTo: string): string;
}

export interface AesSealOptions {
  /** By id: 32 bytes each, raw or base64. Keep old ones for as long as records live that were sealed with them. */
  readonly keys: Readonly<Record<string, Uint8Array | string>>;
  /** The id of the key that new records are sealed with. */
  readonly current: string;
}

const ALGORITHM = 'aes-256-gcm';
const KEY_BYTES = 32;
const IV_BYTES = 12;
const TAG_BYTES = 16;

/** What is no key at all has no bytes, and is refused for that. */
const keyBytes = (key: unknown): Buffer =>
  typeof key === 'string' ? Buffer.from(key, 'base64') : key instanceof Uint8Array ? Buffer.from(key) : Buffer.alloc(0);

/**
 * AES-256-GCM (NIST SP 800-38D) with key ids, so that keys can be rotated: add the new one, make it `current`, drop the old one after the retention.
 *
 * @throws RerunSafeError `INVALID_OPTIONS` for keys that are not 32 bytes, or a `current` that is none of them.
 * @example
 * const seal = aesSeal({ keys: { '2026-11': process.env.SEAL_KEY ?? '' }, current: '2026-11' });
 * await runOnce({ store, operation: 'payments/charge', key: orderId, seal }, work);
 */
export function aesSeal(options: AesSealOptions): Seal {
  checkOptions('aesSeal', options, { keys: isObject, current: isName(64) }, ['keys', 'current']);
  const keys = new Map(Object.entries(options.keys).map(([id, key]) => [id, keyBytes(key)]));
  const { current } = options;
  const problems = [...keys].flatMap(([id, key]) => [
    ...(key.byteLength === KEY_BYTES ? [] : [`the key "${id}" must be ${KEY_BYTES} bytes, is ${key.byteLength}`]),
    ...(/^[\w-]{1,64}$/.test(id) ? [] : ['a key id must be 1 to 64 letters, digits, - or _']),
  ]);
  const key = keys.get(current);
  if (key === undefined) problems.push('current is none of the keys');
  if (problems.length > 0 || key === undefined) throw invalidOptions('aesSeal', problems);
  return {
    close(text, boundTo) {
      const iv = randomBytes(IV_BYTES);
      const cipher = createCipheriv(ALGORITHM, key, iv, { authTagLength: TAG_BYTES }).setAAD(Buffer.from(boundTo));
      const body = Buffer.concat([iv, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
      return `${current}.${body.toString('base64url')}`;
    },
    open(sealed, boundTo) {
      const dot = sealed.indexOf('.');
      const id = sealed.slice(0, dot);
      const known = keys.get(id);
      if (known === undefined) throw new Error(`there is no key "${id}"`);
      const body = Buffer.from(sealed.slice(dot + 1), 'base64url');
      const decipher = createDecipheriv(ALGORITHM, known, body.subarray(0, IV_BYTES), { authTagLength: TAG_BYTES })
        .setAAD(Buffer.from(boundTo))
        .setAuthTag(body.subarray(-TAG_BYTES));
      return Buffer.concat([decipher.update(body.subarray(IV_BYTES, -TAG_BYTES)), decipher.final()]).toString('utf8');
    },
  };
}

/** @throws whatever the seal throws; TypeError where it gives anything but text (a promise). */
export function closed(outcome: Whole, seal: Seal, boundTo: string): Extract<Whole, { kind: 'sealed' }> {
  const text: unknown = atOnce(seal.close(JSON.stringify(outcome), boundTo), 'seal.close');
  if (typeof text !== 'string') throw new TypeError('seal.close must return a text, at once');
  return { kind: 'sealed', sealed: text, ...('resolved' in outcome ? { resolved: true } : {}) };
}

/** As it lies in the store: packed where it is large, and sealed where a seal is chosen. */
export function sealed<O extends Whole>(
  outcome: O,
  seal: Seal | undefined,
  boundTo: string,
): O | Extract<Whole, { kind: 'sealed' | 'packed' | 'not-stored' }> {
  if (outcome.kind === 'not-stored') return outcome;
  const whole = packed(outcome);
  if (seal === undefined) return whole;
  try {
    return closed(whole, seal, boundTo);
  } catch (error) {
    // The work is done by now: a seal that fails must not undo that, so then the value is not kept.
    process.emitWarning(`The seal could not close what was to be stored; it is done, and not kept. ${String(error)}`, { code: 'RERUNSAFE_SEAL' });
    return { kind: 'not-stored', reason: 'not-serializable' };
  }
}

/**
 * What was kept before a seal was chosen stays readable.
 *
 * @throws RerunSafeError `STORE_MISCONFIGURED`: it does not open. Nothing was run.
 */
export function opened<O extends Whole>(outcome: O, seal: Seal | undefined, boundTo: string): Exclude<O, { kind: 'sealed' | 'packed' }> {
  return unpacked(unsealed(outcome, seal, boundTo)) as Exclude<O, { kind: 'sealed' | 'packed' }>;
}

function unsealed(outcome: Whole, seal: Seal | undefined, boundTo: string): Whole {
  if (outcome.kind !== 'sealed') return outcome;
  try {
    if (seal === undefined) throw new Error('no seal was given');
    return JSON.parse(atOnce(seal.open(outcome.sealed, boundTo), 'seal.open')) as Whole;
  } catch (cause) {
    throw storeMisconfigured('what is stored is sealed and does not open: another key, another place, or somebody changed it.', cause);
  }
}

/** A step's value does not open as another step's, nor as the outcome. */
export const stepPlace = (id: string, name: string): string => `${id}/${name}`;
