/**
 * What one call asks of the service: counted requests, and where the service says so, what they consumed.
 *
 * @module
 */
import type { AttributeValue, DynamoDBClient } from '@aws-sdk/client-dynamodb';

export interface Cost {
  readonly requests: number;
  readonly readUnits?: number;
  readonly writeUnits?: number;
}

/** What `call` costs, by a client that nobody else uses meanwhile. */
export type Meter = (call: () => Promise<unknown>) => Promise<Cost>;

/**
 * Adds up what the service answers. A refused write is charged by the size of the item that stands there, one unit for each KB, and the answer does not
 * say so: that is computed from the item it brings back.
 */
export function meterOf(client: DynamoDBClient): Meter {
  const cost = { requests: 0, readUnits: 0, writeUnits: 0 };
  client.middlewareStack.add(
    (next, { commandName }) =>
      async (args) => {
        Object.assign(args.input, { ReturnConsumedCapacity: 'TOTAL' });
        cost.requests += 1;
        try {
          const result = await next(args);
          const { ConsumedCapacity } = result.output as { ConsumedCapacity?: { CapacityUnits?: number } };
          cost[commandName === 'GetItemCommand' ? 'readUnits' : 'writeUnits'] += ConsumedCapacity?.CapacityUnits ?? Number.NaN;
          return result;
        } catch (error) {
          const { Item: standing = {} } = error as { Item?: Record<string, AttributeValue> };
          cost.writeUnits += Math.max(1, Math.ceil(itemBytes(standing) / 1024));
          throw error;
        }
      },
    { step: 'initialize', name: 'meter' },
  );
  return async (call) => {
    Object.assign(cost, { requests: 0, readUnits: 0, writeUnits: 0 });
    await call();
    return { ...cost };
  };
}

/** By a proxy, or by whoever else sees each request pass. */
export const counterOf =
  (count: () => number): Meter =>
  async (call) => {
    const before = count();
    await call();
    return { requests: count() - before };
  };

/** As the service documents it: UTF-8 of names and texts, numbers by their digits, 3 bytes for a map and one for each thing in it. */
export const itemBytes = (item: Readonly<Record<string, AttributeValue>>): number =>
  Object.entries(item).reduce((sum, [name, value]) => sum + Buffer.byteLength(name) + valueBytes(value), 0);

function valueBytes({ S, N, B, M, L }: AttributeValue): number {
  if (S !== undefined) return Buffer.byteLength(S);
  if (N !== undefined) return Math.ceil(N.length / 2) + 1;
  if (B !== undefined) return B.length;
  if (M !== undefined) return 3 + Object.keys(M).length + itemBytes(M);
  if (L !== undefined) return 3 + L.reduce((sum, value) => sum + 1 + valueBytes(value), 0);
  return 1;
}
