/**
 * In a worker: calls of the payment provider, which charges once for each key it is given.
 *
 * @module
 */
export interface Order {
  readonly orderId: string;
  readonly amount: number;
}

/** The id of the charge. */
export async function charge(order: Order, key: string): Promise<string> {
  const response = await fetch(`${process.env.PAYMENTS_URL}/charges`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'idempotency-key': key },
    body: JSON.stringify(order),
  });
  if (!response.ok) throw new Error(`the provider answered ${response.status}`);
  return ((await response.json()) as { chargeId: string }).chargeId;
}
