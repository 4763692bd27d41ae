/**
 * The payment provider, by HTTP. Like most it takes an `Idempotency-Key`: the same key again is the same charge, not a second one.
 *
 * @module
 */
export interface Payment {
  readonly orderId: string;
  /** In the smallest unit of the currency. */
  readonly amount: number;
  /** Three letters, ISO 4217. */
  readonly currency: string;
}

export type Charged = { readonly kind: 'charged'; readonly chargeId: string } | { readonly kind: 'declined'; readonly reason: string };

/** What the provider has taken, as it will be paid out. */
export interface Statement {
  readonly charges: number;
  readonly amount: number;
}

export const isPayment = (value: unknown): value is Payment => {
  const { orderId, amount, currency } = (value ?? {}) as Record<string, unknown>;
  return typeof orderId === 'string' && orderId !== '' && Number.isSafeInteger(amount) && Number(amount) > 0 && /^[A-Z]{3}$/.test(String(currency));
};

/** `key` has to be the same each time the same payment is tried: `run.keyFor('charge')`. */
export async function charge(payment: Payment, key: string, signal: AbortSignal): Promise<Charged> {
  const response = await fetch(at('charges'), {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'idempotency-key': key },
    body: JSON.stringify(payment),
    signal: AbortSignal.any([signal, AbortSignal.timeout(20_000)]),
  });
  if (response.status === 402) return { kind: 'declined', reason: await response.text() };
  if (!response.ok) throw new Error(`The payment provider answered ${response.status}.`);
  const { chargeId } = (await response.json()) as { chargeId: string };
  return { kind: 'charged', chargeId };
}

export async function statement(signal: AbortSignal): Promise<Statement> {
  const response = await fetch(at('statement'), { signal: AbortSignal.any([signal, AbortSignal.timeout(20_000)]) });
  if (!response.ok) throw new Error(`The payment provider answered ${response.status}.`);
  return (await response.json()) as Statement;
}

function at(path: string): string {
  const base = process.env.PAYMENTS_URL;
  if (!base) throw new Error('The setting PAYMENTS_URL is missing: where is the payment provider?');
  return `${base.replace(/\/$/, '')}/${path}`;
}
