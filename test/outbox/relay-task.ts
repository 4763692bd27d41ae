/**
 * Where a relay in a process of its own finds its outbox, and what it hands the messages to. Plain JSON.
 *
 * @module
 */
export type RelayTask = { readonly kind: 'postgres'; readonly url: string } | { readonly kind: 'dynamodb'; readonly endpoint: string };

export interface Numbered {
  readonly n: number;
}

export const LEASE_MS = 300;
export const TABLES = { records: 'rerunsafe', outbox: 'outbox', effects: 'effects' } as const;
/** The item of all deliveries, repeated ones too. */
export const COUNTER = 'deliveries';
