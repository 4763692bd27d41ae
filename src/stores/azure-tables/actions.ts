/**
 * The caller's part of a transaction, looked at before anything is sent.
 *
 * @module
 */
import type { TransactionAction } from '@azure/data-tables';
import { invalidOptions } from '../../core/options.ts';
import { isOwnRow, type Keys, type Place } from './place.ts';

export interface Allowed {
  /** For messages: `commitWith`. */
  readonly what: string;
  readonly most: number;
  /** The service has no transactions over several partitions. */
  readonly partitionKey: string;
  readonly place: Place;
  /** How to come to be in that partition. */
  readonly hint: string;
}

/** @throws RerunSafeError `INVALID_OPTIONS` */
export function checkActions(actions: readonly TransactionAction[], { what, most, partitionKey, place, hint }: Allowed): void {
  if (!Array.isArray(actions) || actions.length > most) throw invalidOptions(what, [`the actions must be an array of at most ${most}`]);
  const problems: string[] = [];
  for (const [n, action] of actions.entries()) {
    if (!isAction(action)) {
      problems.push(`action ${n} must be [verb, entity, …] with a verb of ${[...VERBS].join(', ')} and an entity with partitionKey and rowKey`);
      continue;
    }
    const [, entity] = action;
    if (entity.partitionKey !== partitionKey) problems.push(`action ${n} must have the partition key ${partitionKey} (${hint})`);
    if (isOwnRow(place, entity.rowKey)) problems.push(`action ${n} is on a row of the store`);
  }
  if (problems.length > 0) throw invalidOptions(what, problems);
}

const VERBS: ReadonlySet<unknown> = new Set(['create', 'update', 'upsert', 'delete']);

/** The SDK leaves out what it does not know, and commits the rest. */
function isAction(action: unknown): boolean {
  if (!Array.isArray(action) || !VERBS.has(action[0])) return false;
  const { partitionKey, rowKey } = (action[1] ?? {}) as Partial<Keys>;
  return typeof partitionKey === 'string' && typeof rowKey === 'string';
}
