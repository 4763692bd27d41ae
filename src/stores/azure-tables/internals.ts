/**
 * What a store carries for those who write its records together with entities of the caller's.
 *
 * @module
 */
import { carried } from '../../core/commit-through.ts';
import type { RecordStore } from '../../core/ports.ts';
import type { Place } from './place.ts';
import type { Request } from './request.ts';

export interface Internals {
  readonly request: Request;
  readonly place: Place;
  readonly read: RecordStore['read'];
}

export const azureTables = carried<Internals>('rerunsafe/azure-tables');
