/**
 * What a start of the page knows and nobody else does: whoever has the address that it printed may look, and nobody else, on this machine neither.
 *
 * @module
 */
import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Stored } from '../../core/ports.ts';

export interface Secret {
  /** In the address, once. */
  readonly token: string;
  /** Browsers keep cookies by host, not by port: two pages at once must not take each other's. */
  readonly cookieName: string;
  readonly cookie: string;
  /** In each form: a page of somebody else cannot know it. */
  readonly formToken: string;
}

export function makeSecret(): Secret {
  const token = randomBytes(32).toString('base64url');
  const derived = (use: string): string => createHmac('sha256', token).update(use).digest('base64url');
  return { token, cookieName: `rerunsafe-${derived('name').slice(0, 8)}`, cookie: derived('cookie'), formToken: derived('form') };
}

/** In a time that does not tell how much of it was right. */
export function isEqual(given: string | undefined, secret: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return given !== undefined && timingSafeEqual(digest(given), digest(secret));
}

/** Which state of a record a page was made of. A hash: with its owner's nonce anybody could write as the holder. */
export const seenMark = ({ record }: Stored): string => createHash('sha256').update(`${record.owner}\n${record.revision}`).digest('base64url');
