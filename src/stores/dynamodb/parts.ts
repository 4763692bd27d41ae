/**
 * Parts of large outcomes, each an item of its own beside its record.
 *
 * @module
 */
import { isPartName } from '../../core/parts.ts';
import type { RecordStore } from '../../core/ports.ts';
import type { RecordId } from '../../core/record.ts';
import type { Connection } from './client.ts';
import { type Item, type Layout, TTL_MARGIN_MS } from './item.ts';

/** What tells a part from a record, and holds its bytes. */
export const PART = 'part';

/** The service's limit is 400 KB for an item. */
export const PART_LIMITS = { bytesEach: 384 * 1024, most: 40 };

export interface PartItems extends Required<Pick<RecordStore, 'putPart' | 'readPart'>> {
  remove(id: RecordId, name: string): Promise<unknown>;
}

/** An id has no dot. */
const itemKey = (id: RecordId, name: string): string => `${id}.${name}`;

/** undefined: not an item of ours. Others have keys with a dot too, and an attribute that is called {@link PART}. */
export function partOf(key: string): { readonly id: RecordId; readonly name: string } | undefined {
  const dot = key.indexOf('.');
  const id = key.slice(0, dot);
  const name = key.slice(dot + 1);
  return /^[\w-]+$/.test(id) && isPartName(name) ? { id, name } : undefined;
}

export function partItems(connection: Connection, tableName: string, { partitionKey, ttlAttribute }: Layout): PartItems {
  const keyOf = (id: RecordId, name: string): Item => ({ [partitionKey]: { S: itemKey(id, name) } });
  return {
    putPart: (id, name, bytes, call) =>
      connection.call(call, async ({ write }) => {
        const nowMs = connection.clock.nowMs();
        const Item: Item = { ...keyOf(id, name), [PART]: { B: bytes }, writtenAtMs: { N: String(nowMs) } };
        if (ttlAttribute !== undefined) Item[ttlAttribute] = { N: String(Math.ceil((nowMs + call.keepMs + TTL_MARGIN_MS) / 1000)) };
        await write((sdk) => new sdk.PutItemCommand({ TableName: tableName, Item }));
      }),
    readPart: (id, name, call) =>
      connection.call(call, async ({ read }) => {
        const get = async (ConsistentRead: boolean): Promise<Uint8Array | undefined> => {
          const { Item } = await read((sdk) => new sdk.GetItemCommand({ TableName: tableName, Key: keyOf(id, name), ConsistentRead }));
          return Item?.[PART]?.B;
        };
        // Half the price, and right wherever there is an answer: what is under a name never changes.
        return (await get(false)) ?? get(true);
      }),
    remove: (id, name) =>
      connection.call(undefined, ({ write }) => write((sdk) => new sdk.DeleteItemCommand({ TableName: tableName, Key: keyOf(id, name) }))),
  };
}
