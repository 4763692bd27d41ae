/**
 * What a run costs on DynamoDB on demand: units of each request, by the service's rules for sizes.
 *
 * @module
 */
import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import { dynamodbStore } from 'rerunsafe/dynamodb';
import { startDynamoDbLocal } from '../../test/support/dynamodb.ts';
import { DYNAMODB } from './assumptions.ts';
import { itemBytes } from './item-size.ts';
import { firstRun, keyOf, replay } from './one-run.ts';

type Item = Readonly<Record<string, AttributeValue>>;

export interface Units {
  readonly requests: number;
  readonly writes: number;
  readonly reads: number;
}

export interface DynamodbRun {
  readonly resultBytes: number;
  readonly first: Units;
  readonly replay: Units;
  /** Of all items that stay. */
  readonly keptBytes: number;
}

const writeUnits = (bytes: number): number => Math.max(1, Math.ceil(bytes / DYNAMODB.writeUnitBytes));
const readUnits = (bytes: number, consistent: boolean): number => Math.max(1, Math.ceil(bytes / DYNAMODB.readUnitBytes)) / (consistent ? 1 : 2);

/** Requests since it was last asked. A write that is refused costs what the standing item is large, as one that is not. */
class Meter {
  #units: Units = { requests: 0, writes: 0, reads: 0 };
  /** By their key: what stands. */
  readonly #items = new Map<string, number>();

  write(item: Item): void {
    const key = String(item.id?.S);
    const bytes = itemBytes(item);
    this.#add(writeUnits(Math.max(bytes, this.#items.get(key) ?? 0)), 0);
    this.#items.set(key, bytes);
  }
  refused(item: Item, standing: Item | undefined): void {
    this.#add(writeUnits(Math.max(itemBytes(item), standing === undefined ? 0 : itemBytes(standing))), 0);
  }
  read(item: Item | undefined, consistent: boolean): void {
    this.#add(0, readUnits(item === undefined ? 0 : itemBytes(item), consistent));
  }
  take(): Units {
    const units = this.#units;
    this.#units = { requests: 0, writes: 0, reads: 0 };
    return units;
  }
  takeKept(): number {
    const kept = [...this.#items.values()].reduce((sum, bytes) => sum + bytes + DYNAMODB.storageOverheadBytes, 0);
    this.#items.clear();
    return kept;
  }
  #add(writes: number, reads: number): void {
    this.#units = { requests: this.#units.requests + 1, writes: this.#units.writes + writes, reads: this.#units.reads + reads };
  }
}

interface Known {
  readonly Item?: Item;
  readonly ConsistentRead?: boolean;
}

export async function measureDynamodb(results: readonly number[]): Promise<readonly DynamodbRun[]> {
  const emulator = await startDynamoDbLocal();
  try {
    const client = emulator.client();
    const store = dynamodbStore({ client, tableName: 'cost' });
    await store.setUp();
    const meter = new Meter();
    client.middlewareStack.add(
      (next, { commandName }) =>
        async (args) => {
          const { Item: item, ConsistentRead: consistent = false } = args.input as Known;
          try {
            const answer = await next(args);
            if (commandName === 'PutItemCommand' && item !== undefined) meter.write(item);
            else if (commandName === 'GetItemCommand') meter.read((answer.output as Known).Item, consistent);
            else throw new Error(`${commandName} is not known to the estimate`);
            return answer;
          } catch (error) {
            if (item !== undefined) meter.refused(item, (error as Known).Item);
            throw error;
          }
        },
      { step: 'initialize', name: 'meter' },
    );
    const runs: DynamodbRun[] = [];
    for (const [n, resultBytes] of results.entries()) {
      await firstRun(store, keyOf(n), resultBytes);
      const first = meter.take();
      const keptBytes = meter.takeKept();
      await replay(store, keyOf(n));
      runs.push({ resultBytes, first, replay: meter.take(), keptBytes });
    }
    return runs;
  } finally {
    await emulator.stop();
  }
}
