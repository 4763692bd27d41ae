/**
 * What a listing asks for, judged by the record as it is.
 *
 * @module
 */
import type { ListQuery, Stored } from './ports.ts';

export const isWanted = ({ record, ageMs }: Stored, { operation, scope, state, olderThanMs }: ListQuery): boolean =>
  (operation === undefined || record.operation === operation) &&
  (scope === undefined || record.scope === scope) &&
  (state === undefined || record.state === state) &&
  (olderThanMs === undefined || ageMs > olderThanMs);
