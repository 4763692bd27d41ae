/**
 * What a store carries for those who write its records together with data of the caller's.
 *
 * @module
 */
import { carried } from '../../core/commit-through.ts';
import type { Rows } from './rows.ts';

export interface Internals {
  readonly rows: Rows;
}

export const redis = carried<Internals>('rerunsafe/redis');
