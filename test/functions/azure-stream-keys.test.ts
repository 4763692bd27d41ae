import { describe, expect, it } from 'vitest';
import type { RpcData } from '../../scripts/support/functions-host.ts';
import { keys } from '../../src/adapters/azure-functions/index.ts';
import { collection, keyOf, keysOf, longs, refused } from './azure-metadata.ts';

const HUB = 'eventHubTrigger';
const KAFKA = 'kafkaTrigger';
const TIME = '2026-03-13T01:25:02.25';
const TIME_MS = Date.parse(`${TIME}Z`);

describe('keys of streams', () => {
  const partition = { FullyQualifiedNamespace: 'ns.servicebus.windows.net', EventHubName: 'readings', ConsumerGroup: '$Default', PartitionId: '2' };
  const place = ['ns.servicebus.windows.net', 'readings', '2'];

  it('I1 Event Hubs: one event has one key, alone or in a batch, with its offset as digits or as a number', async () => {
    const alone = await keyOf(keys.eventHubOffset, HUB, { PartitionContext: partition, Offset: '616008', EnqueuedTimeUtc: `${TIME}Z` });
    // As a host delivers it: no zone, and an empty array of partition keys.
    const metadata = {
      PartitionContext: partition,
      PartitionKeyArray: [],
      OffsetArray: collection('616008', '1:2'),
      EnqueuedTimeUtcArray: [TIME, TIME],
    };
    const batch = await keysOf(keys.eventHubOffset, HUB, metadata, ['{}', '{}']);
    expect(batch).toEqual([
      [...place, '616008', TIME_MS],
      [...place, '1:2', TIME_MS],
    ]);
    expect(alone).toEqual(batch[0]);
    expect(await keysOf(keys.eventHubOffset, HUB, { ...metadata, OffsetArray: ['616008', '1:2'] }, ['{}', '{}'])).toEqual(batch);
  });

  it('I1 a time without a zone is the same on every machine', async () => {
    const before = process.env.TZ;
    const metadata = { PartitionContext: partition, Offset: '7', EnqueuedTimeUtc: TIME };
    try {
      process.env.TZ = 'America/New_York';
      expect(await keyOf(keys.eventHubOffset, HUB, metadata)).toEqual([...place, '7', TIME_MS]);
    } finally {
      if (before === undefined) delete process.env.TZ;
      else process.env.TZ = before;
    }
  });

  it('I1 Event Hubs: what is missing, rounded, or taken over by the body is refused', async () => {
    const good = { PartitionContext: partition, Offset: '616008', EnqueuedTimeUtc: TIME };
    const { PartitionId: _, ...nowhere } = partition;
    for (const bad of [
      { ...good, PartitionContext: nowhere },
      { ...good, PartitionContext: 'x' },
      { ...good, Offset: '9007199254740993' },
      { ...good, Offset: null },
      { ...good, EnqueuedTimeUtc: 'soon' },
      { ...good, EnqueuedTimeUtc: 12 },
    ]) {
      refused(await keyOf(keys.eventHubOffset, HUB, bad));
    }
    for (const body of ['{"offset":3}', '{"partitionContext":{}}', '{"enqueuedTimeUtc":"2026-01-01"}']) {
      refused(await keyOf(keys.eventHubOffset, HUB, good, { string: body }));
    }
  });

  it('I1 Kafka: from the metadata, or from what the message is wrapped in', async () => {
    const expected = ['orders', '3', '41', TIME_MS];
    const alone = { Topic: 'orders', Partition: 3, Offset: 41, Timestamp: TIME };
    expect(await keyOf(keys.kafkaOffset, KAFKA, alone)).toEqual(expected);
    expect(await keyOf(keys.kafkaOffset, KAFKA, alone, { string: JSON.stringify({ ...alone, Value: '{}', Headers: [] }) })).toEqual(expected);
    const metadata = { TopicArray: ['orders', 'orders'], PartitionArray: [3, 3], OffsetArray: longs(41n, 42n), TimestampArray: [TIME, TIME] };
    const wrapped = JSON.stringify({ Topic: 'forged', Partition: 3, Offset: 1, Timestamp: TIME, Value: '' });
    expect(await keysOf(keys.kafkaOffset, KAFKA, metadata, [wrapped, '{}'])).toEqual([expected, ['orders', '3', '42', TIME_MS]]);
  });

  it('I1 Kafka: topics that are numbers, offsets that were rounded and bodies that take the place are refused', async () => {
    const good = { Topic: 'orders', Partition: 3, Offset: 41, Timestamp: TIME };
    for (const bad of [{ Topic: '1e3' }, { Offset: { rpc: { json: '9007199254740993' } } }, { Partition: null }, { Timestamp: '' }]) {
      refused(await keyOf(keys.kafkaOffset, KAFKA, { ...good, ...bad }));
    }
    refused(await keyOf(keys.kafkaOffset, KAFKA, good, { string: '{"offset":7}' }));
  });

  it('I1 Cosmos DB: the document and its version; a delete; no key for an array', async () => {
    const key = (document: unknown) => keyOf(keys.cosmosDbVersion, 'cosmosDBTrigger', undefined, { json: JSON.stringify(document) });
    const document = { id: 'd', _rid: 'xyz==', _etag: '"0000d826"', _ts: 1, _lsn: 9 };
    expect(await key(document)).toEqual(['xyz==', '"0000d826"']);
    expect(await key({ current: document, metadata: { operationType: 'replace', lsn: 9 } })).toEqual(['xyz==', '"0000d826"']);
    expect(await key({ current: {}, previous: document, metadata: { operationType: 'delete', lsn: 10 } })).toEqual(['xyz==', 'deleted']);
    for (const bad of [[document], { id: 'd' }, { ...document, _etag: 5 }, { metadata: { operationType: 'delete', lsn: 10 } }, null, 'x', 7]) {
      refused(await key(bad));
    }
  });
});

