/**
 * What a store carries for those who write its records together with rows of the caller's.
 *
 * @module
 */
import { carried } from '../../core/commit-through.ts';
import type { Connects } from './transaction.ts';

/** As `postgresStore` has it by default. */
export const DEFAULT_MAX_RECORD_BYTES = 16 * 1_048_576;

export interface Internals {
  connect: Connects['connect'];
  /** Of the record table. */
  readonly schema: string | undefined;
  readonly tableName: string;
  readonly maxRecordBytes: number;
}

export const postgres = carried<Internals>('rerunsafe/postgres');
