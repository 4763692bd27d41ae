import { startAzurite } from '../support/azurite.ts';
import { killSuite } from './kills.ts';

killSuite('Table Storage', async () => {
  const azurite = await startAzurite({ services: ['table'] });
  return { place: { kind: 'azure-tables', connectionString: azurite.connectionString, tableName: 'steps' }, stop: () => azurite.stop() };
});