describe('keys of events and blobs', () => {
  it('I1 Event Grid: topic and id, or source and id', async () => {
    const key = (event: unknown) => keyOf(keys.eventGridId, 'eventGridTrigger', undefined, { json: JSON.stringify(event) });
    expect(await key({ topic: '/subscriptions/1', id: 'e-1', subject: 's' })).toEqual(['/subscriptions/1', 'e-1']);
    expect(await key({ specversion: '1.0', source: '/s', id: 'e-1', topic: 'of the payload' })).toEqual(['/s', 'e-1']);
    for (const bad of [{ id: 'e-1' }, { topic: 't' }, { topic: 't', id: 7 }, { specversion: '1.0', topic: 't', id: 'e' }, [], null, 'e-1']) {
      refused(await key(bad));
    }
  });

  it('I1 Blob: where it is and its version, whatever the host tells of it', async () => {
    const key = (properties: unknown, Uri: unknown = 'https://a.test/c/b', body: RpcData = { bytes: Buffer.from('x') }) =>
      keyOf(keys.blobVersion, 'blobTrigger', { Uri, Properties: properties, BlobTrigger: 'c/b' }, body);
    expect(await key({ ETag: '"0x8D"' })).toEqual(['https://a.test/c/b', 'etag', '0x8D']);
    expect(await key({ ETag: '0x8D' }, 'https://a.test/c/b?sig=secret')).toEqual(['https://a.test/c/b', 'etag', '0x8D']);
    expect(await key({ ETag: {}, VersionId: '2026-01-01T00:00:00.1234567Z' })).toEqual([
      'https://a.test/c/b',
      'version',
      '2026-01-01T00:00:00.1234567Z',
    ]);
    const written = { ETag: {}, LastModified: '2026-01-01T00:00:00+00:00', ContentHash: 'XrY7u+Ae7tCTyyK7j1rNww==' };
    expect(await key(written)).toEqual(['https://a.test/c/b', 'hash', Date.parse('2026-01-01T00:00:00Z'), 'XrY7u+Ae7tCTyyK7j1rNww==']);
    for (const bad of [{}, { ETag: {} }, { ...written, ContentHash: null }, { ...written, LastModified: null }, null, 'x']) {
      refused(await key(bad));
    }
    refused(await key({ ETag: '0x8D' }, ''));
    for (const body of ['{"properties":{"ETag":"0x8D"}}', '\uFEFF{"Uri":"x"}', ' {uri:1}']) {
      for (const encoding of ['utf8', 'utf16le'] as const) {
        const bytes = Buffer.from(encoding === 'utf8' ? body : `\uFEFF${body}`, encoding);
        expect(refused(await key({ ETag: '0x8D' }, undefined, { bytes }))).toMatch(/body/);
      }
    }
  });
});
