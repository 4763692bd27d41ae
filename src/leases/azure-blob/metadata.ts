/**
 * What the lease blob remembers, in its metadata: token, holder, slot. Pure; the blob itself stays empty.
 *
 * @module
 */
import { storeMisconfigured } from '../../core/errors.ts';
import type { Owner } from '../../core/record.ts';

/** Times are epoch ms by the service's clock, except `lastSlot`, which is a scheduled moment. */
export interface LeaseMetadata {
  readonly token?: number | undefined;
  /** The owner that the token was given to. Stays after the release: it tells "released by me" from "lost to another". */
  readonly holder?: Owner | undefined;
  readonly label?: string | undefined;
  /** The service's lease, in whole seconds, as last acquired. */
  readonly leaseSeconds?: number | undefined;
  readonly lastSlot?: number | undefined;
  /** Minimum hold: nobody gets the lease before. */
  readonly holdUntilMs?: number | undefined;
}

export type RawMetadata = Readonly<Record<string, string>>;

const MAX_LABEL_CHARS = 256;

/**
 * Reads the metadata. The service returns keys in lower case.
 *
 * @throws RerunSafeError `STORE_MISCONFIGURED` when a number is none: starting the token anew could hand out one that was used before.
 */
export function parseMetadata(raw: RawMetadata | undefined): LeaseMetadata {
  const given = raw ?? {};
  return {
    token: numberOf(given, 'token'),
    holder: given.holder || undefined,
    label: given.label ? decodeLabel(given.label) : undefined,
    leaseSeconds: numberOf(given, 'leaseseconds'),
    lastSlot: numberOf(given, 'lastslot'),
    holdUntilMs: numberOf(given, 'holduntil'),
  };
}

/** The whole new set. Setting metadata replaces all of it, so keys that others put there are carried over. */
export function composeMetadata(standing: RawMetadata | undefined, next: LeaseMetadata): Record<string, string> {
  const composed: Record<string, string> = { ...standing };
  const put = (key: string, value: string | number | undefined): void => {
    if (value === undefined) delete composed[key];
    else composed[key] = String(value);
  };
  put('token', next.token);
  put('holder', next.holder);
  put('label', next.label === undefined || next.label === '' ? undefined : encodeLabel(next.label));
  put('leaseseconds', next.leaseSeconds);
  put('lastslot', next.lastSlot);
  put('holduntil', next.holdUntilMs);
  return composed;
}

/**
 * The token of the next holder, or undefined: not yet, ask again in the next second.
 *
 * A blob without a token may be the successor of one that was deleted. Tokens given out before lie below the end of the second in which the old
 * blob was last used (less than one acquisition per ms), so a seed from a *later* second is higher. `Date` has whole seconds only: a seed from the
 * second of creation could repeat a token.
 */
export function nextToken(standing: number | undefined, serviceMs: number, lastModifiedMs: number): number | undefined {
  if (standing !== undefined) return Math.max(standing + 1, serviceMs);
  return serviceMs > lastModifiedMs ? serviceMs : undefined;
}

/** `Date` is cut to the second; the added one makes the hold never short, at most two seconds long. */
export const holdUntil = (serviceMs: number, holdMs: number): number => serviceMs + 1000 + Math.ceil(holdMs);

function numberOf(raw: RawMetadata, key: string): number | undefined {
  const text = raw[key];
  if (text === undefined) return undefined;
  const value = Number(text);
  if (!/^\d{1,16}$/.test(text) || !Number.isSafeInteger(value)) {
    throw storeMisconfigured(
      `the metadata "${key}" of a lease blob is not a whole number. Something else wrote to it; put back a higher token, by hand.`,
    );
  }
  return value;
}

// Header values must be ASCII, and a lone surrogate cannot be percent-encoded.
const encodeLabel = (label: string): string => encodeURIComponent(label.slice(0, MAX_LABEL_CHARS).replace(/\p{Surrogate}/gu, '\uFFFD'));

function decodeLabel(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
