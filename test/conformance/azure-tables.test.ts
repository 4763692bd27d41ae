import { randomUUID } from 'node:crypto';
import { TableClient } from '@azure/data-tables';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { tableStore } from '../../src/stores/azure-tables/index.ts';
import { recordStoreConformance } from '../../src/testing/index.ts';
import { type Azurite, startAzurite } from '../support/azurite.ts';

let azurite: Azurite;
beforeAll(async () => {
  azurite = await startAzurite({ services: ['table'] });
});
afterAll(() => azurite.stop());

recordStoreConformance({
  name: 'Table Storage',
  describe,
  it,
  async createStore() {
    const tableName = `t${randomUUID().replaceAll('-', '')}`;
    const client = TableClient.fromConnectionString(azurite.connectionString, tableName, { allowInsecureConnection: true });
    const store = tableStore({ client });
    await store.setUp();
    return { store, cleanUp: () => client.deleteTable() };
  },
});
