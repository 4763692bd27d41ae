import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { dynamodbStore } from '../../../src/stores/dynamodb/index.ts';
import { toStoreError } from '../../../src/stores/dynamodb/map-error.ts';
import { type Emulator, startDynalite } from '../../support/dynamodb.ts';
import { collect, conflict, freshId, freshStore, record, written } from './dynamodb-subject.ts';

// Emulators have one copy of everything, so that no behaviour tells: what is asked for does.
describe('what is read of a record is asked for with strong consistency', () => {
  let emulator: Emulator;
  beforeAll(async () => {
    emulator = await startDynalite();
  });
  afterAll(() => emulator?.stop());

  it('I3 read, what stands after a refusal, list and purge', async () => {
    const { store, tableName } = await freshStore(emulator);
    const id = freshId();
    written(await store.create(id, record()));
    const client = emulator.client();
    const asked: [command: unknown, consistent: unknown][] = [];
    client.middlewareStack.add(
      (next, { commandName }) =>
        (args) => {
          if (commandName === 'GetItemCommand' || commandName === 'ScanCommand')
            asked.push([commandName, (args.input as { ConsistentRead?: boolean }).ConsistentRead]);
          return next(args);
        },
      { step: 'initialize', name: 'reads' },
    );
    const watched = dynamodbStore({ client, tableName });
    await watched.read(id);
    // This emulator does not return the item with its refusal, so it is read.
    expect(conflict(await watched.create(id, record())).current?.record).toBeDefined();
    await collect(watched.list({}));
    await watched.purge({});
    expect(asked.map(([command]) => command)).toEqual(['GetItemCommand', 'GetItemCommand', 'ScanCommand', 'ScanCommand']);
    expect(asked.filter(([, consistent]) => consistent !== true)).toEqual([]);
  });
});

describe('a refusal whose reason did not come through', () => {
  const about = { inDoubt: false, sent: true, tableName: 't', partitionKey: 'id' };
  const refused = (properties: object): Error => Object.assign(new Error('as the SDK says'), { $metadata: { httpStatusCode: 400 } }, properties);

  it.each([
    ['the socket ended', { code: 'ECONNRESET' }],
    ['half a JSON', { name: 'SyntaxError' }],
  ])('I8 %s: it is tried again, and no person is called', (_, properties) => {
    expect(toStoreError(refused(properties), about)).toMatchObject({ code: 'STORE_UNAVAILABLE', retryable: true });
    expect(toStoreError(refused(properties), { ...about, inDoubt: true })).toMatchObject({ code: 'WRITE_UNKNOWN' });
  });
});
