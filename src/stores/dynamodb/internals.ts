/**
 * What a store carries for those who write its records together with items of the caller's.
 *
 * @module
 */
import type { Put } from '@aws-sdk/client-dynamodb';
import { carried } from '../../core/commit-through.ts';
import type { Stored } from '../../core/ports.ts';
import type { RecordId, RecordToWrite, Version } from '../../core/record.ts';
import type { Connection } from './client.ts';
import type { Item } from './item.ts';

export interface Internals {
  readonly connection: Connection;
  readonly tableName: string;
  /** Where messages go. */
  readonly outboxTable: string | undefined;
  /** On condition of the version; undefined: only when absent. `too-large`: the service would not take it. */
  guardedPut(id: RecordId, record: RecordToWrite, version: Version | undefined): Put | 'too-large';
  keyOf(id: RecordId): Item;
  toStored(item: Item): Stored;
}

export const dynamodb = carried<Internals>('rerunsafe/dynamodb');
