import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { BlobServiceClient } from '@azure/storage-blob';
import { describe, expect, it } from 'vitest';
import { ROOT } from '../../scripts/run.ts';
import { type LeaseProvider, memoryStore, storeLeases } from '../../src/index.ts';
import { blobLeases, fencedUpload } from '../../src/leases/azure-blob/index.ts';
import { fileLeases } from '../../src/leases/file/index.ts';
import { tableStore } from '../../src/stores/azure-tables/index.ts';
import { dynamodbStore, fencedDelete, fencedPut, fencedUpdate } from '../../src/stores/dynamodb/index.ts';
import { sqliteStore } from '../../src/stores/sqlite/index.ts';
import { startAzurite } from '../support/azurite.ts';
import { startDynalite } from '../support/dynamodb.ts';
import { namedTests, notedPage } from '../support/page-notes.ts';
import { startFaultProxy } from '../support/proxy.ts';

const { claims, notes, used } = notedPage('docs/leases.md');

const section = (title: string): string => claims.split(new RegExp(`\n##+ ${title}\n`))[1]?.split('\n## ')[0] ?? '';
const rowsOf = (text: string): string[][] =>
  [...text.matchAll(/^\| (.+) \|$/gm)]
    .map(([, row = '']) => row.split(' | '))
    .filter(([first]) => first !== undefined && !/^-|^(provider|where|backend)$/.test(first));

const providers = rowsOf(section('The providers'));
const writes = rowsOf(section('Fenced writes'));
const LETTER = /\[[A-Z]\d+\]/;
/** Where the suite of leases is run on each provider of the table. */
const PROVIDERS: Record<string, { leases: LeaseProvider; suite: string }> = {
  'storeLeases(tableStore())': { leases: storeLeases(tableStore()), suite: 'store-leases' },
  'storeLeases(dynamodbStore())': { leases: storeLeases(dynamodbStore({ tableName: 't' })), suite: 'store-leases' },
  'blobLeases()': { leases: blobLeases(), suite: 'azure-blob' },
  'storeLeases(sqliteStore())': { leases: storeLeases(sqliteStore({ path: ':memory:' })), suite: 'sqlite' },
  'fileLeases()': { leases: fileLeases({ directory: '/nowhere' }), suite: 'file-leases' },
  'storeLeases(memoryStore())': { leases: storeLeases(memoryStore()), suite: 'memory-leases' },
};
const nameOf = ([first = '']: readonly string[]): string => first.split('`')[1] ?? '';

