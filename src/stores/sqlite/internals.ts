/**
 * What a store carries for those who write its records together with rows of the caller's.
 *
 * @module
 */
import { carried } from '../../core/commit-through.ts';
import type { Connection } from './connection.ts';
import type { Rows } from './rows.ts';

export interface Internals {
  readonly connection: Connection;
  readonly rows: Rows;
}

export const sqlite = carried<Internals>('rerunsafe/sqlite');
