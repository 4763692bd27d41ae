/**
 * Where the tests are that other pages of this folder name.
 *
 * @module
 */

export interface PublicFailure {
  readonly issues: string;
  readonly happened: string;
  /** File and a title in it, as it stands there. */
  readonly tests: readonly (readonly [file: string, title: string])[];
  /** Of what is said there, what does not apply. */
  readonly not?: string;
}

export const HOLDER = 'test/leases/failures-holder.test.ts';
export const WIRE = 'test/leases/failures-wire.test.ts';
export const FENCED = 'test/leases/failures-fenced.test.ts';
export const HOLDING = 'src/testing/leases/holding.ts';
export const EXPIRY = 'src/testing/leases/expiry.ts';
export const SLOTS = 'src/testing/leases/slots.ts';
export const RACES = 'src/testing/leases/races.ts';
export const TURNS = [
  'test/leases/turns.ts',
  'I4 I5 I6 I10 hold one after the other, tokens in that order; no write of a stale holder lands, and who was stopped is told',
] as const;
export const BLOB_WIRE = 'test/wire/azure-blob.test.ts';
export const LEASE = 'test/unit/core/lease.test.ts';
export const POSTGRES_LATER = 'PostgreSQL comes with its own provider';
