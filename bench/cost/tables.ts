/**
 * What a run costs on Table Storage: transactions, and the size of what stays.
 *
 * @module
 */
import { TableClient } from '@azure/data-tables';
import { startAzurite } from '../../test/support/azurite.ts';
import { type Counted, open } from '../measure/counted-stores.ts';
import { entityBytes } from './item-size.ts';
import { firstRun, keyOf, replay } from './one-run.ts';

export interface TablesRun {
  readonly resultBytes: number;
  readonly first: number;
  readonly replay: number;
  readonly keptBytes: number;
}

const TABLE = 'cost';

async function spent({ requests }: Counted, work: () => Promise<unknown>): Promise<number> {
  const before = requests();
  await work();
  return requests() - before;
}

export async function measureTables(results: readonly number[]): Promise<readonly TablesRun[]> {
  const azurite = await startAzurite({ services: ['table'] });
  try {
    const counted = await open({ kind: 'azure-tables', at: azurite.connectionString, name: TABLE });
    await counted.store.setUp?.();
    const looking = TableClient.fromConnectionString(azurite.connectionString, TABLE, { allowInsecureConnection: true });
    const runs: TablesRun[] = [];
    for (const [n, resultBytes] of results.entries()) {
      let id = '';
      const first = await spent(counted, async () => {
        id = await firstRun(counted.store, keyOf(n), resultBytes);
      });
      let keptBytes = 0;
      for await (const entity of looking.listEntities({ queryOptions: { filter: `RowKey eq '${id}'` } })) keptBytes += entityBytes(entity);
      runs.push({ resultBytes, first, replay: await spent(counted, () => replay(counted.store, keyOf(n))), keptBytes });
    }
    return runs;
  } finally {
    await azurite.stop();
  }
}