describe('the page on leases', () => {
  it('names a test, or says why there is none, for every letter it uses, and for no other', () => {
    expect(used).toEqual(notes.map(({ id }) => id).sort());
  });

  it.each(notes.filter(({ id }) => !id.startsWith('X')))('names tests that are there: $id', (note) => {
    const named = namedTests(note);
    expect(named.length).toBeGreaterThan(0);
    expect(named.filter(({ isThere }) => !isThere)).toEqual([]);
  });

  it('has a row for each provider, and a letter in each of its cells', () => {
    expect(providers.map(nameOf)).toEqual(Object.keys(PROVIDERS));
    for (const [, ...cells] of providers) {
      expect(cells).toHaveLength(7);
      for (const cell of cells) expect(cell).toMatch(LETTER);
    }
  });

  it('has a letter in each cell on what a fenced write promises', () => {
    expect(writes).toHaveLength(7);
    for (const [, , ...cells] of writes) {
      expect(cells).toHaveLength(4);
      for (const cell of cells) expect(cell).toMatch(LETTER);
    }
  });

  it.each(Object.entries(PROVIDERS))('names a provider that the suite is run on: %s', (_, { suite }) => {
    const path = `test/conformance/${suite}.test.ts`;
    expect(readFileSync(join(ROOT, path), 'utf8')).toMatch(/\bleaseProviderConformance\(\{/);
    expect(readFileSync(join(ROOT, 'docs/leases.md'), 'utf8')).toContain(`\`${path}\``);
  });

  it.each(providers)('has the limits that the providers have: %s', (first, _where, leases) => {
    const limits = PROVIDERS[nameOf([first])]?.leases.limits ?? { minLeaseMs: 0, maxLeaseMs: 0 };
    const inWords = (ms: number): string => (ms < 1_000 ? `${ms} ms` : ms < 86_400_000 ? `${ms / 1_000} s` : `${Math.floor(ms / 86_400_000)} d`);
    expect(leases).toContain(`${inWords(limits.minLeaseMs)} to ${inWords(limits.maxLeaseMs)}`);
  });
});

describe('the requests that the page prints', () => {
  const costOf = (text: string, what: RegExp): number => {
    const words: Record<string, number> = { one: 1, two: 2, three: 3 };
    const found = what.exec(text)?.[1] ?? '';
    return words[found] ?? Number(found);
  };

  it('I11 a Blob lease costs the requests that are printed', async () => {
    const cell = providers.find((row) => nameOf(row) === 'blobLeases()')?.at(-1) ?? '';
    const printed = {
      acquire: costOf(cell, /^(\d) · /),
      renew: costOf(cell, /^\d · (\d) · /),
      release: costOf(cell, /^\d · \d · (\d)/),
      mark: costOf(cell, /minimum hold (\d)/),
    };
    const azurite = await startAzurite({ services: ['blob'] });
    const proxy = await startFaultProxy({ targetPort: Number(new URL(azurite.blobUrl).port) });
    try {
      const through = azurite.connectionString.replace(azurite.blobUrl, `${proxy.url}/devstoreaccount1`);
      const leases = blobLeases({ container: BlobServiceClient.fromConnectionString(through).getContainerClient('leases') });
      await leases.setUp();
      const leaseMs = 30_000;
      const name = randomUUID();
      const counted = async <T>(body: () => Promise<T>): Promise<[T, number]> => {
        proxy.clear();
        const result = await body();
        return [result, proxy.count()];
      };
      const acquire = async (): Promise<{ holder: { owner: string; token: number }; requests: number }> => {
        const owner = randomUUID();
        const [got, requests] = await counted(() => leases.acquire(name, { owner, leaseMs }));
        if (got.kind !== 'acquired') throw new Error(got.kind);
        return { holder: { owner, token: got.token }, requests };
      };
      const first = await acquire();
      const [, release] = await counted(() => leases.release(name, first.holder));
      const again = await acquire();
      const [, renew] = await counted(() => leases.renew(name, { ...again.holder, leaseMs }));
      const [, mark] = await counted(() => leases.release(name, { ...again.holder, slotDone: 1 }));
      expect({ acquire: again.requests, renew, release, mark }).toEqual(printed);
      // The first token is read from the service's next second. Where that comes while the blob is made, one look is enough.
      expect(/first time (\d) or (\d)/.exec(cell)?.slice(1).map(Number)).toContain(first.requests);
    } finally {
      await proxy.stop();
      await azurite.stop();
    }
  });

  it('I11 a write under a fence of its target costs the requests that are printed', async () => {
    const printed = (target: string): number => costOf(writes.find(([where]) => where === target)?.at(-1) ?? '', /^(one|two|three) request/);
    const fence = { id: 'nightly', owner: randomUUID(), token: 2 };
    const azurite = await startAzurite({ services: ['blob'] });
    const blobs = await startFaultProxy({ targetPort: Number(new URL(azurite.blobUrl).port) });
    const dynalite = await startDynalite();
    const items = await startFaultProxy({ targetPort: Number(new URL(dynalite.endpoint).port) });
    try {
      const through = azurite.connectionString.replace(azurite.blobUrl, `${blobs.url}/devstoreaccount1`);
      const container = BlobServiceClient.fromConnectionString(through).getContainerClient('fenced');
      await container.create();
      for (const text of ['new', 'newer']) {
        blobs.clear();
        await fencedUpload(container.getBlockBlobClient('report.csv'), fence, text);
        expect(blobs.count()).toBe(printed('Blob Storage: any blob'));
      }

      const TableName = 'reports';
      await dynamodbStore({ client: dynalite.client(), tableName: TableName }).setUp();
      const client = dynalite.client({ endpoint: items.url });
      const Key = { id: { S: 'today' } };
      for (const write of [
        () => fencedPut(client, fence, { TableName, Item: Key }),
        () => fencedUpdate(client, fence, { TableName, Key }),
        () => fencedDelete(client, fence, { TableName, Key }),
      ]) {
        items.clear();
        await write();
        expect(items.count()).toBe(printed('DynamoDB: any item'));
      }
    } finally {
      await Promise.all([blobs.stop(), items.stop()]);
      await Promise.all([azurite.stop(), dynalite.stop()]);
    }
  });
});
