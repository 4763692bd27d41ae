import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { type AttributeValue, type DynamoDBClient, PutItemCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { recordId } from '../../../src/core/key.ts';
import { partNames } from '../../../src/core/parts.ts';
import { type RecordStore, runOnce } from '../../../src/index.ts';
import { commitWith, dynamodbStore } from '../../../src/stores/dynamodb/index.ts';
import type { Emulator } from '../../support/dynamodb.ts';
import { incompressible } from '../../support/incompressible.ts';
import { collect, EMULATORS, freshStore, plainTable, rawItem } from './dynamodb-subject.ts';

interface Cost {
  requests: number;
  reads: number;
  writes: number;
}

/** Adds up what the service says each request has consumed. A refused write is charged too, by the size of the item that stands there, and does not say so. */
function metered(client: DynamoDBClient): Cost {
  const cost: Cost = { requests: 0, reads: 0, writes: 0 };
  client.middlewareStack.add(
    (next, { commandName }) =>
      async (args) => {
        Object.assign(args.input, { ReturnConsumedCapacity: 'TOTAL' });
        cost.requests += 1;
        try {
          const result = await next(args);
          const { ConsumedCapacity } = result.output as { ConsumedCapacity?: { CapacityUnits?: number } };
          const units = ConsumedCapacity?.CapacityUnits ?? Number.NaN;
          cost[commandName === 'GetItemCommand' ? 'reads' : 'writes'] += units;
          return result;
        } catch (error) {
          const standing = (error as { Item?: object }).Item;
          cost.writes += Math.ceil(itemBytes(standing) / 1024);
          throw error;
        }
      },
    { step: 'initialize', name: 'meter' },
  );
  return cost;
}

/** UTF-8 of names and strings; numbers by their digits, as the service documents it. */
const itemBytes = (item: object = {}): number =>
  Object.entries(item).reduce(
    (sum, [name, { S, N }]: [string, { S?: string; N?: string }]) => sum + Buffer.byteLength(name + (S ?? '')) + (N ?? '').length / 2,
    0,
  );

const local = EMULATORS.filter(({ returnsOld }) => returnsOld);

describe.each(local)('large outcomes on $name', ({ start }) => {
  let emulator: Emulator;
  beforeAll(async () => {
    emulator = await start();
  });
  afterAll(() => emulator?.stop());

  const operation = 'reports/make';
  const taken = async (cost: Cost, work: () => Promise<unknown>): Promise<Cost> => {
    Object.assign(cost, { requests: 0, reads: 0, writes: 0 });
    await work();
    return { ...cost };
  };

  it('I11 a replay of 40 KB costs 1 write unit and 5 read units beside the record, and 40 write units in it', async () => {
    const { tableName } = await freshStore(emulator);
    const value = incompressible(40_000);
    const table: Record<string, Cost> = {};
    for (const [where, inlineBytes] of [
      ['in the record', 64 * 1024],
      ['beside the record', undefined],
    ] as const) {
      const client = emulator.client();
      const cost = metered(client);
      const store = dynamodbStore({ client, tableName, ...(inlineBytes === undefined ? {} : { inlineBytes }) });
      const run = () => runOnce({ store, operation, key: where }, () => value);
      table[`first run, ${where}`] = await taken(cost, run);
      table[`replay, ${where}`] = await taken(cost, run);
      expect(await run()).toBe(value);
    }
    console.table(table);
    const page = readFileSync(new URL('../../../docs/steps.md', import.meta.url), 'utf8');
    for (const [what, { requests, reads, writes }] of Object.entries(table))
      expect(page).toContain(`| ${what} | ${requests} | ${reads} | ${writes} |`);
    expect(table['replay, in the record']).toEqual({ requests: 1, reads: 0, writes: 40 });
    expect(table['replay, beside the record']).toEqual({ requests: 2, reads: 5, writes: 1 });
    expect(table['first run, in the record']).toMatchObject({ requests: 2, reads: 0 });
    expect(table['first run, beside the record']).toMatchObject({ requests: 3, reads: 0 });
  });

  it('parts end with their record: by the service’s own clean-up a little later, for that is when they may go', async () => {
    const { store, tableName } = await freshStore(emulator);
    const retentionMs = 3_600_000;
    await runOnce({ store, operation, key: 'ttl', leaseMs: 60_000, retentionMs }, () => incompressible(500_000));
    const id = recordId(operation, [], ['ttl']);
    const item = await rawItem(emulator.client(), tableName, id);
    const names = partNames((await store.read(id))?.record.outcome);
    expect(names).toHaveLength(2);
    for (const name of names) {
      const part = await rawItem(emulator.client(), tableName, `${id}.${name}`);
      expect(Number(part?.expiresAtS?.N)).toBeGreaterThanOrEqual(Number(item?.expiresAtS?.N));
      expect(Number(part?.expiresAtS?.N)).toBeLessThan(Number(item?.expiresAtS?.N) + 120);
    }
    expect(await collect(store.list({ operation }))).toHaveLength(1);
  });

  it('values up to 15 MB are kept, larger ones are said to be too large', async () => {
    const { store } = await freshStore(emulator);
    const value = incompressible(4_000_000);
    const run = (key: string, made: string) => runOnce({ store, operation, key }, () => made);
    expect((await run('4 MB', value)) === value).toBe(true);
    expect((await run('4 MB', 'again')) === value).toBe(true);
    const huge = incompressible(16_500_000);
    expect((await run('16 MB', huge)) === huge).toBe(true);
    await expect(run('16 MB', 'again')).rejects.toMatchObject({ code: 'RESULT_NOT_STORED', facts: { reason: 'too-large' } });
  });

  it('commitWith writes the record that names the parts, with the caller’s items', async () => {
    const { store } = await freshStore(emulator);
    const client = emulator.client();
    const TableName = await plainTable(client);
    const value = incompressible(100_000);
    const commit = (key: string, target: RecordStore) =>
      runOnce<string>({ store: target, operation, key }, async (run) => {
        await commitWith(run, value, [{ Put: { TableName, Item: { id: { S: key } } } }]);
        return value;
      });
    await commit('one', store);
    expect(await rawItem(client, TableName, 'one')).toBeDefined();
    expect((await store.read(recordId(operation, [], ['one'])))?.record.outcome).toMatchObject({ kind: 'parts', count: 1 });
    expect((await commit('one', store)) === value).toBe(true);
  });

  describe('purge in a table that holds other things', () => {
    const HOURS_AGO = String(Date.now() - 5 * 3_600_000);
    const bytes: AttributeValue = { B: new Uint8Array([1, 2, 3]) };
    const hash = 'h'.repeat(43);
    const FOREIGN: Readonly<Record<string, Record<string, AttributeValue>>> = {
      'a part by its name only': { id: { S: 'screw.1' }, part: { S: 'M4' }, writtenAtMs: { N: HOURS_AGO } },
      'a part of bytes': { id: { S: 'screw.2' }, part: bytes, writtenAtMs: { N: HOURS_AGO } },
      'a key without a dot': { id: { S: 'screw3' }, part: bytes, writtenAtMs: { N: HOURS_AGO } },
      'a key of several dots': { id: { S: `file.2024.${hash}.0` }, part: bytes, writtenAtMs: { N: HOURS_AGO } },
      'a key that begins with a dot': { id: { S: `.${randomUUID()}.${hash}.0` }, part: bytes, writtenAtMs: { N: HOURS_AGO } },
      'a key like a path': { id: { S: `tenants/7.${randomUUID()}.${hash}.0` }, part: bytes, writtenAtMs: { N: HOURS_AGO } },
      'our key, and a part of text': { id: { S: `r1_${hash}.${randomUUID()}.${hash}.0` }, part: { S: 'text' }, writtenAtMs: { N: HOURS_AGO } },
      'our key, and no number for its time': { id: { S: `r1_${hash}.${randomUUID()}.${hash}.1` }, part: bytes, writtenAtMs: { S: '2020' } },
      'our key, and no time': { id: { S: `r1_${hash}.${randomUUID()}.${hash}.2` }, part: bytes },
    };

    it('leaves alone what is not ours, and still removes a part that no record names', async () => {
      const { store, tableName } = await freshStore(emulator);
      const client = emulator.client();
      const orphan = { id: { S: `r1_${hash}.${randomUUID()}.${hash}.0` }, part: bytes, writtenAtMs: { N: HOURS_AGO } };
      for (const Item of [...Object.values(FOREIGN), orphan]) await client.send(new PutItemCommand({ TableName: tableName, Item }));
      await store.purge({});
      const left: string[] = [];
      for (const [what, { id }] of Object.entries(FOREIGN)) if (await rawItem(client, tableName, id?.S ?? '')) left.push(what);
      expect(left).toEqual(Object.keys(FOREIGN));
      expect(await rawItem(client, tableName, orphan.id.S)).toBeUndefined();
    });
  });
});
