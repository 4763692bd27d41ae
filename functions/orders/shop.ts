/**
 * The three providers, by HTTP: a payment provider and a mail service that know keys, and a carrier that does not.
 *
 * @module
 */
import { setTimeout as pause } from 'node:timers/promises';
import { NotDoneError } from 'rerunsafe';

export interface Mail {
  readonly id: string;
  readonly to: string;
}

export interface Order {
  readonly id: string;
  /** In the smallest unit of the currency. */
  readonly total: number;
  readonly mails: readonly Mail[];
}

/** Each answers the id of what was done, and throws where nobody can say whether it was; a `NotDoneError` says that it was not. */
export interface Shop {
  charge(order: Order, key: string): Promise<string>;
  /** `untilMs`: epoch ms; it is not begun after that. */
  ship(order: Order, reference: string, untilMs: number): Promise<string>;
  /** Undefined: there is none, and what was sent before this call can no longer become one. */
  findParcel(reference: string): Promise<string | undefined>;
  mail(mail: Mail, key: string): Promise<string>;
}

export interface ShopOptions {
  readonly payments: string;
  readonly carrier: string;
  readonly mailer: string;
  /** How long an answer is waited for, ms. */
  readonly timeoutMs: number;
  /** How long the carrier may take to begin what it was sent, ms. */
  readonly validMs: number;
}

export function httpShop({ payments, carrier, mailer, timeoutMs, validMs }: ShopOptions): Shop {
  const post = async (url: string, body: object, headers: Readonly<Record<string, string>>): Promise<Response> => {
    const signal = AbortSignal.timeout(timeoutMs);
    return fetch(url, { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(body), signal });
  };
  return {
    charge: async ({ id, total }, key) => idOf(await post(payments, { of: id, total }, { 'idempotency-key': key })),
    mail: async ({ id, to }, key) => idOf(await post(mailer, { of: id, to }, { 'idempotency-key': key })),

    async ship({ id }, reference, untilMs) {
      const until = Math.min(untilMs, Date.now() + validMs);
      const response = await post(carrier, { of: id, reference }, { 'valid-until': String(until) });
      // Too busy, or too late: it says that it has begun nothing.
      if (response.status === 429 || response.status === 408) throw new NotDoneError(`the carrier answered ${response.status}`);
      return idOf(response);
    },

    async findParcel(reference) {
      // Of an attempt that failed or was killed a request may still be on its way. After so long the carrier refuses it.
      await pause(validMs);
      const response = await fetch(`${carrier}?${new URLSearchParams({ reference })}`, { signal: AbortSignal.timeout(timeoutMs) });
      return response.status === 404 ? undefined : idOf(response);
    },
  };
}

async function idOf(response: Response): Promise<string> {
  if (!response.ok) throw new Error(`${response.url} answered ${response.status}`);
  return ((await response.json()) as { id: string }).id;
}
