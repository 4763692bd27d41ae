import { TableClient, type TableEntity } from '@azure/data-tables';
import { tableStore } from 'rerunsafe/azure-tables';
import { startAzurite } from '../../../test/support/azurite.ts';
import { type Place, type Row, templateOf, type Writes } from '../place.ts';

export async function azureTablesPlace(): Promise<Place> {
  const azurite = await startAzurite({ services: ['table'] });
  const client = TableClient.fromConnectionString(azurite.connectionString, 'rerunsafe', { allowInsecureConnection: true });
  const store = tableStore({ client });
  await store.setUp();
  return { name: 'Azurite (Table Storage)', store, writes: () => tableWrites(store, client), stop: () => azurite.stop() };
}

async function tableWrites(store: Place['store'], client: TableClient): Promise<Writes> {
  const { running, completed } = await templateOf(store, (id) => found(client, id));
  const entityOf = (template: TableEntity, { id, owner, revision }: Row): TableEntity => ({ ...template, rowKey: id, owner, revision });
  return {
    async create(row) {
      const entity = entityOf(running, row);
      try {
        const { etag } = await client.createEntity(entity);
        return { version: String(etag) };
      } catch (error) {
        if ((error as { statusCode?: number }).statusCode !== 409) throw error;
        // The service does not say what stands there.
        return { standing: await client.getEntity(entity.partitionKey, entity.rowKey) };
      }
    },
    async complete(row, etag) {
      await client.updateEntity(entityOf(completed, row), 'Replace', { etag });
    },
  };
}

/** With the types of its properties, as it was sent. */
async function found(client: TableClient, id: string): Promise<TableEntity> {
  for await (const entity of client.listEntities({ queryOptions: { filter: `RowKey eq '${id}'` }, disableTypeConversion: true })) {
    const { etag: _, timestamp: __, ...columns } = entity;
    const sent = Object.entries(columns).filter(([name]) => !name.startsWith('odata.'));
    return Object.fromEntries(sent) as TableEntity;
  }
  throw new Error(`there is no row ${id}`);
}
